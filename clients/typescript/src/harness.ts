/** Harness mode: hello, tasks, reports, done. Tasks run side by side, since a cancel comes while a run goes on. */

import { errorFrom, resultOf, toolError, type Application, type News, type Outcome } from './application.js'
import { Client } from './client.js'
import { cancel, continueRun, converse, observe, type Message } from './conversation.js'
import type { Call } from './event.js'
import { Failure } from './failure.js'
import { isObject, member, read, text, texts, write, type Json, type JsonObject } from './json.js'
import { register, wantsApproval } from './registry.js'
import type { Settings } from './settings.js'
import { sleep } from './time.js'

const CAPABILITIES = ['tools', 'correct', 'approval', 'events', 'items', 'text', 'registry', 'cancel', 'durable', 'idle', 'reuse', 'parallel-calls']
const POLL_MS = 10_000
/** How often a harness that can't be reached is asked again before it is taken for gone. */
const PATIENCE = 5

/** Carries out tasks until it is told to exit, or the harness has gone. */
export async function serve(url: string, settings: Settings): Promise<void> {
  const link = new Link(url)
  const clients = new Map<string, Client>()
  await link.tell('hello', { name: 'pantheon-typescript-client', version: '0.1.0', language: 'typescript', protocol: 1, capabilities: CAPABILITIES })
  for (let misses = 0; misses < PATIENCE; ) {
    const task = await link.task()
    misses = task === 'missed' ? misses + 1 : 0
    if (task === 'missed') await sleep(50 * misses)
    if (!isObject(task)) continue
    const isLast = text(task, 'do') === 'exit'
    const own = text(task, 'harness_url')
    const carriedOut = carryOut(task, own === undefined ? link : new Link(own), clients, settings)
    if (isLast) return carriedOut
  }
}

async function carryOut(task: JsonObject, link: Link, clients: Map<string, Client>, settings: Settings): Promise<void> {
  const reporter = new Reporter(link)
  let done: JsonObject
  try {
    done = { ...(await perform(task, clientOf(task, clients, settings), link, reporter)) }
  } catch (error) {
    const failure = Failure.from(error)
    reporter.add({ kind: 'error', failure })
    done = { status: 'error', error: failure.toJson() }
  }
  // What is reported as done is preceded by all that led there.
  await reporter.flushed()
  await link.tell('done', { task_id: task['task_id'] ?? null, ...done }).catch((error: unknown) => console.error(Failure.from(error).message))
}

async function perform(task: JsonObject, client: Client, link: Link, reporter: Reporter): Promise<object> {
  const of = (name: string) => text(task, name) ?? ''
  const gated = new Set([...client.ledger.gated, ...texts(task['approval'])])
  const app = new HarnessApplication(link, reporter, gated)
  switch (of('do')) {
    case 'converse':
      return converse(client, app, { task: of('task_id'), opening: openingOf(task), message: of('message') })
    case 'continue':
      return continueRun(client, app, of('session_id'), of('run_id'))
    case 'cancel':
      return cancel(client, app, of('session_id'), of('run_id'))
    case 'observe':
      return observe(client, app, { session: of('session_id'), lastEventId: text(task, 'last_event_id'), until: task['until'] })
    case 'register': {
      const tool = isObject(task['tool']) ? task['tool'] : {}
      const name = text(tool, 'name') ?? ''
      if (wantsApproval(tool) || task['approval'] === true || texts(task['approval']).includes(name)) client.ledger.gate(name)
      return { status: 'completed', ...(await register(client, tool, of('agent_slug'))) }
    }
    case 'exit':
      return { status: 'completed' }
    default:
      throw new Failure('unknown_task', `this client can't ${of('do')}`)
  }
}

function openingOf(task: JsonObject): Message['opening'] {
  const [session, deployment, slug] = [text(task, 'session_id'), text(task, 'deployment_id'), text(task, 'agent_slug')]
  if (session !== undefined) return { session }
  return deployment !== undefined ? { deployment_id: deployment } : { agent_slug: slug ?? '' }
}

/** One client a workspace and state folder; what a task doesn't name is that of the environment (capability `reuse`). */
function clientOf(task: JsonObject, clients: Map<string, Client>, settings: Settings): Client {
  const baseUrl = text(task, 'base_url') ?? settings.baseUrl
  const apiKey = text(task, 'api_key') ?? settings.apiKey
  const stateDir = text(task, 'state_dir') ?? settings.stateDir
  const place = JSON.stringify([baseUrl, apiKey, stateDir])
  const client = clients.get(place) ?? new Client({ ...settings, baseUrl, apiKey, stateDir })
  clients.set(place, client)
  return client
}

/** The harness, standing in for the application. */
class HarnessApplication implements Application {
  readonly #link: Link
  readonly #reporter: Reporter
  readonly #gated: ReadonlySet<string>

  constructor(link: Link, reporter: Reporter, gated: ReadonlySet<string>) {
    this.#link = link
    this.#reporter = reporter
    this.#gated = gated
  }

  /** One request is one execution, so it is never repeated. */
  async execute(call: Call, { session, run }: { session: string; run: string }): Promise<Outcome> {
    return executeAt(this.#link, call, session, run)
  }

  async correct(call: Call, content: JsonObject, details: Json): Promise<Outcome> {
    try {
      const { status, body } = await this.#link.post('correct', { name: call.name, tool_call_id: call.toolCallId, content, details })
      if (status === 200 && member(body, 'content') !== undefined) return resultOf(member(body, 'content'))
      if (status === 200 && isObject(member(body, 'error'))) return errorFrom(member(body, 'error'))
    } catch {
      // There is no correction, then.
    }
    return toolError('RESULT_INVALID', "The tool's result does not fit its output schema, and there is no correction.")
  }

  needsApproval(tool: string): boolean {
    return this.#gated.has(tool)
  }

  async approve(call: Call, signal: AbortSignal): Promise<boolean> {
    try {
      const body = { name: call.name, input: call.input, tool_call_id: call.toolCallId, execution_idempotency_key: call.executionKey }
      const answer = await this.#link.post('approve', body, signal)
      return answer.status === 200 && member(answer.body, 'approved') === true
    } catch {
      return false
    }
  }

  tell(news: News): void {
    this.#reporter.add(news)
  }
}

/** Executes a tool where the harness has it. */
export async function executeAt(link: Link, call: Call, session: string, run: string): Promise<Outcome> {
  const request = { name: call.name, input: call.input, tool_call_id: call.toolCallId, execution_idempotency_key: call.executionKey, session_id: session, run_id: run }
  try {
    const { status, body } = await link.post('tool', request)
    if (status === 404) return toolError('UNKNOWN_TOOL', `There is no tool ${call.name}.`)
    if (status !== 200) return toolError('TOOL_FAILED', `The tool answered ${status}.`)
    const thrown = member(body, 'throw')
    if (thrown !== undefined) return toolError('TOOL_FAILED', typeof thrown === 'string' ? thrown : write(thrown))
    const error = member(body, 'error')
    return error !== undefined ? errorFrom(error) : resultOf(member(body, 'content'))
  } catch {
    return toolError('OUTCOME_UNKNOWN', "The tool's answer did not come. It may have taken effect and is not run again.")
  }
}

/** The calls on a harness. None of them carries the API key (C-SEC-1). */
export class Link {
  readonly #url: string

  constructor(url: string) {
    this.#url = url.replace(/\/+$/, '')
  }

  /** The next task, if there is one. */
  async task(): Promise<Json | 'missed' | undefined> {
    try {
      const response = await fetch(`${this.#url}/task?wait_ms=${POLL_MS}`)
      const body = read(await response.text())
      if (response.status === 204) return undefined
      return response.status === 200 && isObject(body) ? body : 'missed'
    } catch {
      return 'missed'
    }
  }

  /** One call, once: it may have an effect. */
  async post(path: string, body: unknown, signal?: AbortSignal): Promise<{ status: number; body: Json | undefined }> {
    const response = await fetch(`${this.#url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: write(body),
      ...(signal && { signal }),
    })
    return { status: response.status, body: read(await response.text()) }
  }

  /** Says something that the harness must know. */
  async tell(path: string, body: unknown): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const { status } = await this.post(path, body)
        if (status < 300) return
        throw new Failure('harness_refused', `the harness answered ${status} to ${path}`)
      } catch (error) {
        // Only what was never sent is sent again: a report that comes twice is another report.
        const refused = ((error as Error).cause as { code?: string } | undefined)?.code === 'ECONNREFUSED'
        if (!refused || tries === PATIENCE) throw error
        await sleep(50 * tries)
      }
    }
  }
}

/** Reports in the order of what happened; what comes while a report is under way goes with the next one. */
class Reporter {
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
