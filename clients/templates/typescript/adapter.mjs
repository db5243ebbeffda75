// @ts-check
/**
 * An adapter between pantheon-conformance and your client.
 *
 *     pantheon-conformance run -- node adapter.mjs
 *
 * The harness starts this program, which then asks it what to do, does it by means of your client, and tells what your
 * client saw. As it stands it holds a naive client, `converse` below, so you get a certificate with some green and some
 * red. Put your own client in its place. Node.js 20 alone is needed; the types are in the comments, so there is no build.
 */

/** What your client can do; the rules that need more are not asked. Others that the harness knows: `correct`, `approval`,
 * `items`, `registry`, `cancel`, `durable`, `idle`, `parallel-calls`. */
const CAPABILITIES = ['tools', 'events', 'text', 'reuse']

/**
 * CALL YOUR CLIENT HERE. It says `task.message` to the agent and follows the run to its end.
 *
 * What it should tell meanwhile: each durable event (`hub.event`), the final text (`hub.text`); and it executes a tool by
 * asking the harness (`hub.tool`). It returns what became of the run.
 *
 * @param {Task} task
 * @param {Hub} hub
 * @returns {Promise<Done>}
 */
async function converse(task, hub) {
  const api = new Naive(task.base_url, task.api_key)
  const session = task.session_id ?? (await api.post('/v1/sessions', { agent_slug: task.agent_slug })).id
  const message = { type: 'user.message', content: [{ type: 'text', text: task.message }] }
  const run = (await api.post(`/v1/sessions/${session}/runs`, { events: [message] })).run_id

  /** @type {Map<string, Call>} */
  const calls = new Map()
  /** @type {Done} */
  const done = { status: 'error', session_id: session, run_id: run }
  for await (const { id, data } of api.events(session)) {
    await hub.event(data.type, id, data)
    if (data.run_id !== run) continue
    if (data.type === 'agent.custom_tool_use') calls.set(id, data.content)
    if (data.type === 'session.status_idle') {
      for (const required of data.content.stop_reason.event_ids) {
        const call = calls.get(required)
        if (call === undefined) continue
        const { content, error = FAILED } = await hub.tool(call)
        const result = content === undefined ? { error } : { content }
        const reply = { type: 'user.custom_tool_result', in_reply_to_event_id: required, ...result }
        await api.post(`/v1/sessions/${session}/runs/${run}/resume`, { events: [reply] }, `resume-${required}`)
      }
    }
    if (data.type === 'message.completed') done.text = data.content.map((/** @type {any} */ part) => part.text).join('')
    if (['run.completed', 'run.failed', 'run.cancelled'].includes(data.type)) {
      done.status = data.type.replace('run.', '')
      break
    }
  }
  if (done.status === 'completed' && done.text !== undefined) await hub.text(done.text)
  return done
}

const FAILED = { code: 'TOOL_FAILED', message: 'The tool has failed.', retryable: false }

/** A client that believes that nothing ever goes wrong: it never reconnects, never repeats, never looks twice. */
class Naive {
  /** @param {string} baseUrl @param {string} apiKey */
  constructor(baseUrl, apiKey) {
    this.baseUrl = baseUrl
    this.headers = { authorization: `Bearer ${apiKey}` }
  }

  /** @param {string} path @param {object} body @param {string} [key] @returns {Promise<any>} */
  async post(path, body, key) {
    const headers = { ...this.headers, 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
    const response = await fetch(this.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`)
    return response.json()
  }

  /** @param {string} session @returns {AsyncGenerator<{ id: string, data: any }>} */
  async *events(session) {
    const response = await fetch(`${this.baseUrl}/v1/sessions/${session}/events/stream`, { headers: this.headers })
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      const frames = text.split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const fields = new Map(
          frame.split('\n').map((line) => /** @type {[string, string]} */ (line.split(/: (.*)/s, 2))),
        )
        const [id, data] = [fields.get('id'), fields.get('data')]
        if (id !== undefined && data !== undefined) yield { id, data: JSON.parse(data) }
      }
    }
  }
}

// ---- From here on it is the protocol of the harness, the same for every client. ----

/** What a client can ask and tell the harness while it carries out a task. */
class Hub {
  /** @param {string} url */
  constructor(url) {
    this.url = url
  }

  /**
   * A request to the harness; nothing where the answer is empty.
   * @param {string} path @param {object} [body] @returns {Promise<any>}
   */
  async call(path, body) {
    const asked = body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }
    const response = await fetch(`${this.url}/${path}`, asked)
    const text = await response.text()
    if (!response.ok) throw new Error(`the harness answered ${response.status} to ${path}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** Executes a tool, once: `content`, `error: {code, message, retryable}` or `throw: why`. @param {Call} call */
  tool({ name, input, tool_call_id, execution_idempotency_key }) {
    return this.call('tool', { name, input, tool_call_id, execution_idempotency_key })
  }

  /** @param {string} type @param {string} sse_id @param {object} data */
  event(type, sse_id, data) {
    return this.call('report', { items: [{ kind: 'event', type, sse_id, data }] })
  }

  /** @param {string} text */
  text(text) {
    return this.call('report', { items: [{ kind: 'text', text }] })
  }
}

async function main() {
  const harness = new Hub(process.env.PANTHEON_HARNESS_URL ?? '')
  const hello = { name: 'my-client', version: '0.1.0', language: 'typescript', protocol: 1 }
  await harness.call('hello', { ...hello, capabilities: CAPABILITIES })
  for (;;) {
    /** @type {Task | undefined} */
    const task = await harness.call('task?wait_ms=10000')
    if (task === undefined) continue // There is none yet.
    const hub = new Hub(task.harness_url ?? harness.url)
    /** @type {Done} */
    let done = { status: task.do === 'exit' ? 'completed' : 'error' }
    try {
      // continue, observe, register and cancel come to clients that declare the capability.
      if (task.do === 'converse') done = await converse(task, hub)
    } catch (error) {
      done = { status: 'error', error: { code: 'client_error', message: String(error) } }
    }
    await hub.call('done', { task_id: task.task_id, ...done })
    if (task.do === 'exit') return
  }
}

/**
 * @typedef {{ task_id: string, do: string, base_url: string, api_key: string, harness_url?: string, agent_slug?: string,
 *   session_id?: string, message?: string }} Task
 * @typedef {{ status: string, session_id?: string, run_id?: string, text?: string, error?: object }} Done
 * @typedef {{ name: string, input: any, tool_call_id: string, execution_idempotency_key: string }} Call
 */

await main()
