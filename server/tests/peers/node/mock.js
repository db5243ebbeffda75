// One running pantheon-mock, and the workspaces that tests have in it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRAM = process.env.PANTHEON_MOCK ?? fileURLToPath(new URL('../../../../target/debug/pantheon-mock', import.meta.url))

const ECHO_TOOL = {
  name: 'echo_tool',
  input_schema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  output_schema: { type: 'object', properties: { echoed: { type: 'string' } }, required: ['echoed'] },
}

/** A mock on a free port, once it has said that it is ready. */
export async function startMock() {
  const process = spawn(PROGRAM, ['--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  process.stderr.setEncoding('utf8').on('data', (text) => (log += text))
  const ended = once(process, 'close')
  const lines = []
  const ready = new Promise((resolve, reject) => {
    createInterface(process.stdout).on('line', (line) => {
      lines.push(line)
      resolve(JSON.parse(line))
    })
    ended.then(([code]) => reject(new Error(`${PROGRAM} ended with ${code} before it was ready: ${log}`)), reject)
  })
  const { event, url, pid } = await ready
  assert.equal(event, 'ready')
  assert.equal(pid, process.pid)

  return {
    url,
    /** Asks it to end, as a user does, and holds it to its promises: exit code 0, one line on stdout. */
    async stop() {
      process.kill('SIGTERM')
      const [code] = await ended
      assert.equal(code, 0, log)
      assert.equal(lines.length, 1)
    },
  }
}

/** What one API key sees of the mock. Nothing in it is shared with another test. */
export class Workspace {
  #url
  #headers = { authorization: `Bearer pk_test_${randomUUID()}` }

  constructor(url) {
    this.#url = url
  }

  /** A new workspace in which an agent `demo` has `echo_tool`. */
  static async withEcho(url) {
    const workspace = new Workspace(url)
    const tool = await workspace.post('/v1/tools', ECHO_TOOL)
    const agent = await workspace.post('/v1/agents', { name: 'Echo agent', slug: 'demo' })
    await workspace.post('/v1/deployments', { agent_id: agent.id, tool_definition_ids: [tool.latest_definition.id] })
    return workspace
  }

  streamUrl(sessionId) {
    return `${this.#url}/v1/sessions/${sessionId}/events/stream`
  }

  /** `fetch` with this workspace's key. */
  fetch = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, ...this.#headers } })

  async post(path, body, headers = {}) {
    const response = await this.fetch(this.#url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    assert.ok(response.ok, `${path}: ${response.status}`)
    return response.json()
  }

  async openSession() {
    return (await this.post('/v1/sessions', { agent_slug: 'demo' })).id
  }

  async startRun(sessionId, text) {
    const event = { type: 'user.message', content: [{ type: 'text', text }] }
    return (await this.post(`/v1/sessions/${sessionId}/runs`, { events: [event] })).run_id
  }

  /** What a reader does to keep a run going: at a pause it answers what is asked. */
  async answerAtIdle({ type, session_id, run_id, content }) {
    if (type !== 'session.status_idle') return
    for (const id of content.stop_reason.event_ids) {
      const event = { type: 'user.custom_tool_result', in_reply_to_event_id: id, content: { echoed: 'hello' } }
      const key = { 'idempotency-key': `resume-${id}` }
      await this.post(`/v1/sessions/${session_id}/runs/${run_id}/resume`, { events: [event] }, key)
    }
  }

  /** All durable events of a session, as the list tells them. */
  async log(sessionId) {
    const events = []
    let page = { has_more: true, next_cursor: null }
    while (page.has_more) {
      const query = new URLSearchParams({ limit: '100', ...(page.next_cursor && { cursor: page.next_cursor }) })
      const response = await this.fetch(`${this.#url}/v1/sessions/${sessionId}/events?${query}`)
      assert.equal(response.status, 200)
      page = await response.json()
      events.push(...page.data)
    }
    return events
  }
}

/** The types of a run that calls its tool once, in order. */
export const FINISHED_RUN = [
  'run.started',
  'message.completed',
  'tool.started',
  'agent.custom_tool_use',
  'session.status_idle',
  'session.status_running',
  'tool.completed',
  'message.completed',
  'run.completed',
]
