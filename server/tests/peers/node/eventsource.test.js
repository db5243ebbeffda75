// `eventsource`, the browser's EventSource for Node.js: it reconnects by itself, and sees every event exactly once.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EventSource } from 'eventsource'

import { FINISHED_RUN, startMock, Workspace } from './mock.js'

let mock
before(async () => (mock = await startMock()))
after(() => mock.stop())

/** A reader of a session that keeps what it sees, and says when it has seen enough. */
class Reader {
  seen = []
  connections = []
  #source
  #waiting = []

  /** `alter(chunks, nth)` may change what the nth connection brings. */
  constructor(workspace, sessionId, alter = (chunks) => chunks) {
    this.#source = new EventSource(workspace.streamUrl(sessionId), {
      fetch: async (url, init) => {
        this.connections.push(init.headers['Last-Event-ID'])
        const response = await workspace.fetch(url, init)
        assert.equal(response.status, 200)
        const body = ReadableStream.from(atOnce(alter(response.body, this.connections.length)))
        return { url: response.url, status: response.status, redirected: false, headers: response.headers, body }
      },
    })
    for (const type of new Set(FINISHED_RUN)) {
      this.#source.addEventListener(type, (event) => this.#see(event))
    }
    this.#source.onmessage = (event) => assert.fail(`an event without a type: ${event.data}`)
  }

  /** Waits until `count` events have come. */
  async until(count) {
    while (this.seen.length < count) await new Promise((resolve) => this.#waiting.push(resolve))
  }

  async untilOpen() {
    if (this.#source.readyState === EventSource.OPEN) return
    await new Promise((resolve) => this.#source.addEventListener('open', resolve, { once: true }))
  }

  close() {
    this.#source.close()
  }

  #see(event) {
    const data = JSON.parse(event.data)
    assert.deepEqual([event.type, event.lastEventId], [data.type, data.id])
    this.seen.push(data)
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** Tells the reader to reconnect without its usual three seconds of patience, and changes nothing else. */
async function* atOnce(chunks) {
  yield new TextEncoder().encode('retry: 1\n\n')
  yield* chunks
}

/** Ends the connection inside its second event: after one that is whole, and a part of another. */
async function* cutInSecondEvent(chunks) {
  let text = ''
  let sent = 0
  for await (const chunk of chunks) {
    text += Buffer.from(chunk).toString('latin1')
    const secondEvent = text.indexOf('\n\n') + 2
    if (secondEvent < 2) continue
    const cut = text.indexOf('"created_at"', secondEvent)
    const end = cut < 0 ? secondEvent : cut
    yield Buffer.from(text.slice(sent, end), 'latin1')
    sent = end
    if (cut >= 0) return
  }
}

/** Follows a run to its end, answering what it asks, from the `from`th event on. */
async function follow(workspace, reader, from = 0) {
  for (let at = from; reader.seen[at - 1]?.type !== 'run.completed' || at === from; at++) {
    await reader.until(at + 1)
    await workspace.answerAtIdle(reader.seen[at])
  }
}

test('SSE-11: it reconnects after the server has ended the stream, and reads the next run there', { timeout: 30_000 }, async () => {
  const workspace = await Workspace.withEcho(mock.url)
  const sessionId = await workspace.openSession()
  const reader = new Reader(workspace, sessionId)
  try {
    for (const run of [0, 1, 2]) {
      await workspace.startRun(sessionId, 'Call echo_tool with hello')
      await follow(workspace, reader, run * FINISHED_RUN.length)
    }
    const log = await workspace.log(sessionId)
    assert.deepEqual(log.map((event) => event.type), [...FINISHED_RUN, ...FINISHED_RUN, ...FINISHED_RUN])
    assert.deepEqual(reader.seen, log)
    const ends = log.filter((event) => event.type === 'run.completed').map((event) => event.id)
    assert.deepEqual(reader.connections.slice(0, 3), [undefined, ...ends.slice(0, 2)])
  } finally {
    reader.close()
  }
})

test('SSE-5: every connection breaks inside its second event, and each event is seen exactly once', { timeout: 30_000 }, async () => {
  const workspace = await Workspace.withEcho(mock.url)
  const sessionId = await workspace.openSession()
  await workspace.startRun(sessionId, 'Call echo_tool with hello')
  const writer = new Reader(workspace, sessionId)
  await follow(workspace, writer)
  writer.close()

  const log = await workspace.log(sessionId)
  const reader = new Reader(workspace, sessionId, cutInSecondEvent)
  try {
    await reader.until(log.length)
    assert.deepEqual(reader.seen, log)
    assert.deepEqual(reader.connections.slice(0, log.length - 1), [undefined, ...log.slice(0, -2).map(({ id }) => id)])
  } finally {
    reader.close()
  }
})

test('SSE-5: connections break while the run goes on', { timeout: 30_000 }, async () => {
  const workspace = await Workspace.withEcho(mock.url)
  const sessionId = await workspace.openSession()
  const reader = new Reader(workspace, sessionId, cutInSecondEvent)
  try {
    await reader.untilOpen()
    await workspace.startRun(sessionId, 'Call echo_tool with hello')
    await follow(workspace, reader)
    assert.deepEqual(reader.seen, await workspace.log(sessionId))
    assert.ok(reader.connections.length > 3, `${reader.connections.length} connections`)
  } finally {
    reader.close()
  }
})
