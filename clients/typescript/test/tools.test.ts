/** What happens around a tool: exactly once, approval, correction, other hands, death and restart. */

import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'

import { startMock, type Mock } from './mock.js'
import { ECHO, trial, Trial } from './trial.js'

let mock: Mock
let desk: Trial
before(async () => {
  mock = await startMock()
  desk = await Trial.start(mock, ECHO)
})
after(async () => {
  await desk.stop()
  await mock.stop()
})
const running = () => ({ mock, desk })

const APPROVED = { approval: ['echo_tool'] }

function echoWith(...faults: object[]): object {
  return { ...ECHO, faults }
}

function calling(input: unknown): object {
  return { ...ECHO, agent: [{ do: [{ call: { tool: 'echo_tool', input } }, { say: 'Done.' }] }] }
}

/** What the server was sent for the one call, in the order of the requests. */
async function answers(t: Trial): Promise<any[]> {
  return (await t.workspace.requests('runs.resume')).map(({ body }) => body?.['events']?.[0])
}

async function refusedOnce(t: Trial): Promise<any> {
  const done = await t.converse()
  assert.equal(done.status, 'completed', JSON.stringify(done))
  const sent = await answers(t)
  assert.equal(sent.length, 1)
  return sent[0].error
}

/** The one run there is. */
async function runOf(t: Trial): Promise<{ run_id: string; session_id: string }> {
  return (await t.workspace.request('GET', '/__mock/state')).runs[0]
}

/** The tool works until it is released. */
function holdTool(t: Trial): { release: () => void } {
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  t.hub.onTool = async ({ input }) => {
    await held
    return { content: { echoed: input.message } }
  }
  return { release }
}

describe('tools', { concurrency: 16 }, () => {
  for (const [name, answer, code] of [
    ['throws', { throw: 'out of paper' }, 'TOOL_FAILED'],
    ['declines with a bad code', { error: { code: 'not-now!', message: 'no', retryable: true } }, 'NOT_NOW_'],
    ['returns a list', { content: [1] }, 'RESULT_NOT_AN_OBJECT'],
    ['returns null', { content: null }, 'RESULT_NOT_AN_OBJECT'],
    ['returns what is no JSON', '{"content": NaN}', 'RESULT_NOT_AN_OBJECT'],
    ['returns half a surrogate', '{"content": {"echoed": "\\ud800"}}', 'RESULT_REFUSED'],
  ] as const) {
    trial(`C-TOOL-10, C-TOOL-18: a tool that ${name}`, running, ECHO, async (t) => {
      t.hub.onTool = () => answer
      const done = await t.converse()
      assert.equal(done.status, 'completed', JSON.stringify(done))
      const sent = await answers(t)
      assert.equal(sent.at(-1).error?.code, code, JSON.stringify(sent))
      assert.equal(t.hub.toolCalls.length, 1)
    })
  }

  trial('C-TOOL-19: an input that does not fit is not executed', running, calling({ message: 7 }), async (t) => {
    assert.equal((await refusedOnce(t)).code, 'INVALID_INPUT')
    assert.equal(t.hub.toolCalls.length, 0)
  })

  const deep = { message: 'm', a: { '': [null, { __proto__: 1.5 }], 'ключ/~': '\u0000' } }
  trial('C-DATA-1: input and result keep keys and nesting', running, calling(deep), async (t) => {
    await t.converse()
    assert.deepEqual(t.hub.toolCalls[0]!.input, deep)
  })

  trial(
    'C-DATA-1: whole numbers beyond 2^53 keep every digit',
    running,
    {
      workspace: {
        tools: [
          {
            name: 'echo_tool',
            input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
            output_schema: { type: 'object' },
          },
        ],
        agents: [{ slug: 'demo', tools: ['echo_tool'] }],
      },
      agent: [{ do: [{ call: { tool: 'echo_tool', input: { n: 1 } } }, { say: '{{ results.echo_tool.n }}' }] }],
    },
    async (t) => {
      t.hub.onTool = () => '{"content": {"n": 9007199254740993}}'
      assert.equal((await t.converse()).text, '9007199254740993')
    },
  )

  trial('C-APP-1: a tool runs after a yes to this very call', running, ECHO, async (t) => {
    t.hub.onApprove = () => {
      assert.equal(t.hub.toolCalls.length, 0)
      return { approved: true }
    }
    assert.equal((await t.converse(APPROVED)).status, 'completed')
    assert.deepEqual([t.hub.approvals.length, t.hub.toolCalls.length], [1, 1])
  })

  trial('C-APP-1: no yes, no execution', running, ECHO, async (t) => {
    t.hub.onApprove = () => ({ approved: false })
    assert.equal((await t.converse(APPROVED)).status, 'completed')
    assert.equal((await answers(t))[0].error.code, 'USER_CANCELLED')
    assert.equal(t.hub.toolCalls.length, 0)
  })

  trial('C-APP-2: a cancel withdraws the question', running, ECHO, async (t) => {
    let withdrawn = false
    t.hub.onApprove = (_, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve((withdrawn = true))))
    const conversation = t.converse(APPROVED)
    await t.hub.until(() => t.hub.approvals.length > 0)
    const run = await runOf(t)
    const cancelled = await t.perform({ do: 'cancel', session_id: run.session_id, run_id: run.run_id })
    assert.equal(cancelled.status, 'cancelled')
    const done = await conversation
    assert.deepEqual([done.status, done.text], ['cancelled', undefined])
    await t.hub.until(() => withdrawn)
    assert.deepEqual([t.hub.toolCalls.length, (await answers(t)).length], [0, 0])
    assert.deepEqual(
      t.hub.of('item').map(({ status }) => status),
      ['running', 'waiting', 'failed'],
    )
  })

  trial('C-TOOL-14: a run that is cancelled while its tool works', running, ECHO, async (t) => {
    const { release } = holdTool(t)
    const conversation = t.converse()
    await t.hub.until(() => t.hub.toolCalls.length > 0)
    const run = await runOf(t)
    await t.workspace.request('POST', `/__mock/runs/${run.run_id}/cancel`)
    assert.equal((await conversation).status, 'cancelled')
    release()
    const next = await t.converse({ session_id: run.session_id, message: 'Once more, call it.' })
    assert.equal(next.status, 'completed')
    assert.equal((await answers(t)).length, 1)
  })

  trial('C-TOOL-8: another client has answered while the tool worked', running, ECHO, async (t) => {
    const { release } = holdTool(t)
    const conversation = t.converse()
    await t.hub.until(() => t.hub.toolCalls.length > 0)
    const run = await runOf(t)
    await t.workspace.request('POST', `/__mock/runs/${run.run_id}/resolve`, { content: { echoed: 'elsewhere' } })
    const done = await conversation
    release()
    assert.equal(done.text, 'It returned: elsewhere')
    assert.equal(t.hub.toolCalls.length, 1)
  })

  trial(
    'C-TOOL-8: resolved elsewhere just as the result arrives',
    running,
    echoWith({ at: { request: 'runs.resume' }, do: { resolve: { content: { echoed: 'elsewhere' } } } }),
    async (t) => {
      const done = await t.converse()
      assert.deepEqual([done.status, done.text], ['completed', 'It returned: elsewhere'])
      assert.deepEqual([t.hub.toolCalls.length, (await answers(t)).length], [1, 1])
    },
  )

  trial('C-TOOL-7: a wrong result is corrected, not executed again', running, ECHO, async (t) => {
    t.hub.onTool = () => ({ content: { echo: 'wrong' } })
    t.hub.onCorrect = ({ details }) => ({ content: { echoed: details[0].path } })
    const done = await t.converse()
    assert.equal(done.text, 'It returned: /events/0/content/echo')
    assert.deepEqual([t.hub.toolCalls.length, t.hub.corrections.length], [1, 1])
    const keys = (await t.workspace.requests('runs.resume')).map(({ headers }) => headers!['idempotency-key'])
    assert.equal(new Set(keys).size, 2)
  })

  trial('C-TOOL-7: a result that is never right becomes an error after a few attempts', running, ECHO, async (t) => {
    t.hub.onTool = () => ({ content: {} })
    t.hub.onCorrect = () => ({ content: { wrong: t.hub.corrections.length } })
    assert.equal((await t.converse()).status, 'completed')
    const sent = await answers(t)
    assert.equal(sent.length, 4)
    assert.equal(sent[3].error.code, 'RESULT_INVALID')
  })

  for (const code of ['idempotency_in_progress', 'idempotency_conflict']) {
    trial(
      `C-TOOL-6, C-TOOL-16: ${code}`,
      running,
      echoWith({ at: { request: 'runs.resume' }, do: { respond: { status: 409, code } } }),
      async (t) => {
        assert.equal((await t.converse()).status, 'completed')
        const [first, second] = await t.workspace.requests('runs.resume')
        assert.deepEqual(first!.body, second!.body)
        assert.equal(
          first!.headers!['idempotency-key'] === second!.headers!['idempotency-key'],
          code === 'idempotency_in_progress',
        )
        assert.equal(t.hub.toolCalls.length, 1)
      },
    )
  }

  trial(
    'C-TOOL-17: a 2xx that says nothing is a lost answer',
    running,
    echoWith(
      { at: { request: 'runs.resume', phase: 'after_commit' }, do: { respond: { status: 200, body: '<p>ok</p>' } } },
      { at: { request: 'runs.create', phase: 'after_commit' }, do: { respond: { status: 202, body: '{}' } } },
    ),
    async (t) => {
      assert.equal((await t.converse()).status, 'completed')
      for (const route of ['runs.create', 'runs.resume']) {
        const keys = (await t.workspace.requests(route)).map(({ headers }) => headers!['idempotency-key'])
        assert.deepEqual([keys.length, new Set(keys).size], [2, 1])
      }
    },
  )

  trial(
    'C-ERR-1: the code decides, whatever the status',
    running,
    echoWith({
      at: { request: 'runs.resume' },
      do: { respond: { status: 500, code: 'event_expired', message: 'try again' } },
    }),
    async (t) => {
      assert.equal((await t.converse()).status, 'expired')
      assert.equal((await answers(t)).length, 1)
    },
  )

  const longAgo = { clock: { mode: 'real', now: '2026-01-01T00:00:00Z' } }
  trial(
    'C-HTTP-1: Retry-After in seconds, as a date by the clock of the server, and as nonsense',
    running,
    {
      ...echoWith(
        { at: { request: 'runs.resume', nth: 1 }, do: { respond: { status: 429, retry_after: 1 } } },
        { at: { request: 'runs.resume', nth: 2 }, do: { respond: { status: 503, retry_after: { date: '2s' } } } },
        { at: { request: 'runs.resume', nth: 3 }, do: { respond: { status: 503, headers: { 'retry-after': '-1' } } } },
      ),
      ...longAgo,
    },
    async (t) => {
      assert.equal((await t.converse()).status, 'completed')
      const at = (await t.workspace.requests('runs.resume')).map((entry) => entry.elapsed_ms)
      assert.equal(at.length, 4)
      assert.ok(at[1]! - at[0]! >= 1_000 && at[2]! - at[1]! >= 1_000 && at[3]! - at[2]! < 5_000, `${at}`)
    },
  )

  trial(
    'C-SEC-1: the key does not go to another origin',
    running,
    echoWith({ at: { request: 'runs.resume' }, do: { redirect: { to: '{{ other_origin }}/v1/x', status: 307 } } }),
    async (t) => {
      assert.equal((await t.converse()).status, 'completed')
      const astray = (await t.workspace.journal()).filter((entry) => String(entry['path']).startsWith('/v1/x'))
      assert.deepEqual(astray, [])
    },
  )

  trial('C-RUN-3: a busy session is reported, and free again after a cancel', running, ECHO, async (t) => {
    const { release } = holdTool(t)
    const first = t.converse()
    await t.hub.until(() => t.hub.toolCalls.length > 0)
    const run = await runOf(t)
    const busy = await t.converse({ session_id: run.session_id })
    assert.deepEqual([busy.status, busy.error.code], ['error', 'SESSION_BUSY'])
    assert.equal(t.hub.of('error')[0]!.active_run_id, run.run_id)
    release()
    assert.equal((await first).status, 'completed')
  })

  trial('C-TOOL-14: an observer acts on nothing', running, ECHO, async (t) => {
    const session = await t.workspace.request('POST', '/v1/sessions', { agent_slug: 'demo' })
    const observed = t.perform({ do: 'observe', session_id: session.id, until: 'session.status_idle' })
    await t.workspace.request('POST', `/v1/sessions/${session.id}/runs`, {
      events: [{ type: 'user.message', content: [{ type: 'text', text: 'call' }] }],
    })
    assert.equal((await observed).status, 'completed')
    assert.deepEqual([t.hub.toolCalls.length, (await answers(t)).length], [0, 0])
    assert.equal(t.hub.of('event').at(-1)!.type, 'session.status_idle')
  })

  const tool = {
    name: 'new_tool',
    description: 'New.',
    input_schema: { type: 'object' },
    output_schema: { type: 'object' },
  }
  trial('C-REG-1, C-REG-3, C-REG-4: a tool is created, reused and given a version', running, ECHO, async (t) => {
    const created = await t.perform({ do: 'register', tool, agent_slug: 'demo' })
    assert.deepEqual([created.status, created.version], ['completed', 1])
    const reused = await t.perform({ do: 'register', tool, agent_slug: 'demo' })
    assert.deepEqual([reused.definition_id, reused.deployment_id], [created.definition_id, created.deployment_id])
    const changed = await t.perform({
      do: 'register',
      tool: { ...tool, display_name: 'N', description: 'Newer.', confirmation: 'always' },
      agent_slug: 'demo',
    })
    assert.deepEqual([changed.tool_id, changed.version], [created.tool_id, 2])
    const deployment = await t.workspace.request('GET', `/v1/deployments/${changed.deployment_id}`)
    assert.equal(deployment.tool_definition_ids.length, 2)
    assert.ok(deployment.tool_definition_ids.includes(changed.definition_id))
    const [version] = await t.workspace.requests('tools.versions.create')
    assert.deepEqual(
      [version!.status, version!.body!['confirmation'], 'display_name' in version!.body!],
      [201, 'never', false],
    )
  })

  trial(
    'C-REG-2: a name that is taken after all',
    running,
    {
      ...ECHO,
      faults: [
        {
          at: { request: 'tools.list' },
          do: { respond: { status: 200, body: { data: [], has_more: false, next_cursor: null } } },
        },
      ],
    },
    async (t) => {
      const done = await t.perform({ do: 'register', tool: { ...tool, name: 'echo_tool' }, agent_slug: 'demo' })
      assert.deepEqual([done.status, done.version], ['completed', 2])
    },
  )

  trial(
    'plain mode: messages from standard input',
    running,
    ECHO,
    async (t) => {
      await t.kill()
      t.spawn({}, '--plain')
      t.input.end('First, call it.\nOnce more.\n')
      await t.end()
      assert.equal(t.output, 'It returned: hello\nIt returned: hello\n')
      assert.equal((await t.workspace.requests('sessions.create')).length, 1)
    },
    {},
  )
})
