/** The events of a session, over as many connections as it takes. */

import { answerOf, isPassing, type Api } from './http.js'
import { eventOf, type SessionEvent } from './event.js'
import { Failure } from './failure.js'
import { FrameReader } from './frames.js'
import type { History } from './history.js'
import { backOff, LONGEST_WAIT_MS, retryAfter, sleep } from './time.js'

/** Connections in a row without anything new, after which a stream is given up. */
const PATIENCE = 10
const FIRST_WAIT_MS = 50
const LONGEST_BACK_OFF_MS = 2_000
/** A connection that lasted so long was a good one, even if nothing new came. */
const HEALTHY_MS = 30_000
/** How long the body of an answer that is no stream may take; a page may never end. */
const REFUSAL_MS = 2_000
/** How long the server is given to end a stream that is done with. */
const LINGER_MS = 100

export type Signal =
  | { kind: 'event'; event: SessionEvent }
  /** An id came without its event: what it stands for can only be fetched. */
  | { kind: 'gap'; id: string }
  /** A connection has ended without our doing: cleanly, or in the midst of things. */
  | { kind: 'end'; cleanly: boolean }

export interface StreamOptions {
  /** After how much silence a connection is dead, in milliseconds; keep-alives are no silence (C-SSE-18, C-SSE-19). */
  idleMs: number
  /** Ends the reading. */
  signal: AbortSignal
}

/**
 * Reads on until the reader has enough. Throws a {@link Failure} when the server says that there is no use, or when
 * nothing new came for too long.
 */
export async function* readSession(
  api: Api,
  session: string,
  history: History,
  options: StreamOptions,
): AsyncGenerator<Signal> {
  let fruitless = 0
  const server = { leastWaitMs: 0 }
  while (!options.signal.aborted) {
    const openedAt = performance.now()
    let askedToWait = 0
    let progress = false
    const opened = await connect(api, session, history, options.signal)
    if (opened.stream !== undefined) {
      const connection = new Connection(
        opened.stream,
        opened.controller,
        options,
        (ms) => (server.leastWaitMs = Math.min(ms, LONGEST_WAIT_MS)),
      )
      try {
        for await (const frame of connection.frames()) {
          const event = eventOf(frame)
          if (frame.id !== undefined && event?.id === undefined) {
            history.moveTo(frame.id)
            if (frame.id !== '') yield { kind: 'gap', id: frame.id }
          }
          if (event === undefined || !history.isNew(event)) continue
          progress ||= event.id !== undefined
          yield { kind: 'event', event }
          if (event.type === 'stream.resync') break
        }
      } finally {
        await connection.close()
      }
      if (connection.ended) yield { kind: 'end', cleanly: connection.ended === 'cleanly' }
    } else {
      askedToWait = opened.askedToWait
    }

    const healthy = opened.stream !== undefined && performance.now() - openedAt > HEALTHY_MS
    fruitless = progress || healthy ? 0 : fruitless + 1
    if (fruitless === PATIENCE) throw new Failure('stream_lost', `${PATIENCE} connections in a row brought nothing new`)
    await sleep(
      Math.max(backOff(fruitless, FIRST_WAIT_MS, LONGEST_BACK_OFF_MS), server.leastWaitMs, askedToWait),
      options.signal,
    )
  }
}

type Opened =
  { stream: ReadableStream<Uint8Array>; controller: AbortController } | { stream?: undefined; askedToWait: number }

/** One attempt. What the answer means: C-SSE-15 to C-SSE-17. */
async function connect(api: Api, session: string, history: History, signal: AbortSignal): Promise<Opened> {
  const controller = new AbortController()
  const stop = () => controller.abort()
  signal.addEventListener('abort', stop)
  controller.signal.addEventListener('abort', () => signal.removeEventListener('abort', stop))
  const opened = await attempt(api, session, history, controller).catch((error: unknown) => {
    stop()
    throw error
  })
  if (opened.stream === undefined) stop()
  return opened
}

async function attempt(api: Api, session: string, history: History, controller: AbortController): Promise<Opened> {
  const { cursor } = history
  const path = `/v1/sessions/${encodeURIComponent(session)}/events/stream?event_deltas=true`
  // A header holds bytes, and the id is UTF-8.
  const lastEventId = cursor !== undefined && { 'last-event-id': Buffer.from(cursor, 'utf8').toString('latin1') }
  try {
    const response = await api.open(
      { method: 'GET', path, headers: { accept: 'text/event-stream', 'cache-control': 'no-store', ...lastEventId } },
      controller,
    )
    const isStream = /^text\/event-stream\s*(;|$)/i.test(response.headers.get('content-type') ?? '')
    if (response.status === 200 && isStream && response.body !== null) return { stream: response.body, controller }
    const timer = setTimeout(() => controller.abort(), REFUSAL_MS)
    return { askedToWait: await refused(response, history, cursor).finally(() => clearTimeout(timer)) }
  } catch (error) {
    if (error instanceof Failure) throw error
    return { askedToWait: 0 }
  }
}

/** How long to wait after an answer that is no stream, in milliseconds; throws where there is no use in another try. */
async function refused(response: Response, history: History, cursor: string | undefined): Promise<number> {
  const { status } = response
  const answer = await answerOf(response)
  const failure = Failure.of('the event stream', status, answer.body)
  const askedToWait = retryAfter(response.headers) ?? 0
  if (askedToWait > LONGEST_WAIT_MS) throw failure
  if (answer.code === 'idempotency_in_progress') return askedToWait
  if (
    cursor !== undefined &&
    (answer.code === 'invalid_last_event_id' || (answer.code === undefined && status === 400))
  ) {
    history.refuse()
    return askedToWait
  }
  if (answer.code !== undefined) throw failure
  if (status === 204) throw new Failure('stream_stopped', 'the server says that there is no more to read')
  if (status < 300 || isPassing(status)) return askedToWait
  throw failure
}

/** An open stream, watched for silence. */
class Connection {
  /** How it has ended, if it has without our doing. */
  ended: 'cleanly' | 'cut' | undefined
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #frames: FrameReader
  readonly #controller: AbortController
  readonly #options: StreamOptions

  constructor(
    stream: ReadableStream<Uint8Array>,
    controller: AbortController,
    options: StreamOptions,
    onRetry: (ms: number) => void,
  ) {
    this.#reader = stream.getReader()
    this.#frames = new FrameReader(onRetry)
    this.#controller = controller
    this.#options = options
  }

  async *frames() {
    for (;;) {
      const bytes = await this.#read(this.#options.idleMs)
      if (bytes === undefined) return
      yield* this.#frames.feed(bytes)
    }
  }

  /** Lets the server end the stream, if it is about to; then ends it. */
  async close(): Promise<void> {
    const until = performance.now() + LINGER_MS
    while (!this.ended && !this.#controller.signal.aborted && performance.now() < until) {
      await this.#read(until - performance.now())
    }
    this.#controller.abort()
  }

  /** The next bytes; none when the stream has ended or fallen silent. */
  async #read(withinMs: number): Promise<Uint8Array | undefined> {
    const timer = setTimeout(() => this.#controller.abort(), withinMs)
    try {
      const { done, value } = await this.#reader.read()
      if (done) this.ended = 'cleanly'
      return value
    } catch {
      if (!this.#controller.signal.aborted) this.ended = 'cut'
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }
}
