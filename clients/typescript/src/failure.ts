/** What went wrong, in the words of the server where it has said so. */

import { isObject, member, text, type JsonObject } from './json.js'

/** The codes of the contract. A known one decides, whatever the status and the message (C-ERR-1). */
const KNOWN = [
  'unauthorized',
  'not_found',
  'method_not_allowed',
  'validation_error',
  'payload_too_large',
  'unsupported_media_type',
  'limit_exceeded',
  'idempotency_conflict',
  'idempotency_in_progress',
  'invalid_idempotency_key',
  'SESSION_BUSY',
  'session_archived',
  'agent_not_deployed',
  'run_not_active',
  'invalid_last_event_id',
  'tool_result_invalid',
  'invalid_event_reference',
  'event_already_resolved',
  'event_expired',
] as const

export type Code = (typeof KNOWN)[number]

export function knownCode(code: string | undefined): Code | undefined {
  return KNOWN.find((known) => known === code)
}

export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
    /** The run that is in the way, where there is one (RUN-2). */
    readonly activeRunId?: string,
  ) {
    super(message)
  }

  /** What an answer that is no success says. */
  static of(what: string, status: number, body: unknown): Failure {
    const error = errorOf(body)
    const message = text(error, 'message') ?? 'no reason was given'
    return new Failure(
      text(error, 'code') ?? `http_${status}`,
      `${what} was answered ${status}: ${message}`,
      text(error, 'active_run_id'),
    )
  }

  static from(error: unknown): Failure {
    if (error instanceof Failure) return error
    return new Failure('client_error', error instanceof Error ? error.message : String(error))
  }

  toJson(): JsonObject {
    return {
      code: this.code,
      message: this.message,
      ...(this.activeRunId !== undefined && { active_run_id: this.activeRunId }),
    }
  }
}

/** The `error` of an answer's body (ERR-1). */
export function errorOf(body: unknown): JsonObject | undefined {
  const error = member(body, 'error')
  return isObject(error) ? error : undefined
}
