/** Answering one call: its tool is executed once, and its answer is sent until it is known what became of it. */

import { createHash } from 'node:crypto'

import { resultOf, toolError, type Application, type Outcome } from './application.js'
import type { Client } from './client.js'
import type { Call } from './event.js'
import { errorOf, Failure } from './failure.js'
import type { Answer } from './http.js'
import { isObject, member, read, text, write, type JsonObject } from './json.js'
import type { Letter } from './ledger.js'

/** How many bodies a call is answered with: the result, two corrections, and at last an error. */
const MOST_LETTERS = 4

/** Whose call it is, and who stands behind the client. */
export interface Place {
  client: Client
  app: Application
  session: string
  run: string
}

export interface Signals {
  /** The call needs no answer any more: another has answered it, or the run is over. */
  withdrawn: AbortSignal
  /** Nothing of this run is to be sent any more, not even what has been sent once. */
  over: AbortSignal
}

export type Verdict = { kind: 'settled' | 'withdrawn' } | { kind: 'expired' | 'failed'; failure: Failure }

/** `fault`: what is wrong with the call's input, if anything is. */
export async function answerCall(
  call: Call,
  fault: string | undefined,
  place: Place,
  signals: Signals,
): Promise<Verdict> {
  const { ledger } = place.client
  const name = letterName(call, place)
  let letter = ledger.letter(name)
  if (letter === undefined) {
    // A tool that is at work when its call is withdrawn works on, and is not waited for.
    const outcome = await Promise.race([execute(call, fault, place, signals.withdrawn), given(signals.withdrawn)])
    if (outcome === undefined || signals.withdrawn.aborted) return { kind: 'withdrawn' }
    letter = compose(call, place, outcome, 1)
    ledger.send(name, letter)
  }
  try {
    return await deliver(call, letter, place, signals.over)
  } catch (error) {
    return signals.over.aborted ? { kind: 'withdrawn' } : { kind: 'failed', failure: Failure.from(error) }
  }
}

function given(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}

/** The outcome of a call's one execution; nothing where the call was withdrawn before it began. */
async function execute(
  call: Call,
  fault: string | undefined,
  place: Place,
  withdrawn: AbortSignal,
): Promise<Outcome | undefined> {
  const { executions } = place.client
  // A key that comes under a second event stands for the same execution (C-TOOL-1).
  for (;;) {
    const running = executions.get(call.executionKey)
    const execution = running ?? executeOnce(call, fault, place, withdrawn)
    executions.set(call.executionKey, execution)
    const outcome = await execution
    if (outcome === undefined) executions.delete(call.executionKey)
    if (outcome !== undefined || running === undefined || withdrawn.aborted) return outcome
  }
}

async function executeOnce(
  call: Call,
  fault: string | undefined,
  { client, app, session, run }: Place,
  withdrawn: AbortSignal,
): Promise<Outcome | undefined> {
  const { ledger } = client
  const known = ledger.outcome(call.executionKey)
  if (known !== undefined && known !== 'begun') return known
  const conclude = (outcome: Outcome) => {
    ledger.conclude(call.executionKey, outcome)
    return outcome
  }
  if (known === 'begun') {
    return conclude(
      toolError(
        'OUTCOME_UNKNOWN',
        'The application was restarted while the tool ran. It may have taken effect and is not run again.',
      ),
    )
  }
  if (fault !== undefined) {
    return conclude(toolError('INVALID_INPUT', `The input does not fit the tool's schema: ${fault}`))
  }
  if (app.needsApproval(call.name)) {
    const approved = await app.approve(call, withdrawn)
    if (withdrawn.aborted) return undefined
    if (!approved) return conclude(toolError('USER_CANCELLED', 'The user declined this action.'))
  }
  if (withdrawn.aborted) return undefined
  ledger.begin(call.executionKey)
  return conclude(await app.execute(call, { session, run }))
}

/** Sends a letter, and what corrects it, until one is taken or none is wanted. Throws when the tries are used up. */
async function deliver(call: Call, first: Letter, place: Place, over: AbortSignal): Promise<Verdict> {
  const { api, ledger } = place.client
  const path = `/v1/sessions/${encodeURIComponent(place.session)}/runs/${encodeURIComponent(place.run)}/resume`
  const name = letterName(call, place)
  let letter = first
  const next = (outcome: Outcome) => {
    letter = compose(call, place, outcome, letter.number + 1)
    ledger.send(name, letter)
  }
  for (;;) {
    const request = { method: 'POST', path, body: letter.body, headers: { 'idempotency-key': letter.key } } as const
    const answer = await api.ask(request, { signal: over, isWhole: isAcceptance })
    const failure = Failure.of('the resume', answer.status, answer.body)
    const sent = outcomeIn(letter)
    const mayGoOn = letter.number < MOST_LETTERS
    switch (answer.code) {
      case undefined:
        return answer.status < 300 ? { kind: 'settled' } : { kind: 'failed', failure }
      case 'event_already_resolved':
        return { kind: 'settled' }
      case 'event_expired':
        return { kind: 'expired', failure }
      case 'run_not_active':
        return { kind: 'withdrawn' }
      case 'tool_result_invalid':
        if (sent.content === undefined || !mayGoOn) return { kind: 'failed', failure }
        next(await corrected(call, sent.content, answer, letter, place.app))
        break
      case 'validation_error':
      case 'payload_too_large':
        if (sent.content === undefined || !mayGoOn) return { kind: 'failed', failure }
        next(toolError('RESULT_REFUSED', `The tool's result could not be sent: ${failure.message}`))
        break
      case 'idempotency_conflict':
        // The key is bound to something else, whatever that was (C-TOOL-6).
        if (!mayGoOn) return { kind: 'failed', failure }
        next(sent)
        break
      default:
        return { kind: 'failed', failure }
    }
    if (over.aborted) return { kind: 'withdrawn' }
  }
}

/** What to send after a result that doesn't fit: never an equal one, and in the end an error (C-TOOL-7). */
async function corrected(
  call: Call,
  content: JsonObject,
  answer: Answer,
  letter: Letter,
  app: Application,
): Promise<Outcome> {
  const isLast = letter.number === MOST_LETTERS - 1
  const invalid = toolError('RESULT_INVALID', "The tool's result does not fit its output schema.")
  if (isLast) return invalid
  const outcome = await app.correct(call, content, member(errorOf(answer.body), 'details') ?? [])
  if (outcome.error !== undefined) return outcome
  const sendable = resultOf(outcome.content)
  return sendable.content === undefined || write(sendable.content) === write(content) ? invalid : sendable
}

/** RES-1: another 2xx is a lost answer (C-TOOL-17). */
function isAcceptance({ body }: Answer): boolean {
  return (
    text(body, 'run_id') !== undefined &&
    text(body, 'status') !== undefined &&
    Array.isArray(member(body, 'accepted_events'))
  )
}

function compose(call: Call, place: Place, outcome: Outcome, number: number): Letter {
  const answer = outcome.error === undefined ? { content: outcome.content } : { error: outcome.error }
  const event = { type: 'user.custom_tool_result', in_reply_to_event_id: call.eventId, ...answer }
  // Of one length whatever the ids are, and another for each call and each body (C-TOOL-6).
  const digest = createHash('sha256').update(letterName(call, place)).digest('hex').slice(0, 40)
  return { number, key: `resume-${digest}-${number}`, body: write({ events: [event] }) }
}

function outcomeIn(letter: Letter): Outcome {
  const events = member(read(letter.body), 'events')
  const event = Array.isArray(events) ? events[0] : undefined
  const content = member(event, 'content')
  if (isObject(content)) return { content }
  const error = member(event, 'error')
  return toolError(
    text(error, 'code') ?? 'TOOL_FAILED',
    text(error, 'message') ?? '',
    member(error, 'retryable') === true,
  )
}

function letterName(call: Call, { session, run }: Place): string {
  return JSON.stringify([session, run, call.eventId])
}
