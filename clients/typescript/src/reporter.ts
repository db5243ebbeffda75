/** What happens, on its way to the harness. */

import type { News } from './application.js'
import { Failure } from './failure.js'
import type { JsonObject } from './json.js'
import type { Link } from './link.js'

/** Reports in the order of what happened; what comes while a report is under way goes with the next one. */
export class Reporter {
  readonly #link: Link
  #waiting: JsonObject[] = []
  #sending: Promise<void> | undefined

  constructor(link: Link) {
    this.#link = link
  }

  add(news: News): void {
    const { kind } = news
    this.#waiting.push(kind === 'error' ? { kind, ...news.failure.toJson() } : { ...news })
    this.#sending ??= this.#send()
  }

  async flushed(): Promise<void> {
    await this.#sending
  }

  async #send(): Promise<void> {
    // What happens at the same moment goes together.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      while (this.#waiting.length > 0) await this.#link.tell('report', { items: this.#waiting.splice(0) })
    } catch (error) {
      console.error(Failure.from(error).message)
    } finally {
      this.#sending = undefined
    }
  }
}
