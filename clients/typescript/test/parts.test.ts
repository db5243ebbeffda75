/** The small parts that everything else rests on. */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { eventOf } from '../src/event.js'
import { History } from '../src/history.js'
import { equal, read, rounded, write } from '../src/json.js'
import { Ledger } from '../src/ledger.js'
import { backOff, retryAfter } from '../src/time.js'

test('C-DATA-1: JSON comes back as it was', () => {
  for (const text of [
    '{"n":9007199254740993}',
    '{"__proto__":{"a":12345678901234567890}}',
    '["\\ud800",-1.5,"\u2028"]',
    '{"a":{"a":[[]]}}',
  ]) {
    assert.deepEqual(JSON.parse(write(read(text))), JSON.parse(text))
    assert.equal(write(read(text)).includes('9007199254740993'), text.includes('9007199254740993'))
  }
  assert.equal(read('{"a":'), undefined)
  assert.deepEqual(rounded({ n: 9007199254740993n }), { n: 9007199254740992 })
  assert.ok(equal({ a: 1, b: [2] }, { b: [2], a: 1 }))
  assert.ok(!equal({ a: 1 }, { a: 1, b: null }))
})

test('C-HTTP-1: what Retry-After may say', () => {
  const wait = (value: string, date?: string) =>
    retryAfter(new Headers({ 'retry-after': value, ...(date && { date }) }))
  assert.equal(wait('2'), 2_020)
  assert.equal(wait('Fri, 02 Jan 2026 00:00:05 GMT', 'Fri, 02 Jan 2026 00:00:00 GMT'), 5_020)
  assert.equal(wait('Friday, 02-Jan-26 00:00:05 GMT', 'Fri, 02 Jan 2026 00:00:00 GMT'), 5_020)
  assert.equal(wait('Fri Jan  2 00:00:05 2026', 'Fri, 02 Jan 2026 00:00:00 GMT'), 5_020)
  for (const nonsense of ['-1', '0', 'soon', '2026-01-02', '', '1e3']) assert.equal(wait(nonsense), undefined, nonsense)
})

test('C-SSE-11: waits grow', () => {
  for (let tries = 0; tries < 6; tries++) assert.ok(backOff(tries + 1, 50, 10_000) > backOff(tries, 50, 10_000))
  assert.ok(backOff(1_000, 50, 2_000) <= 2_200)
})

const durable = (id: string, sequence: number) =>
  eventOf({ id, type: 'x', data: `{"id":"${id}","sequence":${sequence}}` })!

test('C-SSE-1, C-SSE-2: what comes again is not new, and moves nothing', () => {
  const history = new History()
  assert.equal(history.cursor, undefined)
  assert.ok(history.isNew(durable('e1', 1)) && history.isNew(durable('e2', 2)))
  assert.ok(!history.isNew(durable('e1', 1)))
  assert.equal(history.cursor, 'e2')
  history.moveTo('e3')
  assert.equal(history.cursor, 'e3')
  assert.ok(history.isNew(durable('e3', 3)), 'its event is yet to come')
})

test('C-SSE-2: what is before the cursor that was given was not asked for', () => {
  const history = new History('e2')
  assert.ok(!history.isNew(durable('e2', 2)) && history.isNew(durable('e3', 3)) && !history.isNew(durable('e1', 1)))
})

test('C-SSE-17: a refused cursor is not sent again', () => {
  const history = new History()
  history.isNew(durable('e1', 1))
  history.refuse()
  assert.ok(!history.isNew(durable('e1', 1)))
  assert.equal(history.cursor, undefined)
  assert.ok(history.isNew(durable('e2', 2)))
  assert.equal(history.cursor, 'e2')
})

test('C-RUN-4: a frame that contradicts itself is not whole', () => {
  const whole = (type: string | undefined, data: object) =>
    eventOf({ id: 'e', type, data: JSON.stringify({ id: 'e', ...data }) })!.isWhole
  assert.ok(whole('run.completed', { type: 'run.completed', run_id: 'r' }))
  assert.ok(whole(undefined, { type: 'run.completed', run_id: 'r' }))
  assert.ok(!whole('run.completed', { type: 'message.delta', run_id: 'r' }))
  assert.ok(!whole('run.completed', { type: 'run.completed' }))
  assert.ok(!whole('agent.custom_tool_use', { run_id: 'r', content: { name: 't' } }))
})

test('C-TOOL-2: a ledger outlives its process, and a line that was cut off', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pantheon-ledger-'))
  const first = new Ledger(folder)
  first.begin('a')
  first.begin('b')
  first.conclude('b', { content: { n: 9007199254740993n } })
  first.send('call', { number: 1, key: 'key-12345', body: '{}' })
  first.close()
  const file = join(folder, 'ledger.jsonl')
  writeFileSync(file, readFileSync(file, 'utf8') + '{"kind":"beg')

  const second = new Ledger(folder)
  second.begin('c')
  second.close()
  const third = new Ledger(folder)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => third.outcome(key)),
    ['begun', { content: { n: 9007199254740993n } }, 'begun', undefined],
  )
  assert.deepEqual(third.letter('call'), { number: 1, key: 'key-12345', body: '{}' })
  third.close()
  rmSync(folder, { recursive: true })
})
