/** What `pantheon-conformance init` writes works at once: a conversation with a tool goes well. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { startMock, type Mock } from './mock.js'
import { ECHO, Trial } from './trial.js'

let mock: Mock
before(async () => (mock = await startMock()))
after(() => mock.stop())

function at(path: string): string {
  return fileURLToPath(new URL(`../../../../${path}`, import.meta.url))
}

const TEMPLATES = {
  python: [process.env['PANTHEON_PYTHON'] ?? 'python3', at('clients/templates/python/adapter.py')],
  typescript: [process.execPath, at('clients/templates/typescript/adapter.mjs')],
  rust: [process.env['PANTHEON_RUST_TEMPLATE'] ?? at('target/templates/debug/adapter')],
}

for (const [language, program] of Object.entries(TEMPLATES)) {
  test(`the template for ${language}`, { timeout: 60_000 }, async () => {
    const t = await Trial.start(mock, ECHO, {}, program)
    try {
      const done = await t.converse()
      assert.deepEqual([done.status, done.text], ['completed', 'It returned: hello'], t.output)
      assert.equal(t.hub.hellos[0].protocol, 1)
      assert.deepEqual(
        t.hub.toolCalls.map(({ input }) => input),
        [{ message: 'hello' }],
      )
      assert.deepEqual(
        t.hub.of('text').map(({ text }) => text),
        ['It returned: hello'],
      )
      const { data } = await t.workspace.request('GET', `/v1/sessions/${done.session_id}/events?limit=100`)
      assert.deepEqual(
        t.hub.of('event').map((item) => item.data),
        data,
      )

      t.hub.onTool = () => ({ throw: 'out of paper' })
      const thrown = await t.converse({ session_id: done.session_id, message: 'Once more, call it.' })
      assert.deepEqual([thrown.status, thrown.text], ['completed', 'It returned: TOOL_FAILED'], t.output)

      assert.equal((await t.perform({ do: 'exit' })).status, 'completed')
      await t.end()
    } finally {
      await t.stop()
    }
  })
}
