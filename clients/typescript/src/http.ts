/** Requests: the key goes to one origin, a lost answer is told from a refusal, and a repeat waits as long as it must. */

import { errorOf, Failure, knownCode, type Code } from './failure.js'
import { read, text, write, type Json } from './json.js'
import { backOff, LONGEST_WAIT_MS, retryAfter, sleep } from './time.js'

const MOST_REDIRECTS = 5
/** Six repeats with growing waits take six seconds; what is left unsaid then is kept for later (C-TOOL-5). */
const TRIES = 7
const FIRST_WAIT_MS = 100
const LONGEST_BACK_OFF_MS = 10_000

export interface Request {
  method: 'GET' | 'POST'
  path: string
  /** The text of a JSON body, kept as text so that a repeat is equal byte by byte. */
  body?: string
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  headers: Headers
  /** Nothing where the body is no JSON. */
  body: Json | undefined
  /** The code of an error, where the contract knows it. */
  code: Code | undefined
}

/** The answer never came, or not whole: what was asked for may have happened. */
export class Lost extends Error {}

export class Api {
  readonly #baseUrl: string
  readonly #origin: string
  readonly #key: string
  readonly #timeoutMs: number

  constructor(baseUrl: string, key: string, timeoutMs: number) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '')
    this.#origin = new URL(this.#baseUrl).origin
    this.#key = key
    this.#timeoutMs = timeoutMs
  }

  /** Repeats a request until it is answered for good. An answer that `isWhole` refuses is a lost one. */
  async ask(
    request: Request,
    options: { signal?: AbortSignal; isWhole?: (answer: Answer) => boolean } = {},
  ): Promise<Answer> {
    let last = new Failure('no_answer', `${request.method} ${request.path} was never answered`)
    for (let tries = 0; ; tries++) {
      let askedToWait: number | undefined
      try {
        const answer = await this.send(request)
        const isWhole = answer.status >= 300 || (answer.body !== undefined && (options.isWhole?.(answer) ?? true))
        if (
          answer.code === undefined ? !isPassing(answer.status) && isWhole : answer.code !== 'idempotency_in_progress'
        )
          return answer
        last = Failure.of(`${request.method} ${request.path}`, answer.status, answer.body)
        askedToWait = retryAfter(answer.headers)
      } catch (error) {
        if (!(error instanceof Lost)) throw error
        last = new Failure('no_answer', `${request.method} ${request.path}: ${error.message}`)
      }
      if (tries + 1 === TRIES || (askedToWait ?? 0) > LONGEST_WAIT_MS) throw last
      await sleep(Math.max(backOff(tries, FIRST_WAIT_MS, LONGEST_BACK_OFF_MS), askedToWait ?? 0), options.signal)
      if (options.signal?.aborted) throw last
    }
  }

  /** The body of a request that succeeds, however often it must be repeated. */
  async json(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Json> {
    const answer = await this.ask({ method, path, ...(body !== undefined && { body: write(body) }) })
    if (answer.code !== undefined || answer.status >= 300)
      throw Failure.of(`${method} ${path}`, answer.status, answer.body)
    return answer.body ?? null
  }

  /** All items of a list, page by page (LIST-1). */
  async *list(path: string): AsyncGenerator<Json> {
    for (let cursor: string | undefined; ;) {
      const query = `limit=100${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
      const page = await this.json('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`)
      const data = (page as { data?: Json }).data
      if (Array.isArray(data)) yield* data
      const next = text(page, 'next_cursor')
      if (next === undefined || next === cursor || (page as { has_more?: Json }).has_more !== true) return
      cursor = next
    }
  }

  /** One request, once. */
  async send(request: Request): Promise<Answer> {
    const controller = new AbortController()
    const timer = setTimeout(
      () => controller.abort(new Error(`no answer within ${this.#timeoutMs} ms`)),
      this.#timeoutMs,
    )
    try {
      const response = await this.#follow(request, controller.signal)
      return await answerOf(response)
    } catch (error) {
      throw lost(error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** An answer whose body is yet to come. `controller` ends it at any time. */
  async open(request: Request, controller: AbortController): Promise<Response> {
    const timer = setTimeout(
      () => controller.abort(new Error(`no answer within ${this.#timeoutMs} ms`)),
      this.#timeoutMs,
    )
    try {
      return await this.#follow(request, controller.signal)
    } catch (error) {
      throw lost(error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Follows redirects within the origin; to another the key never goes (C-SEC-1), so that answer is the last one. */
  async #follow(request: Request, signal: AbortSignal): Promise<Response> {
    let url = new URL(this.#baseUrl + request.path)
    for (let redirects = 0; ; redirects++) {
      const response = await fetch(url, {
        method: request.method,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${this.#key}`,
          ...(request.body !== undefined && { 'content-type': 'application/json' }),
          ...request.headers,
        },
        redirect: 'manual',
        signal,
        ...(request.body !== undefined && { body: request.body }),
      })
      const to = response.headers.get('location')
      const keepsMethod =
        response.status === 307 ||
        response.status === 308 ||
        (request.method === 'GET' && [301, 302, 303].includes(response.status))
      if (to === null || !keepsMethod || redirects === MOST_REDIRECTS || !URL.canParse(to, url.href)) return response
      const next = new URL(to, url)
      if (next.origin !== this.#origin) return response
      await response.body?.cancel()
      url = next
    }
  }
}

/** Reads an answer. Of a refusal the status and the header count although its body never comes whole. */
export async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response
  const body = response.text().then(read)
  const whole = await (status < 300 ? body : body.catch(() => undefined))
  return { status, headers, body: whole, code: knownCode(text(errorOf(whole), 'code')) }
}

/** Whether a status without a known code may be another one next time. A redirect that was not followed is such a one. */
export function isPassing(status: number): boolean {
  return status >= 500 || [408, 425, 429].includes(status) || (status >= 300 && status < 400)
}

function lost(error: unknown): Lost {
  if (error instanceof Lost) return error
  // The reason of a failed fetch is in its cause; neither holds headers, so the key can't get into it.
  const { message, cause } = error as Error
  return new Lost(cause instanceof Error && cause.message !== '' ? cause.message : message, { cause: error })
}
