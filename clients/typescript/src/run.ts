/** Following a run: what each of its events does, until one of them ends it (C-RUN-2). */

import { answerCall, type Place } from './answer.js'
import type { ItemStatus } from './application.js'
import { about, callOf, listedEvent, requiredBy, runKey, textOf, type Call, type SessionEvent } from './event.js'
import { Failure } from './failure.js'
import type { History } from './history.js'
import { member, text, texts } from './json.js'
import { readSession } from './stream.js'
import { sleep } from './time.js'

/** How long the stream may take to show what an answer has already told, in milliseconds. */
const GRACE_MS = 1_000
/** How long answers that were sent before a run's end may take to be heard. */
const LAST_ANSWERS_MS = 5_000

export type Status = 'completed' | 'failed' | 'cancelled' | 'expired' | 'error'

export interface RunEnd {
  status: Status
  text?: string
  failure?: Failure
}

interface Tracked {
  call: Call
  /** `unsent`: its answer could not be sent. Whatever is not being answered is, when it is required again (C-TOOL-15). */
  state: 'new' | 'answering' | 'unsent' | 'settled'
  withdrawal: AbortController
}

export class Run {
  readonly #place: Place
  readonly #key: string
  readonly #acted = new Set<string>()
  readonly #calls = new Map<string, Tracked>()
  readonly #itemNames = new Map<string, string>()
  readonly #answering = new Set<Promise<void>>()
  /** Pauses are looked into one after another. */
  #pauses = Promise.resolve()
  #text: string | undefined
  #end: RunEnd | undefined
  /** What ends the reading although the run may go on. */
  #failure: Failure | undefined
  readonly #told = new Set<Failure>()
  readonly #stopped = new AbortController()
  readonly #over = new AbortController()

  constructor(place: Place) {
    this.#place = place
    this.#key = runKey(place.run)
  }

  async follow(history: History): Promise<RunEnd> {
    const { client, session } = this.#place
    try {
      const options = { idleMs: client.idleMs, signal: this.#stopped.signal }
      for await (const signal of readSession(client.api, session, history, options)) {
        if (signal.kind === 'event' && !this.#take(signal.event)) await this.#catchUp()
        if (signal.kind === 'gap' && !this.#acted.has(signal.id)) await this.#catchUp()
        if (this.#end !== undefined) break
      }
      if (this.#end !== undefined) await Promise.race([Promise.all(this.#answering), sleep(LAST_ANSWERS_MS)])
    } catch (error) {
      this.#failure ??= Failure.from(error)
    } finally {
      this.#over.abort()
      this.#withdrawAll()
    }
    return this.#conclude()
  }

  /** Acts on an event, once; false where it can't be acted on as it is. */
  #take(event: SessionEvent, isListed = false): boolean {
    const { app, client, session } = this.#place
    if (event.id === undefined || this.#acted.has(event.id)) return true
    if (!event.isWhole && !isListed) return false
    this.#acted.add(event.id)
    if (client.ledger.reportEvent(session, event.id)) {
      app.tell({ kind: 'event', type: event.type, sse_id: event.id, data: event.data })
    }
    if (event.isWhole && event.run === this.#key && this.#end === undefined) this.#act(event)
    // From here on nothing is asked for and nothing executed; what was answered before a cancel is not repeated either.
    if (this.#end !== undefined) this.#withdrawAll()
    if (this.#end?.status === 'cancelled') this.#over.abort()
    return true
  }

  #act(event: SessionEvent): void {
    switch (event.type) {
      case 'tool.started':
        this.#item(event, 'running')
        break
      case 'agent.custom_tool_use': {
        const call = callOf(event)
        if (call !== undefined) this.#calls.set(call.eventId, { call, state: 'new', withdrawal: new AbortController() })
        this.#item(event, 'running')
        break
      }
      case 'session.status_idle': {
        const named = requiredBy(event)
        for (const id of named) this.#itemOf(this.#calls.get(id)?.call, 'waiting')
        if (named.length > 0) this.#pauseAfterOthers(named)
        break
      }
      case 'tool.completed':
      case 'tool.failed':
        this.#item(event, event.type === 'tool.completed' ? 'completed' : 'failed')
        this.#withdraw(text(about(event), 'tool_call_id'))
        break
      case 'message.completed':
        this.#text = textOf(event)
        break
      case 'run.completed':
        this.#end = { status: 'completed', ...(this.#text !== undefined && { text: this.#text }) }
        break
      case 'run.cancelled':
        this.#end = { status: 'cancelled' }
        break
      case 'run.failed': {
        const error = member(about(event), 'error')
        const code = text(error, 'code') ?? 'run_failed'
        this.#end = {
          status: code === 'event_expired' ? 'expired' : 'failed',
          failure: new Failure(code, text(error, 'message') ?? 'The run has failed.'),
        }
        break
      }
    }
  }

  #pauseAfterOthers(named: string[]): void {
    const pause = this.#pauses.then(() => this.#pause(named))
    this.#pauses = pause.catch((error: unknown) => this.#stop(Failure.from(error)))
  }

  /** Answers what is required. What an old idle names may be long answered, so the server is asked (C-TOOL-13). */
  async #pause(named: string[]): Promise<void> {
    const { client, session } = this.#place
    const withdrawnBefore = [...this.#calls.values()].filter(({ withdrawal }) => withdrawal.signal.aborted)
    const required = await this.#required(named)
    for (let tries = 0; tries < 3 && !this.#isOver && required.some((id) => !this.#calls.has(id)); tries++) {
      await sleep(tries * 200, this.#over.signal)
      await this.#catchUp()
    }
    if (this.#end !== undefined) return this.#stopped.abort()
    const due = required.flatMap((id) => this.#calls.get(id) ?? []).filter(({ state }) => state !== 'answering')
    // Another call with its `tool_call_id` was answered, then, and it was not this one.
    for (const tracked of due) if (withdrawnBefore.includes(tracked)) tracked.withdrawal = new AbortController()
    // All of them before the first is executed (C-TOOL-19).
    const schemas = client.schemas(session)
    const faults = await Promise.all(due.map(({ call }) => schemas.fault(call)))
    for (const [at, tracked] of due.entries()) {
      if (this.#isOver || tracked.withdrawal.signal.aborted) continue
      tracked.state = 'answering'
      const answered = this.#answer(tracked, faults[at]).finally(() => this.#answering.delete(answered))
      this.#answering.add(answered)
    }
  }

  async #required(named: string[]): Promise<string[]> {
    const { client, session, run } = this.#place
    try {
      const path = `/v1/sessions/${encodeURIComponent(session)}/runs/${encodeURIComponent(run)}`
      const ids = member(await client.api.json('GET', path), 'required_event_ids')
      return Array.isArray(ids) ? texts(ids) : named
    } catch {
      return named
    }
  }

  async #answer(tracked: Tracked, fault: string | undefined): Promise<void> {
    const signals = { withdrawn: tracked.withdrawal.signal, over: this.#over.signal }
    const verdict = await answerCall(tracked.call, fault, this.#place, signals).catch((error: unknown) => {
      return { kind: 'failed', failure: Failure.from(error) } as const
    })
    tracked.state = verdict.kind === 'failed' ? 'unsent' : 'settled'
    if (verdict.kind === 'expired') {
      // No other call of the run is answered any more; the stream is about to say that it has failed (C-TOOL-9).
      this.#over.abort()
      this.#withdrawAll()
      void this.#stopSoon(verdict.failure)
    } else if (verdict.kind === 'failed') {
      this.#tellFailure(verdict.failure)
      void this.#stopSoon(verdict.failure, tracked)
    }
  }

  /** Ends the reading, unless the run ends first, or the call that is to blame is answered after all. */
  async #stopSoon(failure: Failure, toBlame?: Tracked): Promise<void> {
    await sleep(GRACE_MS, this.#stopped.signal)
    while (toBlame !== undefined && this.#answering.size > 0) {
      await Promise.allSettled([...this.#answering])
      await sleep(GRACE_MS, this.#stopped.signal)
    }
    if (this.#end !== undefined || (toBlame !== undefined && toBlame.state !== 'unsent')) return
    this.#stop(failure)
  }

  #stop(failure: Failure): void {
    this.#failure ??= failure
    this.#stopped.abort()
  }

  /** Fetches what the stream has brought in pieces (C-TOOL-20), or not at all. */
  async #catchUp(): Promise<void> {
    const { client, session } = this.#place
    try {
      const events = client.api.list(`/v1/sessions/${encodeURIComponent(session)}/events`)
      for await (const data of events) this.#take(listedEvent(data), true)
    } catch {
      // The next reconnect, or the next pause, tries again.
    }
  }

  /** Another's answer, or our own that is yet to be heard, has ended a call. */
  #withdraw(toolCallId: string | undefined): void {
    const candidates = [...this.#calls.values()].filter(
      ({ call, withdrawal }) => call.toolCallId === toolCallId && !withdrawal.signal.aborted,
    )
    const answered =
      candidates.find(({ state }) => state === 'settled') ??
      candidates.find(({ state }) => state !== 'new') ??
      candidates[0]
    answered?.withdrawal.abort()
  }

  #withdrawAll(): void {
    for (const { withdrawal } of this.#calls.values()) withdrawal.abort()
  }

  #item(event: SessionEvent, status: ItemStatus): void {
    const toolCallId = text(about(event), 'tool_call_id')
    if (toolCallId !== undefined) this.#tellItem(toolCallId, text(about(event), 'name'), status)
  }

  #itemOf(call: Call | undefined, status: ItemStatus): void {
    if (call !== undefined) this.#tellItem(call.toolCallId, call.name, status)
  }

  #tellItem(toolCallId: string, named: string | undefined, status: ItemStatus): void {
    const { app, client, session } = this.#place
    const name = this.#itemNames.get(toolCallId) ?? named ?? ''
    this.#itemNames.set(toolCallId, name)
    const item = JSON.stringify([session, this.#key, toolCallId])
    if (client.ledger.reportItem(item, status)) app.tell({ kind: 'item', tool_call_id: toolCallId, name, status })
  }

  get #isOver(): boolean {
    return this.#end !== undefined || this.#over.signal.aborted
  }

  #conclude(): RunEnd {
    const { app } = this.#place
    const failure = this.#failure ?? new Failure('stopped', 'The reading was stopped.')
    const end: RunEnd = this.#end ?? { status: failure.code === 'event_expired' ? 'expired' : 'error', failure }
    if (this.#end !== undefined) for (const [id, name] of this.#itemNames) this.#tellItem(id, name, 'failed')
    if (end.text !== undefined) app.tell({ kind: 'text', text: end.text })
    if (end.failure !== undefined) this.#tellFailure(end.failure)
    return end
  }

  #tellFailure(failure: Failure): void {
    if (!this.#told.has(failure)) this.#place.app.tell({ kind: 'error', failure })
    this.#told.add(failure)
  }
}
