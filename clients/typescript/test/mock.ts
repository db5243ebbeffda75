/** One running pantheon-mock, and the workspaces that tests have in it. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** From `dist/test`, where this runs. */
const REPOSITORY = new URL('../../../../', import.meta.url)
const PROGRAM = process.env['PANTHEON_MOCK'] ?? fileURLToPath(new URL('target/debug/pantheon-mock', REPOSITORY))

export interface Mock {
  url: string
  stop(): Promise<void>
}

export interface Entry {
  seq: number
  kind: string
  elapsed_ms: number
  route?: string
  status?: number
  headers?: Record<string, string>
  body?: Record<string, any>
  last_event_id?: string
  replayed?: boolean
  [more: string]: unknown
}

/** A mock on a free port, once it has said that it is ready. */
export async function startMock(): Promise<Mock> {
  const mock = spawn(PROGRAM, ['--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  mock.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const ended = once(mock, 'close') as Promise<[number]>
  const ready = new Promise<{ url: string }>((resolve, reject) => {
    createInterface(mock.stdout).on('line', (line) => resolve(JSON.parse(line)))
    ended.then(([code]) => reject(new Error(`${PROGRAM} ended with ${code} before it was ready: ${log}`)), reject)
  })
  const { url } = await ready
  return {
    url,
    async stop() {
      mock.kill('SIGTERM')
      assert.equal((await ended)[0], 0, log)
    },
  }
}

/** The text of a file under `scenarios/`. */
export function scenarioFile(name: string): string {
  return readFileSync(new URL(`scenarios/${name}.yaml`, REPOSITORY), 'utf8')
}

/** The names of all files under `scenarios/`. */
export function scenarioFiles(): string[] {
  return readdirSync(new URL('scenarios/', REPOSITORY)).flatMap((file) =>
    file.endsWith('.yaml') ? [file.slice(0, -5)] : [],
  )
}

/** What one API key sees of the mock. Nothing in it is shared with another test. */
export class Workspace {
  readonly apiKey = `pk_test_${randomUUID()}`

  constructor(readonly url: string) {}

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<any> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.apiKey}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  async load(scenario: string): Promise<void> {
    await this.request('PUT', '/__mock/scenario', scenario)
  }

  /** All that the journal has of a kind. */
  async journal(kind = 'request'): Promise<Entry[]> {
    return (await this.request('GET', `/__mock/journal?kind=${kind}&limit=1000`)).entries
  }

  async requests(route: string): Promise<Entry[]> {
    return (await this.journal()).filter((entry) => entry.route === route)
  }

  /** Waits until a fault has happened. */
  async faultFired(): Promise<void> {
    const { entries } = await this.request('GET', '/__mock/journal?kind=fault&wait_ms=20000')
    assert.notEqual(entries.length, 0, 'no fault happened')
  }

  /** What the scenario itself expects, and that the mock saw no offence. */
  async assertExpected(): Promise<void> {
    const { failures } = await this.request('POST', '/__mock/verify')
    assert.deepEqual(failures, [])
    const { offences } = await this.request('GET', '/__mock/verdict?final=true')
    assert.deepEqual(offences, [])
  }
}
