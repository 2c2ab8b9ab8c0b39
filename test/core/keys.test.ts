import { inspect } from 'node:util'
import test from 'ava'
import { authenticateEnvelope, seal, validate, type EnvelopeKey } from '../../host/core/index.ts'
import { MAX_KEYS, checkKey, checkKeys } from '../../host/keys.ts'
import { KEY, base, baseHandle, baseHeader } from './support/base.ts'

const good = { id: 1, key: KEY.key }
const secret = Buffer.from(KEY.key)
const spellings = [secret.toString('hex'), secret.toString('base64'), secret.toString('base64url'), [...secret].join(','), [...secret].join(', '), secret.toString('latin1')]

const wrong: [unknown, typeof TypeError | typeof RangeError, RegExp][] = [
  [null, TypeError, /must be an object/], [undefined, TypeError, /must be an object/], [5, TypeError, /must be an object/],
  [secret.toString('hex'), TypeError, /must be an object/], [KEY.key, TypeError, /not the key's bytes alone/],
  [{ id: 1 }, TypeError, /\.key must be a Uint8Array/], [{ id: 1, key: secret.toString('hex') }, TypeError, /\.key must be a Uint8Array/],
  [{ id: 1, key: [...secret] }, TypeError, /\.key must be a Uint8Array/], [{ id: 1, key: secret.buffer }, TypeError, /\.key must be a Uint8Array/],
  [{ key: KEY.key }, TypeError, /\.id must be a number/], [{ id: '1', key: KEY.key }, TypeError, /\.id must be a number/], [{ id: 1n, key: KEY.key }, TypeError, /\.id must be a number/],
  ...[0, -1, 1.5, NaN, Infinity, 2 ** 32].map((id): [unknown, typeof RangeError, RegExp] => [{ id, key: KEY.key }, RangeError, /integer from 1 to 2\^32-1/]),
  ...[0, 1, 15, 65, 1000].map((n): [unknown, typeof RangeError, RegExp] => [{ id: 1, key: new Uint8Array(n) }, RangeError, /16 to 64 bytes, not \d+/]),
]

function throwsWithoutKey(t: { throws: Function; true: Function }, call: () => unknown, type: unknown, code: string, says: RegExp): void {
  const error = t.throws(call, { instanceOf: type, code, message: says }) as Error
  const text = inspect(error, { depth: 10, showHidden: true }) + error.stack
  for (const spelling of spellings) t.true(!text.includes(spelling), 'the key stands in the error')
}

test('what is no key is refused wherever one is taken, and not shown', (t) => {
  for (const [key, type, says] of wrong) {
    const calls: (() => unknown)[] = [
      () => checkKey(key, 'listen: key'), () => checkKeys([good, key], 'connect: keys'), () => validate(base('host'), { keys: [key as EnvelopeKey] }),
      () => authenticateEnvelope(base('host'), key as EnvelopeKey),
    ]
    if (key !== undefined) calls.push(() => seal(baseHeader('cuda'), { handle: baseHandle('cuda') }, { key: key as EnvelopeKey }))
    for (const call of calls) throwsWithoutKey(t, call, type, 'ERR_USM_IPC_INVALID_KEY', says)
  }
  throwsWithoutKey(t, () => checkKey({ id: 1, key: KEY.key, secret: 1 }, 'key'), TypeError, 'ERR_USM_IPC_UNKNOWN_OPTION', /it has id, key$/)
})

test('lists of keys: not empty, not too long, no id twice', (t) => {
  for (const keys of [null, {}, 'keys', good, new Set([good])]) {
    throwsWithoutKey(t, () => validate(base('host'), { keys: keys as never }), TypeError, 'ERR_USM_IPC_INVALID_KEY', /must be an array of/)
  }
  throwsWithoutKey(t, () => validate(base('host'), { keys: [] }), RangeError, 'ERR_USM_IPC_INVALID_KEY', /is empty: leave it out/)
  throwsWithoutKey(t, () => checkKeys([good, { ...good, key: KEY.key.slice(1) }], 'keys'), RangeError, 'ERR_USM_IPC_INVALID_KEY', /^keys has two keys with id 1$/)
  const many = Array.from({ length: MAX_KEYS + 1 }, (_, i) => ({ id: i + 1, key: KEY.key }))
  throwsWithoutKey(t, () => checkKeys(many, 'keys'), RangeError, 'ERR_USM_IPC_INVALID_KEY', /has 17 keys, at most 16/)
  t.is(checkKeys(many.slice(1), 'keys').length, MAX_KEYS)
})

test('a copy of a key is one: later changes do not reach it', (t) => {
  const mine = { id: 3, key: KEY.key.slice() }
  const copy = checkKey(mine, 'key')
  mine.key.fill(0)
  mine.id = 4
  t.deepEqual([copy.id, copy.key], [3, KEY.key])
  t.deepEqual(checkKey(copy, 'key').key, KEY.key, 'a copy is a key')
  t.is(validate(authenticateEnvelope(base('host'), copy), { keys: [copy] }), 'ok')
})

test('a Buffer, also a part of a larger one, is a key of its own bytes', (t) => {
  const pool = Buffer.concat([Buffer.alloc(3), secret, Buffer.alloc(9)])
  const part = { id: 9, key: pool.subarray(3, 3 + secret.length) }
  t.is(validate(authenticateEnvelope(base('cuda'), part), { keys: [{ id: 9, key: KEY.key }] }), 'ok')
})
