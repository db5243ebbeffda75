/** What a client can be told to do in a session: converse, continue, cancel, observe. */

import { randomUUID } from 'node:crypto'

import type { Application } from './application.js'
import type { Client } from './client.js'
import { textOf, type SessionEvent } from './event.js'
import { Failure } from './failure.js'
import { History } from './history.js'
import { isObject, text, texts, write, type Json, type JsonObject } from './json.js'
import type { Progress } from './ledger.js'
import { Run, type Status } from './run.js'
import { readSession } from './stream.js'

export interface Done {
  status: Status
  session_id?: string
  run_id?: string
  text?: string
  error?: JsonObject
}

export interface Message {
  /** A name for this message: after a restart it leads back to the same run (C-RUN-1). */
  task: string
  /** The session to speak in, or what a new one is made of. */
  opening: { session: string } | { agent_slug: string } | { deployment_id: string }
  message: string
}

/** Says something, and follows the run that it starts. */
export async function converse(client: Client, app: Application, { task, opening, message }: Message): Promise<Done> {
  let session: string | undefined
  try {
    const known = client.ledger.progress(task)
    session = known?.session ?? ('session' in opening ? opening.session : await openSession(client, opening))
    const progress: Progress = known ?? { session, key: `start-${randomUUID()}` }
    if (known === undefined) client.ledger.proceed(task, progress)
    const run = progress.run ?? (await startRun(client, progress, message))
    if (progress.run === undefined) client.ledger.proceed(task, { ...progress, run })
    return await follow(client, app, session, run, known === undefined ? client.histories.get(session) : undefined)
  } catch (error) {
    return failed(app, Failure.from(error), session)
  }
}

/** Follows a run that was started before, from the beginning: the ledger knows what has been done (C-TOOL-2). */
export async function continueRun(client: Client, app: Application, session: string, run: string): Promise<Done> {
  return follow(client, app, session, run)
}

export async function cancel(client: Client, app: Application, session: string, run: string): Promise<Done> {
  const path = `/v1/sessions/${encodeURIComponent(session)}/runs/${encodeURIComponent(run)}`
  try {
    const answer = await client.api.ask({ method: 'POST', path: `${path}/cancel` })
    if (answer.code === undefined && answer.status < 300)
      return { status: 'cancelled', session_id: session, run_id: run }
    // It has ended before, perhaps by an attempt whose answer was lost.
    const ended = answer.code === 'run_not_active' ? text(await client.api.json('GET', path), 'status') : undefined
    if (ended === 'completed' || ended === 'failed' || ended === 'cancelled')
      return { status: ended, session_id: session, run_id: run }
    throw Failure.of('the cancel', answer.status, answer.body)
  } catch (error) {
    return { ...failed(app, Failure.from(error), session), run_id: run }
  }
}

export interface Observation {
  session: string
  /** After which event; from the start without one. */
  lastEventId?: string | undefined
  /** Until an event of this type or id, one of several such, or so many events; without it, until the stream ends. */
  until?: Json | undefined
}

/** Watches a session without acting in it (C-TOOL-14). */
export async function observe(
  client: Client,
  app: Application,
  { session, lastEventId, until }: Observation,
): Promise<Done> {
  let [seen, last] = [0, undefined as string | undefined]
  try {
    const options = { idleMs: client.idleMs, signal: new AbortController().signal }
    for await (const signal of readSession(client.api, session, new History(lastEventId), options)) {
      if (signal.kind === 'end' && signal.cleanly && !namesAnEvent(until)) break
      if (signal.kind !== 'event' || signal.event.id === undefined) continue
      const { event } = signal
      seen += 1
      if (event.type === 'message.completed') last = textOf(event)
      app.tell({ kind: 'event', type: event.type, sse_id: event.id!, data: event.data })
      if (isReached(until, event, seen)) break
    }
    if (last !== undefined) app.tell({ kind: 'text', text: last })
    return { status: 'completed', session_id: session, ...(last !== undefined && { text: last }) }
  } catch (error) {
    return failed(app, Failure.from(error), session)
  }
}

async function openSession(client: Client, opening: JsonObject): Promise<string> {
  const body = write({ ...opening, title: 'TypeScript client' })
  const answer = await client.api.ask(
    { method: 'POST', path: '/v1/sessions', body },
    { isWhole: ({ body }) => text(body, 'id') !== undefined },
  )
  const id = text(answer.body, 'id')
  if (answer.code !== undefined || answer.status >= 300 || id === undefined)
    throw Failure.of('the new session', answer.status, answer.body)
  return id
}

/** One message makes one run, however often the start is repeated: with the same key (C-RUN-1). */
async function startRun(client: Client, { session, key }: Progress, message: string): Promise<string> {
  const body = write({ events: [{ type: 'user.message', content: [{ type: 'text', text: message }] }] })
  const request = {
    method: 'POST',
    path: `/v1/sessions/${encodeURIComponent(session)}/runs`,
    body,
    headers: { 'idempotency-key': key },
  } as const
  const answer = await client.api.ask(request, { isWhole: ({ body }) => text(body, 'run_id') !== undefined })
  const run = text(answer.body, 'run_id')
  if (answer.code !== undefined || answer.status >= 300 || run === undefined)
    throw Failure.of('the start', answer.status, answer.body)
  return run
}

async function follow(
  client: Client,
  app: Application,
  session: string,
  run: string,
  history = new History(),
): Promise<Done> {
  const end = await new Run({ client, app, session, run }).follow(history)
  if (end.status !== 'error') client.histories.set(session, history)
  return {
    status: end.status,
    session_id: session,
    run_id: run,
    ...(end.text !== undefined && { text: end.text }),
    ...(end.failure !== undefined && { error: end.failure.toJson() }),
  }
}

function failed(app: Application, failure: Failure, session: string | undefined): Done {
  app.tell({ kind: 'error', failure })
  return { status: 'error', ...(session !== undefined && { session_id: session }), error: failure.toJson() }
}

/** Whether an event can end an observation; what names none is ended by the end of the stream alone. */
function namesAnEvent(until: Json | undefined): boolean {
  if (typeof until === 'string') return !['end', 'stream_end', 'close', 'eof'].includes(until)
  return typeof until === 'number' || isObject(until) || Array.isArray(until)
}

function isReached(until: Json | undefined, event: SessionEvent, seen: number): boolean {
  if (isObject(until)) return Object.values(until).some((part) => isReached(part, event, seen))
  if (typeof until === 'number') return seen >= until
  return (Array.isArray(until) ? texts(until) : [until]).some((name) => name === event.type || name === event.id)
}
