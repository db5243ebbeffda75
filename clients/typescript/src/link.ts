/** The calls on a harness. None of them carries the API key (C-SEC-1). */

import { errorFrom, resultOf, toolError, type Outcome } from './application.js'
import type { Call } from './event.js'
import { Failure } from './failure.js'
import { isObject, member, read, write, type Json } from './json.js'
import { sleep } from './time.js'

const POLL_MS = 10_000
/** How often a harness that can't be reached is told again. */
const PATIENCE = 5

/** A harness, at one of its secret paths. */
export class Link {
  readonly #url: string

  constructor(url: string) {
    this.#url = url.replace(/\/+$/, '')
  }

  /** The next task, if there is one. */
  async task(): Promise<Json | 'missed' | undefined> {
    try {
      const response = await fetch(`${this.#url}/task?wait_ms=${POLL_MS}`)
      const body = read(await response.text())
      if (response.status === 204) return undefined
      return response.status === 200 && isObject(body) ? body : 'missed'
    } catch {
      return 'missed'
    }
  }

  /** One call, once: it may have an effect. */
  async post(path: string, body: unknown, signal?: AbortSignal): Promise<{ status: number; body: Json | undefined }> {
    const response = await fetch(`${this.#url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: write(body),
      ...(signal && { signal }),
    })
    return { status: response.status, body: read(await response.text()) }
  }

  /** Says something that the harness must know. */
  async tell(path: string, body: unknown): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const { status } = await this.post(path, body)
        if (status < 300) return
        throw new Failure('harness_refused', `the harness answered ${status} to ${path}`)
      } catch (error) {
        // Only what was never sent is sent again: a report that comes twice is another report.
        const refused = ((error as Error).cause as { code?: string } | undefined)?.code === 'ECONNREFUSED'
        if (!refused || tries === PATIENCE) throw error
        await sleep(50 * tries)
      }
    }
  }
}

/** Executes a tool where the harness has it. */
export async function executeAt(link: Link, call: Call, session: string, run: string): Promise<Outcome> {
  const request = {
    name: call.name,
    input: call.input,
    tool_call_id: call.toolCallId,
    execution_idempotency_key: call.executionKey,
    session_id: session,
    run_id: run,
  }
  try {
    const { status, body } = await link.post('tool', request)
    if (status === 404) return toolError('UNKNOWN_TOOL', `There is no tool ${call.name}.`)
    if (status !== 200) return toolError('TOOL_FAILED', `The tool answered ${status}.`)
    const thrown = member(body, 'throw')
    if (thrown !== undefined) return toolError('TOOL_FAILED', typeof thrown === 'string' ? thrown : write(thrown))
    const error = member(body, 'error')
    return error !== undefined ? errorFrom(error) : resultOf(member(body, 'content'))
  } catch {
    return toolError(
      'OUTCOME_UNKNOWN',
      "The tool's answer did not come. It may have taken effect and is not run again.",
    )
  }
}
