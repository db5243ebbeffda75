/** What one workspace is served with: the way to the server, the ledger, and where each session was left. */

import type { Outcome } from './application.js'
import type { History } from './history.js'
import { Api } from './http.js'
import { Ledger } from './ledger.js'
import { Schemas } from './schemas.js'

export interface ClientOptions {
  baseUrl: string
  apiKey: string
  /** Where to remember what a restart needs; without it, memory alone. */
  stateDir?: string | undefined
  /** After how much silence a stream is dead, in milliseconds: four keep-alives (SSE-9) unless told. */
  idleMs?: number | undefined
  /** How long a request may take, in milliseconds; half a minute unless told. */
  requestTimeoutMs?: number | undefined
}

export class Client {
  readonly api: Api
  readonly ledger: Ledger
  readonly idleMs: number
  /** What has been read of each session in which a run was followed to its end. */
  readonly histories = new Map<string, History>()
  /** The executions that this process has begun, by their key; nothing where a call was withdrawn before. */
  readonly executions = new Map<string, Promise<Outcome | undefined>>()
  readonly #schemas = new Map<string, Schemas>()

  constructor(options: ClientOptions) {
    this.api = new Api(options.baseUrl, options.apiKey, options.requestTimeoutMs ?? 30_000)
    this.ledger = new Ledger(options.stateDir)
    this.idleMs = options.idleMs ?? 60_000
  }

  schemas(session: string): Schemas {
    const known = this.#schemas.get(session) ?? new Schemas(this.api, session)
    this.#schemas.set(session, known)
    return known
  }
}
