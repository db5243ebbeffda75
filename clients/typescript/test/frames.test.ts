/** The reading of frames: every way of writing them, and every way of cutting them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { FrameReader, type Frame } from '../src/frames.js'

function frames(pieces: Uint8Array[], onRetry: (ms: number) => void = () => {}): Frame[] {
  const reader = new FrameReader(onRetry)
  return pieces.flatMap((piece) => reader.feed(piece))
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'utf8')
}

const STREAM =
  '\uFEFFid: e1\nevent: a\ndata: {"x":1,\ndata:"y":"€🙂"}\n\n: comment\n\nid\nretry: 5\n\ndata\n\nid: e2\nevent: b\ndata:  two\u2028\u0085\n\n'
const READ: Frame[] = [
  { id: 'e1', type: 'a', data: '{"x":1,\n"y":"€🙂"}' },
  { id: '', type: undefined, data: undefined },
  { id: undefined, type: undefined, data: '' },
  { id: 'e2', type: 'b', data: ' two\u2028\u0085' },
]

for (const [name, newline] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const) {
  const stream = bytes(STREAM.replaceAll('\n', newline))
  test(`C-SSE-3, C-SSE-4: ${name}, cut at every place`, () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      assert.deepEqual(frames([stream.subarray(0, cut), stream.subarray(cut)]), READ, `cut at ${cut}`)
    }
    assert.deepEqual(frames([...stream].map((byte) => Uint8Array.of(byte))), READ)
  })
}

test('C-SSE-3: a frame is there as soon as its last line end is, though that be a CR', () => {
  assert.equal(frames([bytes('id: e1\rdata: {}\r\r')]).length, 1)
})

test('C-SSE-3: one byte-order mark is dropped, and only at the start', () => {
  assert.deepEqual(frames([bytes('\uFEFF\uFEFFdata: a\n\ndata: \uFEFFb\n\n')]), [
    { id: undefined, type: undefined, data: '\uFEFFb' },
  ])
})

test('C-SSE-5: an id with NUL is ignored', () => {
  assert.deepEqual(frames([bytes('id: a\0\ndata: x\n\n')]), [{ id: undefined, type: undefined, data: 'x' }])
})

test('C-SSE-6: what is not ended by a blank line is no frame', () => {
  assert.deepEqual(frames([bytes('id: e1\ndata: {}\n')]), [])
})

test('C-SSE-20: retry is digits, and nothing else', () => {
  const told: number[] = []
  frames([bytes('retry: 10\nretry: -1\nretry: 1.5\nretry:\n\n')], (ms) => told.push(ms))
  assert.deepEqual(told, [10])
})

test('C-SSE-8: the time for an event grows with its size alone', () => {
  const piece = bytes('x'.repeat(64))
  const pieces = [bytes('data: '), ...Array<Uint8Array>((4 << 20) / 64).fill(piece), bytes('\n\n')]
  const began = performance.now()
  assert.equal(frames(pieces)[0]!.data!.length, 4 << 20)
  // Quadratic, it would take minutes.
  assert.ok(performance.now() - began < 5_000)
})
