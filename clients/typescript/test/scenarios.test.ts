/** Every scenario file, played with one client process that serves them all, and judged by what the file expects. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import type { ToolCall } from './hub.js'
import { scenarioFile, scenarioFiles, startMock, type Mock } from './mock.js'
import { ECHO, Trial } from './trial.js'

/** What can't be judged here, and why. */
const LEFT_OUT: Record<string, string> = {
  'long-silence': 'its clock stands still, and so do its keep-alives',
  'slow-agent': 'its clock stands still, and so do its keep-alives',
  'slow-answer': 'its answers come later than this client waits',
}

/** How the tools of the files answer; the others echo. */
const TOOLS: Record<string, (input: any) => unknown> = {
  get_time: () => ({ content: { time: '12:00' } }),
  get_weather: () => ({ content: { degrees: 20 } }),
  count_bytes: (input) => ({ content: { bytes: bytesIn(input) } }),
}

/** The files in which a session has a second message. */
const TWO_MESSAGES = ['failing-run', 'same-call-id', 'stream-outlives-run']

/** All of them with `PANTHEON_TEST_FULL`: none, then each alone. */
const VARIANTS = [
  '',
  ...(process.env['PANTHEON_TEST_FULL'] === undefined
    ? []
    : [
        'sticky-keys',
        'dashed-run-ids',
        'unknown-cursor-replays-all',
        'stream-outlives-run',
        'separate-execution-keys',
        'expired-410',
        'in-progress-409',
        'strict-bodies',
      ]),
]

/** The files that expect what a variant denies. */
const CONTRADICTED = ['custom-events stream-outlives-run', 'expired-while-answering expired-410']

let mock: Mock
let desk: Trial
before(async () => {
  mock = await startMock()
  desk = await Trial.start(mock, ECHO, { PANTHEON_IDLE_MS: '1000', PANTHEON_REQUEST_TIMEOUT_MS: '1500' })
})
after(async () => {
  await desk.stop()
  await mock.stop()
})

describe('scenarios', { concurrency: 16 }, () => {
  const cases = VARIANTS.flatMap((variant) => scenarioFiles().map((file) => [file, variant] as const))
  for (const [file, variant] of cases) {
    const name = `${file} ${variant}`.trim()
    if (CONTRADICTED.includes(name)) continue
    test(name, { timeout: 60_000, skip: LEFT_OUT[file] ?? false }, async () => {
      const hasVariants = /^variants:/m.test(scenarioFile(file))
      const text = scenarioFile(file) + (variant === '' || hasVariants ? '' : `\nvariants: [${variant}]\n`)
      const agent_slug = /slug: ([\w-]+)/.exec(text)![1]
      const t = await Trial.beside(desk, mock, text)
      t.hub.onTool = ({ name, input }: ToolCall) => TOOLS[name]?.(input) ?? { content: { echoed: input.message } }
      if (file === 'declined-call')
        t.hub.onTool = () => ({ error: { code: 'USER_CANCELLED', message: 'No.', retryable: false } })
      try {
        const opening = { agent_slug, message: 'How is Lisbon? Please call it.' }
        const done = await t.converse(opening, `${name} 1`)
        const { session_id } = done
        if (TWO_MESSAGES.includes(file)) await t.converse({ ...opening, session_id, message: 'And now?' }, `${name} 2`)
        if (file === 'session-busy') {
          assert.equal(done.error.code, 'SESSION_BUSY')
          await t.perform({ do: 'cancel', session_id, run_id: done.error.active_run_id }, `${name} cancel`)
          await t.converse({ ...opening, session_id }, `${name} 2`)
        }
        await t.workspace.assertExpected()
        const executed = t.hub.toolCalls.map(({ execution_idempotency_key }) => execution_idempotency_key)
        assert.equal(new Set(executed).size, executed.length, 'C-TOOL-1')
        const ids = t.hub.of('event').map(({ sse_id }) => sse_id)
        assert.equal(new Set(ids).size, ids.length, 'C-SSE-2')
      } finally {
        await t.stop()
      }
    })
  }
})

function bytesIn(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  return typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, part) => sum + bytesIn(part), 0)
    : 0
}
