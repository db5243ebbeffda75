// `eventsource-parser`, which reads event streams for many libraries, sees a session's log exactly.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EventSourceParserStream } from 'eventsource-parser/stream'

import { FINISHED_RUN, startMock, Workspace } from './mock.js'

let mock
before(async () => (mock = await startMock()))
after(() => mock.stop())

/** The events of one connection, to the end that the server makes. */
async function* stream(workspace, sessionId, cursor, query = '') {
  const response = await workspace.fetch(workspace.streamUrl(sessionId) + query, {
    headers: { accept: 'text/event-stream', ...(cursor && { 'last-event-id': cursor }) },
  })
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type'), /^text\/event-stream\b/)
  assert.equal(response.headers.get('x-pantheon-live-events'), 'live')
  const onError = (error) => assert.fail(error)
  yield* response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream({ onError }))
}

/** What a durable event tells, once it is sure that its frame tells the same. */
function dataOf(event) {
  const data = JSON.parse(event.data)
  assert.deepEqual([event.event, event.id], [data.type, data.id])
  return data
}

async function read(workspace, sessionId, cursor) {
  const events = []
  for await (const event of stream(workspace, sessionId, cursor)) events.push(dataOf(event))
  return events
}

/** Starts a run that calls the tool, sees it through on one connection, and returns what came on it. */
async function finishRun(workspace, sessionId, cursor) {
  await workspace.startRun(sessionId, 'Call echo_tool with hello')
  const events = []
  for await (const event of stream(workspace, sessionId, cursor)) {
    events.push(dataOf(event))
    await workspace.answerAtIdle(events.at(-1))
  }
  return events
}

test('SSE-5: the log is read as it is listed, live and replayed', { timeout: 30_000 }, async () => {
  const workspace = await Workspace.withEcho(mock.url)
  const sessionId = await workspace.openSession()
  const live = await finishRun(workspace, sessionId)
  const log = await workspace.log(sessionId)
  assert.deepEqual(log.map((event) => event.type), FINISHED_RUN)
  assert.deepEqual(live, log)
  assert.deepEqual(await read(workspace, sessionId), log)
})

test('SSE-5: every cursor is followed by exactly the rest', { timeout: 30_000 }, async () => {
  const workspace = await Workspace.withEcho(mock.url)
  const sessionId = await workspace.openSession()
  await finishRun(workspace, sessionId)
  await finishRun(workspace, sessionId, (await workspace.log(sessionId)).at(-1).id)
  const log = await workspace.log(sessionId)
  assert.deepEqual(log.map((event) => event.type), [...FINISHED_RUN, ...FINISHED_RUN])

  for (const [at, { id }] of log.slice(0, -1).entries()) {
    assert.deepEqual(await read(workspace, sessionId, id), log.slice(at + 1))
  }
  const third = await finishRun(workspace, sessionId, log.at(-1).id)
  assert.deepEqual(third, (await workspace.log(sessionId)).slice(log.length))
})

test('SSE-3: deltas have no id, and their text is the message', { timeout: 30_000 }, async () => {
  const workspace = await Workspace.withEcho(mock.url)
  const sessionId = await workspace.openSession()
  await workspace.startRun(sessionId, 'hello')
  const durable = []
  let text = ''
  for await (const event of stream(workspace, sessionId, undefined, '?event_deltas=true')) {
    if (event.event === 'message.completed') assert.equal(JSON.parse(event.data).content[0].text, text)
    if (event.id !== undefined) durable.push(dataOf(event))
    else if (event.event === 'message.delta') text += JSON.parse(event.data).delta.text
    else assert.equal(event.event, 'message.started')
  }
  assert.notEqual(text, '')
  assert.deepEqual(durable, await workspace.log(sessionId))
})
