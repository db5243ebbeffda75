/** Answers that no mock gives: torn refusals, pages without end. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'

import { History } from '../src/history.js'
import { Api } from '../src/http.js'
import { readSession } from '../src/stream.js'

/** A server that answers one request after another so. */
async function withServer(answers: RequestListener[], body: (api: Api) => Promise<void>): Promise<number[]> {
  const came: number[] = []
  const server = createServer((request, response) => {
    answers[came.length]?.(request, response)
    came.push(performance.now())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await body(new Api(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, 'pk_test_key', 5_000))
  } finally {
    server.close()
    server.closeAllConnections()
  }
  return came
}

test('C-HTTP-1: Retry-After counts although the rest of the answer is torn', async () => {
  const torn: RequestListener = (_, response) => {
    response.writeHead(503, { 'retry-after': '1', 'content-length': '100' })
    response.write('{"error', () => response.destroy())
  }
  const came = await withServer([torn, (_, response) => response.end('{"id": 1}')], async (api) => {
    assert.deepEqual(await api.json('GET', '/v1/x'), { id: 1 })
  })
  assert.ok(came[1]! - came[0]! >= 1_000)
})

test('C-TOOL-17: half of a success is a lost answer', async () => {
  const half: RequestListener = (_, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('{"id": 1', () => response.destroy())
  }
  const came = await withServer([half, (_, response) => response.end('{"id": 2}')], async (api) => {
    assert.deepEqual(await api.json('GET', '/v1/x'), { id: 2 })
  })
  assert.equal(came.length, 2)
})

test('C-SSE-16: a page that never ends is a failed attempt', async () => {
  const page: RequestListener = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.write('id: evil\n\n')
  }
  const cursors: unknown[] = []
  const stream: RequestListener = (request, response) => {
    cursors.push(request.headers['last-event-id'])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('id: e1\nevent: x\ndata: {"id":"e1"}\n\n')
  }
  await withServer([page, stream], async (api) => {
    const options = { idleMs: 5_000, signal: new AbortController().signal }
    for await (const signal of readSession(api, 's', new History(), options)) {
      assert.equal(signal.kind === 'event' && signal.event.id, 'e1')
      break
    }
  })
  assert.deepEqual(cursors, [undefined])
})

test('C-SEC-1: redirects are followed within the origin alone', async () => {
  const to = (location: string, status: number): RequestListener => {
    return (_, response) => response.writeHead(status, { location }).end()
  }
  const echo: RequestListener = (request, response) => {
    response.end(JSON.stringify({ path: request.url, method: request.method, key: request.headers.authorization }))
  }
  await withServer([to('/moved', 307), echo], async (api) => {
    const moved = { path: '/moved', method: 'POST', key: 'Bearer pk_test_key' }
    assert.deepEqual(await api.json('POST', '/v1/x', {}), moved)
  })
  const elsewhere = await withServer([to('http://localhost:1/', 302), echo], async (api) => {
    assert.equal((await api.send({ method: 'GET', path: '/v1/x' })).status, 302)
  })
  assert.equal(elsewhere.length, 1)
})
