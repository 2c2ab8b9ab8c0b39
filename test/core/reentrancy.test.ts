// What a caller's own code does while its arguments are read changes nothing: verdicts, seals and contents are of the
// bytes that were given, also where those lie in memory that others write.
import test from 'ava'
import { decode, seal, validate, validateBatchOf } from './support/entry.ts'
import { VERDICTS, authenticateEnvelope } from '../../host/core/index.ts'
import { KEY, base } from './support/base.ts'
import { plan } from './support/generate.ts'
import { Random } from './support/source.ts'

const good = base('host')
const damaged = good.with(60, good[60]! ^ 1)

test('a policy whose getter validates other bytes', (t) => {
  const policy = {
    get now() {
      validate(good)
      return 0
    },
    clockSkew: Number.MAX_SAFE_INTEGER,
  }
  t.is(validate(damaged, policy), 'bad-checksum')
  t.throws(() => decode(damaged, policy), { code: 'ERR_USM_IPC_BAD_CHECKSUM' })
  t.deepEqual([...validateBatchOf([damaged, good], policy)], [9, 0])
})

test('a policy whose getter takes the bytes away', (t) => {
  const bytes = good.slice()
  validate(good) // what a stale copy would be
  const policy = {
    get now() {
      structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
      return 0
    },
  }
  t.is(validate(bytes, policy), 'empty')
})

test('keys whose getters validate with other keys', (t) => {
  const tagged = authenticateEnvelope(good, KEY)
  const key = {
    get id() {
      validate(tagged, { keys: [{ id: KEY.id, key: new Uint8Array(32) }] })
      return KEY.id
    },
    key: KEY.key,
  }
  t.is(validate(tagged, { keys: [key] }), 'ok')
  t.deepEqual([...validateBatchOf([tagged, good], { keys: [key] })].map((code) => VERDICTS[code]), ['ok', 'unauthenticated'])
  t.deepEqual(authenticateEnvelope(good, key), tagged)
})

test('sections and headers that seal another envelope while they are read', (t) => {
  const random = new Random(7)
  const { header, sections } = plan(random)
  const other = plan(random)
  const expected = seal(header, sections)
  const again = (): void => void seal(other.header, other.sections)
  const hostile = new Proxy(sections, { get: (target, key) => (again(), Reflect.get(target, key) as unknown) })
  t.deepEqual(seal(new Proxy(header, { get: (target, key) => (again(), Reflect.get(target, key) as unknown) }), hostile), expected)
})

test('decode gives what was checked, not what the memory holds later', (t) => {
  const shared = new Uint8Array(new SharedArrayBuffer(good.length))
  shared.set(good)
  const policy = {
    get now() {
      return 0
    },
    clockSkew: Number.MAX_SAFE_INTEGER,
  }
  const { handle } = decode(shared, policy)
  shared.fill(0)
  t.deepEqual(handle, decode(good).handle)
})
