/** C-TOOL-2: killed at every boundary and started again with the same folder, the effect happens once and the run ends. */

import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'

import { startMock, type Mock } from './mock.js'
import { ECHO, trial, type Trial } from './trial.js'

let mock: Mock
before(async () => (mock = await startMock()))
after(() => mock.stop())
const running = () => ({ mock })

const KNOWN = 'It returned: hello'
const UNKNOWN = 'It returned: OUTCOME_UNKNOWN'

/** Kills the client, starts it again, and tells it to go on; where there is no run yet, to do the same. */
async function restart(t: Trial, taskId: string): Promise<any> {
  await t.kill()
  t.spawn()
  const [run] = (await t.workspace.request('GET', '/__mock/state')).runs
  return run === undefined
    ? t.converse({}, taskId)
    : t.perform({ do: 'continue', session_id: run.session_id, run_id: run.run_id }, taskId)
}

/** `killAt` returns once it is time to kill. */
async function survives(t: Trial, killAt: Promise<unknown>, texts: string[], executions = 1): Promise<void> {
  const taskId = t.nextTask()
  void t.converse({}, taskId)
  await killAt
  const done = await restart(t, taskId)
  assert.equal(done.status, 'completed', JSON.stringify(done))
  assert.ok(texts.includes(done.text), done.text)
  assert.equal(t.hub.toolCalls.length, executions)
  const runs = new Set((await t.workspace.requests('runs.create')).map(({ headers }) => headers!['idempotency-key']))
  assert.equal(runs.size, 1, 'C-RUN-1')

  // C-TOOL-5: whatever was sent for the call came again as it was.
  const resumes = await t.workspace.requests('runs.resume')
  assert.equal(new Set(resumes.map(({ headers, body }) => JSON.stringify([headers!['idempotency-key'], body]))).size, 1)
  // C-SSE-2 and C-UI-1, over both lives.
  const ids = t.hub.of('event').map(({ sse_id }) => sse_id)
  assert.equal(new Set(ids).size, ids.length)
  const ends = t.hub.of('item').filter(({ status }) => status === 'completed' || status === 'failed')
  assert.ok(ends.length <= 1)
}

/** Waits for a request to the hub, which is never answered. */
function atHub(t: Trial, path: string, nth = 1): Promise<void> {
  return new Promise((resolve) => {
    t.hub.onRequest = (asked) => {
      if (asked !== path || --nth !== 0) return
      resolve()
      return new Promise(() => {})
    }
  })
}

describe('restart', { concurrency: 4 }, () => {
  for (const nth of [1, 2]) {
    trial(`killed at report ${nth}`, running, ECHO, (t) => survives(t, atHub(t, 'report', nth), [KNOWN, UNKNOWN]))
  }

  trial('killed before the tool has begun', running, ECHO, (t) => survives(t, atHub(t, 'tool'), [UNKNOWN], 0))

  trial('killed once the tool has had its effect', running, ECHO, async (t) => {
    await survives(
      t,
      new Promise<void>((resolve) => {
        t.hub.onTooled = () => {
          resolve()
          return new Promise(() => {})
        }
      }),
      [UNKNOWN],
    )
  })

  trial('killed before it has said that it is done', running, ECHO, (t) => survives(t, atHub(t, 'done'), [KNOWN]))

  for (const route of ['sessions.create', 'runs.create', 'runs.get', 'runs.resume']) {
    for (const phase of ['before', 'after_commit']) {
      const held = { ...ECHO, faults: [{ at: { request: route, phase }, do: { delay: '1h' } }] }
      trial(`killed ${phase} ${route}`, running, held, (t) => survives(t, t.workspace.faultFired(), [KNOWN]))
    }
  }

  trial(
    'killed again and again',
    running,
    { ...ECHO, faults: [{ at: { request: 'runs.resume', phase: 'after_commit' }, times: 3, do: { close: 'rst' } }] },
    async (t) => {
      const taskId = t.nextTask()
      void t.converse({}, taskId)
      await t.workspace.faultFired()
      void restart(t, taskId)
      await t.hub.until(() => t.hub.hellos.length > 1)
      assert.equal((await restart(t, taskId)).status, 'completed')
      assert.equal(t.hub.toolCalls.length, 1)
    },
  )
})
