/** What stands behind a client: it executes tools, corrects results, is asked for approval, and is told what happens. */

import { isObject, text, write, type Json, type JsonObject } from './json.js'
import type { Call } from './event.js'
import type { Failure } from './failure.js'

/** What a call is answered with: one of the two. */
export type Outcome = { content: JsonObject; error?: undefined } | { error: ToolError; content?: undefined }

export interface ToolError {
  code: string
  message: string
  retryable: boolean
}

export type ItemStatus = 'running' | 'waiting' | 'completed' | 'failed'

export type News =
  | { kind: 'event'; type: string; sse_id: string; data: Json }
  | { kind: 'item'; tool_call_id: string; name: string; status: ItemStatus }
  | { kind: 'text'; text: string }
  | { kind: 'error'; failure: Failure }

export interface Application {
  /** Executes a tool, once. Never throws. */
  execute(call: Call, place: { session: string; run: string }): Promise<Outcome>
  /** Another result after `tool_result_invalid`. Never throws. */
  correct(call: Call, content: JsonObject, details: Json): Promise<Outcome>
  needsApproval(tool: string): boolean
  /** Asks for this very call; only an answer is a yes. Returns early when the signal is given. Never throws. */
  approve(call: Call, signal: AbortSignal): Promise<boolean>
  tell(news: News): void
}

export function toolError(code: string, message: string, retryable = false): { error: ToolError } {
  // A surrogate without its other half can't be written as UTF-8.
  return { error: { code, message: message.slice(0, 2_000).toWellFormed(), retryable } }
}

/** What a tool has returned, as it can be sent: a JSON object, or an error that says why not (C-TOOL-18). */
export function resultOf(content: Json | undefined): Outcome {
  if (!isObject(content)) {
    const is =
      content === undefined
        ? 'missing or no JSON'
        : content === null
          ? 'null'
          : Array.isArray(content)
            ? 'a list'
            : `a ${typeof content}`
    return toolError('RESULT_NOT_AN_OBJECT', `The tool's result is ${is}, and only a JSON object can be sent.`)
  }
  try {
    write(content)
  } catch {
    return toolError('RESULT_NOT_SENDABLE', "The tool's result can't be written as JSON.")
  }
  return { content }
}

/** An error that a tool has returned, with a code that the server takes (RES-11). */
export function errorFrom(error: unknown): Outcome {
  const code = (text(error, 'code') ?? '').toUpperCase().replace(/[^A-Z0-9_]+/g, '_')
  const retryable = isObject(error) && error['retryable'] === true
  return toolError(code === '' ? 'TOOL_FAILED' : code, text(error, 'message') ?? 'The tool has failed.', retryable)
}
