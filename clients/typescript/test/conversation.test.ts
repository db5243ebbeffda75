/** Whole conversations: with tools, with faults of every kind, each judged by the mock's journal and the hub. */

import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'

import { scenarioFile, startMock, type Mock } from './mock.js'
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

/** A conversation that goes well in spite of what the scenario does: one execution, one run, the whole text. */
async function goesWell(t: Trial, text = 'It returned: hello'): Promise<void> {
  const done = await t.converse()
  assert.equal(done.status, 'completed', JSON.stringify(done))
  assert.equal(done.text, text)
  assert.equal(t.hub.toolCalls.length, 1)
  assert.deepEqual(
    new Set((await t.workspace.requests('runs.create')).map(({ headers }) => headers!['idempotency-key'])).size,
    1,
  )
  await assertReportsAreTheLog(t, done.session_id)
}

/** C-SSE-2: each durable event is reported once, in order, as the server lists it. */
async function assertReportsAreTheLog(t: Trial, sessionId: string): Promise<void> {
  const { data } = await t.workspace.request('GET', `/v1/sessions/${sessionId}/events?limit=100`)
  assert.deepEqual(
    t.hub.of('event').map((item) => item.data),
    data,
  )
}

function echoWith(...faults: object[]): object {
  return { ...ECHO, faults }
}

describe('conversations', { concurrency: 16 }, () => {
  trial(
    'hello says what it can',
    running,
    ECHO,
    async (t) => {
      await t.hub.until(() => t.hub.hellos.length > 0)
      assert.equal(t.hub.hellos[0].protocol, 1)
      assert.ok(t.hub.hellos[0].capabilities.includes('durable'))
    },
    {},
  )

  trial('C-UI-1: a call goes from running over waiting to completed', running, ECHO, async (t) => {
    await goesWell(t)
    assert.deepEqual(
      t.hub.of('item').map((item) => item.status),
      ['running', 'waiting', 'completed'],
    )
    assert.deepEqual(
      t.hub.of('text').map((item) => item.text),
      ['It returned: hello'],
    )
    assert.equal((await t.workspace.requests('runs.resume')).length, 1)
  })

  trial(
    'C-TOOL-12: two calls in one pause, and the same one again',
    running,
    scenarioFile('two-calls-in-one-pause'),
    async (t) => {
      t.hub.onTool = ({ name }) => ({ content: name === 'get_time' ? { time: '12:00' } : { degrees: 20 } })
      const done = await t.converse({ message: 'How is Lisbon?' })
      assert.equal(done.text, 'And now 20.')
      assert.equal(t.hub.toolCalls.length, 3)
      await t.workspace.assertExpected()
    },
  )

  trial(
    'C-TOOL-5: a lost answer is asked for again with the same key and body',
    running,
    scenarioFile('lost-answer'),
    async (t) => {
      await goesWell(t)
      const [first, second, ...more] = await t.workspace.requests('runs.resume')
      assert.equal(more.length, 0)
      assert.equal(second!.replayed, true)
      assert.equal(first!.headers!['idempotency-key'], second!.headers!['idempotency-key'])
      assert.deepEqual(first!.body, second!.body)
    },
  )

  trial(
    'C-TOOL-9: an expired run is not resumed again',
    running,
    scenarioFile('expired-while-answering'),
    async (t) => {
      const done = await t.converse()
      assert.equal(done.status, 'expired')
      assert.equal((await t.workspace.requests('runs.resume')).length, 1)
    },
  )

  trial('C-RUN-1: a failed run is reported, and not started again', running, scenarioFile('failing-run'), async (t) => {
    const done = await t.converse({})
    assert.deepEqual([done.status, done.error.code, done.text], ['failed', 'model_unavailable', undefined])
    const again = await t.converse({ session_id: done.session_id, message: 'And now?' })
    assert.deepEqual([again.status, again.text], ['completed', 'Run 2 went well.'])
    await assertReportsAreTheLog(t, done.session_id)
    await t.workspace.assertExpected()
  })

  trial(
    'C-SSE-18: a silent stream is left and opened again',
    running,
    scenarioFile('silent-stall'),
    (t) => goesWell(t),
    { PANTHEON_IDLE_MS: '300' },
  )

  const cuts = ['id', 'data', 'byte 1', 'byte 30'].map((inside) => [
    `cut inside ${inside}`,
    { close: { how: 'abort', inside } },
  ])
  const framings = ['crlf', 'cr', 'mixed'].flatMap((newline) => [
    [`${newline} line ends`, { reframe: { newline } }],
    [`${newline} line ends, byte by byte`, { reframe: { newline, split: 1, bom: true } }],
  ])
  for (const [name, verb] of cuts as [string, object][]) {
    trial(`C-SSE-6: ${name}`, running, echoWith({ at: { event: 'agent.custom_tool_use' }, do: verb }), (t) =>
      goesWell(t),
    )
  }
  for (const [name, verb] of framings as [string, object][]) {
    trial(`C-SSE-3: ${name}`, running, echoWith({ at: { stream: 'open' }, times: 'always', do: verb }), (t) =>
      goesWell(t),
    )
  }

  const strange = 'a\u2028b\u0085c\u000cd €那🙂'
  const strangeCall = { ...ECHO, agent: [{ do: [{ call: { tool: 'echo_tool', input: { message: strange } } }] }] }
  trial(
    'C-DATA-1: a character that is cut in two',
    running,
    {
      ...strangeCall,
      faults: [{ at: { event: 'agent.custom_tool_use' }, do: { close: { how: 'abort', inside: 'utf8' } } }],
    },
    async (t) => {
      assert.equal((await t.converse()).status, 'completed')
      assert.equal(t.hub.toolCalls[0]!.input.message, strange)
      assert.equal((await t.workspace.requests('runs.resume'))[0]!.body!['events'][0].content.echoed, strange)
    },
  )

  trial(
    'C-SSE-7: an event of a mebibyte in small pieces',
    running,
    {
      ...ECHO,
      agent: [{ do: [{ call: { tool: 'echo_tool', input: { message: 'x'.repeat(1 << 20) } } }] }],
      faults: [{ at: { stream: 'open' }, do: { reframe: { split: 1024 } } }],
    },
    async (t) => {
      t.hub.onTool = ({ input }) => ({ content: { echoed: String(input.message.length) } })
      assert.equal((await t.converse()).status, 'completed')
      assert.equal((await t.workspace.requests('runs.resume'))[0]!.body!['events'][0].content.echoed, '1048576')
    },
  )

  trial(
    'C-SSE-5: an id without data moves the cursor, one with NUL does not',
    running,
    echoWith(
      {
        at: { event: 'run.started' },
        do: { insert: { raw: 'id: ev\\0il\\nevent: x\\ndata: {}\\n\\nid: {{ next_event_id }}\\n\\n' } },
      },
      { at: { event: 'run.started' }, do: { close: 'fin' } },
    ),
    async (t) => {
      await goesWell(t)
      const opened = await t.workspace.journal('stream_open')
      assert.equal(opened[0]!.last_event_id, undefined)
      assert.equal(opened[1]!.last_event_id, t.hub.of('event')[1]!.sse_id)
    },
  )

  trial(
    'C-SSE-20: retry is the least delay',
    running,
    echoWith(
      { at: { stream: 'open' }, do: { insert: { raw: 'retry: 700\\n\\n' } } },
      { at: { event: 'run.started' }, do: { close: 'fin' } },
    ),
    async (t) => {
      await goesWell(t)
      const [closed] = await t.workspace.journal('stream_close')
      const opened = await t.workspace.journal('stream_open')
      assert.ok(opened[1]!.elapsed_ms - closed!.elapsed_ms >= 690)
    },
  )

  for (const omit of ['event', 'run_id', 'data']) {
    for (const type of ['agent.custom_tool_use', 'run.completed']) {
      trial(
        `C-TOOL-20: ${type} without its ${omit}`,
        running,
        echoWith({ at: { event: type }, do: { reframe: { omit: [omit] } } }),
        (t) => goesWell(t),
      )
    }
  }

  trial(
    'C-SSE-11: fruitless connections are farther and farther apart',
    running,
    echoWith(
      { at: { stream: 'open', from: 2, until: 7 }, times: 'always', do: { resync: true } },
      { at: { stream: 'open' }, do: { close: 'fin' } },
    ),
    async (t) => {
      await goesWell(t)
      const opened = (await t.workspace.journal('stream_open')).map((entry) => entry.elapsed_ms)
      const gaps = opened.slice(1).map((at, index) => at - opened[index]!)
      assert.ok(gaps.length >= 7, `${gaps}`)
      assert.ok(gaps[3]! > gaps[1]! && gaps[4]! > gaps[2]!, `${gaps}`)
    },
  )

  trial(
    'C-SSE-12: each of 25 drops brings something new',
    running,
    {
      ...ECHO,
      agent: [{ do: [...Array(25)].map((_, at) => ({ say: `Part ${at}` })) }],
      faults: [{ at: { event: 'message.completed' }, times: 25, do: { close: 'fin' } }],
    },
    async (t) => {
      const done = await t.converse()
      assert.deepEqual([done.status, done.text], ['completed', 'Part 24'])
      await assertReportsAreTheLog(t, done.session_id)
    },
  )

  trial(
    'C-SSE-15: a storm of 503 and 429 is waited out',
    running,
    echoWith(
      { at: { stream: 'open', until: 1, from: 1 }, do: { close: 'fin' } },
      { at: { request: 'events.stream', from: 2, until: 4 }, do: { respond: { status: 503 } } },
      { at: { request: 'events.stream', from: 5, until: 5 }, do: { respond: { status: 429, retry_after: 1 } } },
    ),
    (t) => goesWell(t),
  )

  for (const status of [401, 403, 404]) {
    trial(
      `C-SSE-15: ${status} stops it`,
      running,
      echoWith({ at: { request: 'events.stream' }, times: 'always', do: { respond: { status } } }),
      async (t) => {
        assert.equal((await t.converse()).status, 'error')
        assert.equal(t.hub.of('error').length, 1)
        assert.ok(
          (await t.workspace.journal('stream_open')).length + (await t.workspace.requests('events.stream')).length <= 3,
        )
      },
    )
  }

  trial(
    'C-SSE-16: a page that is no stream moves no cursor',
    running,
    echoWith(
      { at: { event: 'run.started' }, do: { close: 'fin' } },
      {
        at: { request: 'events.stream', nth: 2 },
        do: { respond: { status: 200, headers: { 'content-type': 'text/html' }, body: 'id: evil\n\n' } },
      },
    ),
    (t) => goesWell(t),
  )

  trial(
    'C-SSE-17: a refused cursor leads back to the start',
    running,
    echoWith(
      { at: { event: 'session.status_idle' }, do: { close: 'fin' } },
      { at: { request: 'events.stream', nth: 2 }, do: { respond: { status: 400, code: 'invalid_last_event_id' } } },
    ),
    (t) => goesWell(t),
  )

  trial(
    'C-SSE-13: a live side that is not there',
    running,
    echoWith({ at: { stream: 'open' }, times: 'always', do: { live: 'unavailable' } }),
    (t) => goesWell(t),
  )
})
