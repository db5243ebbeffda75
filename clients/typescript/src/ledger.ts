/**
 * What must not be forgotten: which tools have been executed and with what outcome, which answer was sent with which
 * key, and what has been reported. A file of JSON lines under the state folder; without a folder, memory alone.
 *
 * A line is written before the deed that it is about, so after a death the ledger may say too much but never too
 * little: an execution that began and has no outcome may have happened, and is never repeated (C-TOOL-2).
 */

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { read, text, write, type Json, type JsonObject } from './json.js'
import type { ItemStatus, Outcome } from './application.js'

/** An answer to a call as it is sent: repeated with the same key and byte by byte (C-TOOL-5). */
export interface Letter {
  number: number
  key: string
  body: string
}

/** Where a task stands: its session, the key of its start, its run. */
export interface Progress {
  session: string
  key: string
  run?: string
}

export class Ledger {
  #file: number | undefined
  readonly #outcomes = new Map<string, Outcome | 'begun'>()
  readonly #letters = new Map<string, Letter>()
  readonly #progress = new Map<string, Progress>()
  readonly #reported = new Set<string>()
  readonly #items = new Map<string, ItemStatus>()
  readonly #gated = new Set<string>()

  constructor(folder?: string) {
    if (folder === undefined) return
    mkdirSync(folder, { recursive: true })
    const path = join(folder, 'ledger.jsonl')
    if (existsSync(path)) for (const line of readFileSync(path, 'utf8').split('\n')) this.#remember(read(line))
    this.#file = openSync(path, 'a')
    // A line that a death has cut off stays alone on its line, and is passed over.
    writeSync(this.#file, '\n')
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  /** What became of an execution; `begun` where that was never learned. */
  outcome(executionKey: string): Outcome | 'begun' | undefined {
    return this.#outcomes.get(executionKey)
  }

  begin(executionKey: string): void {
    this.#keep({ kind: 'begun', key: executionKey }, true)
  }

  conclude(executionKey: string, outcome: Outcome): void {
    this.#keep(
      {
        kind: 'outcome',
        key: executionKey,
        outcome: outcome.error === undefined ? { content: outcome.content } : { error: { ...outcome.error } },
      },
      true,
    )
  }

  letter(call: string): Letter | undefined {
    return this.#letters.get(call)
  }

  send(call: string, letter: Letter): void {
    this.#keep({ kind: 'letter', call, ...letter }, true)
  }

  progress(task: string): Progress | undefined {
    return this.#progress.get(task)
  }

  proceed(task: string, progress: Progress): void {
    this.#keep({ kind: 'progress', task, ...progress }, true)
  }

  /** Notes an event as reported; false where it was before (C-SSE-2). */
  reportEvent(session: string, id: string): boolean {
    if (this.#reported.has(`${session} ${id}`)) return false
    this.#keep({ kind: 'reported', session, id })
    return true
  }

  /** Notes what an item was reported as; false where that says nothing new, or it has ended (C-UI-1). */
  reportItem(item: string, status: ItemStatus): boolean {
    const before = this.#items.get(item)
    if (
      before === status ||
      before === 'completed' ||
      before === 'failed' ||
      (before === 'waiting' && status === 'running')
    )
      return false
    this.#keep({ kind: 'item', item, status })
    return true
  }

  /** The tools that were registered as needing approval: the server knows nothing of that (C-REG-3). */
  get gated(): ReadonlySet<string> {
    return this.#gated
  }

  gate(tool: string): void {
    if (!this.#gated.has(tool)) this.#keep({ kind: 'gated', tool })
  }

  #keep(line: JsonObject, safely = false): void {
    if (this.#file !== undefined) {
      writeSync(this.#file, `${write(line)}\n`)
      if (safely) fsyncSync(this.#file)
    }
    this.#remember(line)
  }

  #remember(line: Json | undefined): void {
    const part = (name: string) => text(line, name) ?? ''
    const whole = line as never
    switch (part('kind')) {
      case 'begun':
        this.#outcomes.set(part('key'), 'begun')
        break
      case 'outcome':
        this.#outcomes.set(part('key'), (whole as { outcome: Outcome }).outcome)
        break
      case 'letter':
        this.#letters.set(part('call'), { number: (whole as Letter).number, key: part('key'), body: part('body') })
        break
      case 'progress':
        this.#progress.set(part('task'), { ...(whole as Progress) })
        break
      case 'reported':
        this.#reported.add(`${part('session')} ${part('id')}`)
        break
      case 'item':
        this.#items.set(part('item'), part('status') as ItemStatus)
        break
      case 'gated':
        this.#gated.add(part('tool'))
        break
    }
  }
}
