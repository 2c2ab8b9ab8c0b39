import test from 'ava'
import fc from 'fast-check'
import { Core, validate, type Policy, type VerdictName } from '../../host/core/index.ts'
import { BACKENDS, KINDS } from '../../host/core/names.generated.ts'
import { POLICY_SIZE, PreparedPolicy, writePolicy } from '../../host/core/policy.ts'
import { CREATED, EXPIRES, NBYTES, base } from './support/base.ts'

const host = base('host')
const MAX = Number.MAX_SAFE_INTEGER
const device = new Uint8Array(16).fill(0x11)

function block(policy: Policy): Uint8Array {
  const { block: bytes } = writePolicy(policy)
  if (bytes.length !== POLICY_SIZE) throw new Error('a policy block has 64 bytes')
  return bytes
}

test('what is left out is not checked', (t) => {
  t.is(validate(host), 'ok')
  t.is(validate(host, {}), 'ok')
  t.is(validate(host, { requireAuthentication: false }), 'ok')
  const nothing = { now: undefined, kind: undefined, device: undefined } as unknown as Policy
  t.is(validate(host, nothing), 'ok')
  t.deepEqual(block({}), new Uint8Array(64))
  t.deepEqual(block(nothing), new Uint8Array(64))
})

test('each expectation, at its boundaries', (t) => {
  const rows: [Policy, VerdictName][] = [
    [{ now: CREATED }, 'ok'], [{ now: CREATED - 1 }, 'not-yet-valid'], [{ now: 0 }, 'not-yet-valid'],
    [{ now: EXPIRES - 1 }, 'ok'], [{ now: EXPIRES }, 'expired'], [{ now: MAX }, 'expired'],
    [{ now: CREATED - 10, clockSkew: 10 }, 'ok'], [{ now: CREATED - 11, clockSkew: 10 }, 'not-yet-valid'], [{ now: 0, clockSkew: MAX }, 'ok'],
    [{ now: EXPIRES, clockSkew: MAX }, 'expired'], [{ clockSkew: 5 }, 'ok'],
    [{ kind: 'memory' }, 'ok'], [{ kind: 'event' }, 'wrong-kind'],
    [{ backend: 'host' }, 'ok'], [{ backend: 'level_zero' }, 'wrong-backend'],
    [{ device }, 'ok'], [{ device: new Uint8Array(16) }, 'wrong-device'],
    [{ nbytes: 1 }, 'ok'], [{ nbytes: NBYTES }, 'ok'], [{ nbytes: NBYTES + 1 }, 'nbytes-beyond-range'], [{ nbytes: 0 }, 'nbytes-beyond-range'],
    [{ nbytes: MAX }, 'nbytes-beyond-range'],
    [{ requireAuthentication: true }, 'unauthenticated'],
    [{ now: CREATED, kind: 'memory', backend: 'host', device, nbytes: NBYTES, clockSkew: 0, requireAuthentication: false }, 'ok'],
  ]
  for (const [policy, verdict] of rows) t.is(validate(host, policy), verdict, JSON.stringify(policy))
})

test('names that no option has are refused, with a hint', (t) => {
  for (const name of ['Now', 'nBytes', 'key', 'requireauthentication', 'uuid', '0']) {
    t.throws(() => validate(host, { [name]: 1 } as Policy), {
      instanceOf: TypeError, code: 'ERR_USM_IPC_UNKNOWN_OPTION', message: `policy has no option "${name}"; it has now, clockSkew, kind, backend, device, nbytes, keys, requireAuthentication`,
    })
  }
  t.throws(() => validate(host, Object.create({ nbyte: 1 }) as Policy), { code: 'ERR_USM_IPC_UNKNOWN_OPTION' })
})

test('wrong types are refused', (t) => {
  const wrong: Record<string, unknown[]> = {
    now: ['1', 1n, new Date(), null, true], clockSkew: ['1', 1n, null], nbytes: ['1', 1n, null, {}],
    kind: [1, 'Memory', '', null, 'toString', '__proto__'], backend: [4, 'CUDA', 'constructor', null],
    device: ['11111111-1111-1111-1111-111111111111', new Uint8Array(15), new Uint8Array(17), [...device], new Uint8ClampedArray(16), null],
    requireAuthentication: [1, 'true', null],
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      t.throws(() => validate(host, { [name]: value } as Policy), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_POLICY' }, `${name}: ${String(value)}`)
    }
  }
  for (const policy of [null, 5, 'now', true]) {
    t.throws(() => validate(host, policy as unknown as Policy), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_POLICY' }, String(policy))
  }
})

test('numbers that are no sizes or times are refused', (t) => {
  for (const name of ['now', 'clockSkew', 'nbytes']) {
    for (const value of [-1, 0.5, NaN, Infinity, -Infinity, 2 ** 53, 1e300]) {
      t.throws(() => validate(host, { [name]: value }), { instanceOf: RangeError, code: 'ERR_USM_IPC_INVALID_POLICY' }, `${name}: ${value}`)
    }
  }
})

test('every value stands in the block where the ABI says', (t) => {
  const size = fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, MAX), fc.maxSafeNat())
  const policies = fc.record({
    now: size, clockSkew: size, nbytes: size, kind: fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[])),
    backend: fc.constantFrom(...(Object.keys(BACKENDS) as (keyof typeof BACKENDS)[])),
    device: fc.uint8Array({ minLength: 16, maxLength: 16 }), requireAuthentication: fc.boolean(),
  }, { requiredKeys: [] })
  fc.assert(fc.property(policies, (p) => {
    const bytes = block(p)
    const v = new DataView(bytes.buffer)
    const flags = ['now', 'kind', 'backend', 'device', 'nbytes'].reduce((sum, key, i) => sum + (key in p ? 1 << i : 0), 0)
    t.is(v.getUint32(0, true), flags + (p.requireAuthentication ? 32 : 0))
    t.is(v.getUint8(4), p.kind === undefined ? 0 : KINDS[p.kind])
    t.is(v.getUint8(5), p.backend === undefined ? 0 : BACKENDS[p.backend])
    t.is(v.getUint16(6, true), 0)
    t.is(v.getBigUint64(8, true), BigInt(p.now ?? 0))
    t.is(v.getBigUint64(16, true), BigInt(p.nbytes ?? 0))
    t.deepEqual(bytes.slice(24, 40), p.device ?? new Uint8Array(16))
    t.is(v.getBigUint64(40, true), BigInt(p.clockSkew ?? 0))
    t.deepEqual(bytes.slice(48), new Uint8Array(16))
  }))
})

test('a policy does not outlive its call', (t) => {
  const core = new Core()
  t.is(core.validate(host, { now: MAX, nbytes: MAX, kind: 'event' }), 'wrong-kind')
  t.is(core.validate(host, { clockSkew: 1 }), 'ok')
  t.is(core.validate(host), 'ok')
})

test('a prepared policy is the policy', (t) => {
  const size = fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, MAX), fc.maxSafeNat())
  const fixed = { backend: 'host', device, clockSkew: 1000, requireAuthentication: true } as const
  const prepared = new PreparedPolicy(fixed)
  fc.assert(fc.property(size, fc.option(size, { nil: undefined }), (now, nbytes) => {
    t.deepEqual(prepared.set(now, nbytes).block, block(nbytes === undefined ? { ...fixed, now } : { ...fixed, now, nbytes }))
  }))
  t.throws(() => new PreparedPolicy({ nbyte: 1 } as Policy), { code: 'ERR_USM_IPC_UNKNOWN_OPTION' })
})
