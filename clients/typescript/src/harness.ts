/** Harness mode: hello, tasks, reports, done. Tasks run side by side, since a cancel comes while a run goes on. */

import { errorFrom, resultOf, toolError, type Application, type News, type Outcome } from './application.js'
import { Client } from './client.js'
import { cancel, continueRun, converse, observe, type Message } from './conversation.js'
import type { Call } from './event.js'
import { Failure } from './failure.js'
import { isObject, member, text, texts, type Json, type JsonObject } from './json.js'
import { executeAt, Link } from './link.js'
import { register, wantsApproval } from './registry.js'
import { Reporter } from './reporter.js'
import type { Settings } from './settings.js'
import { sleep } from './time.js'

const CAPABILITIES = [
  'tools',
  'correct',
  'approval',
  'events',
  'items',
  'text',
  'registry',
  'cancel',
  'durable',
  'idle',
  'reuse',
  'parallel-calls',
]
/** How often a harness that can't be reached is asked again before it is taken for gone. */
const PATIENCE = 5

/** Carries out tasks until it is told to exit, or the harness has gone. */
export async function serve(url: string, settings: Settings): Promise<void> {
  const link = new Link(url)
  const clients = new Map<string, Client>()
  await link.tell('hello', {
    name: 'pantheon-typescript-client',
    version: '0.1.0',
    language: 'typescript',
    protocol: 1,
    capabilities: CAPABILITIES,
  })
  for (let misses = 0; misses < PATIENCE;) {
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
  await link
    .tell('done', { task_id: task['task_id'] ?? null, ...done })
    .catch((error: unknown) => console.error(Failure.from(error).message))
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
      return observe(client, app, {
        session: of('session_id'),
        lastEventId: text(task, 'last_event_id'),
        until: task['until'],
      })
    case 'register': {
      const tool = isObject(task['tool']) ? task['tool'] : {}
      const name = text(tool, 'name') ?? ''
      if (wantsApproval(tool) || task['approval'] === true || texts(task['approval']).includes(name))
        client.ledger.gate(name)
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
      const { status, body } = await this.#link.post('correct', {
        name: call.name,
        tool_call_id: call.toolCallId,
        content,
        details,
      })
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
      const body = {
        name: call.name,
        input: call.input,
        tool_call_id: call.toolCallId,
        execution_idempotency_key: call.executionKey,
      }
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
