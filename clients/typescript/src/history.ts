/** What a reader of a session has read: where it goes on, and what it has seen already. */

import { member } from './json.js'
import type { SessionEvent } from './event.js'

export class History {
  /** The id to reconnect with; none before the first one, and none after one that the server has refused. */
  #cursor: string | undefined
  #seen = new Set<string>()
  #refused = new Set<string>()
  /** The sequence of the first event after a cursor that was given: what is before it was not asked for. */
  #firstSequence: number | undefined
  readonly #startedAt: string | undefined

  /** `cursor`: the event to go on after. */
  constructor(cursor?: string) {
    this.#cursor = cursor
    this.#startedAt = cursor
    if (cursor !== undefined) this.#seen.add(cursor)
  }

  get cursor(): string | undefined {
    return this.#cursor
  }

  /**
   * The server doesn't know the cursor: everything is read again, and what has been seen is passed over (C-SSE-17).
   * What is replayed is older than what has been acted on, so it makes no cursor; the next new event does.
   */
  refuse(): void {
    if (this.#cursor !== undefined) this.#refused.add(this.#cursor)
    this.#cursor = undefined
  }

  /** An id that came without data moves the cursor and has no other effect (C-SSE-5); an empty one takes it away. */
  moveTo(id: string): void {
    if (id === '') this.#cursor = undefined
    // An event that comes again is not newer than the last one that was acted on (C-SSE-1).
    else if (!this.#seen.has(id) && !this.#refused.has(id)) this.#cursor = id
  }

  /** Takes an event in; false where it has been seen. */
  isNew(event: SessionEvent): boolean {
    const { id } = event
    if (id === undefined) return true
    if (this.#seen.has(id) || this.#isBeforeTheStart(event)) return false
    this.#seen.add(id)
    if (!this.#refused.has(id)) this.#cursor = id
    return true
  }

  #isBeforeTheStart(event: SessionEvent): boolean {
    const sequence = member(event.data, 'sequence')
    if (this.#startedAt === undefined || typeof sequence !== 'number') return false
    this.#firstSequence ??= sequence
    return sequence < this.#firstSequence
  }
}
