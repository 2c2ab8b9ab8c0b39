// Authenticated handles end to end, on the `host` backend: exported with a key, opened with it, and with nothing else.
import { inspect as show } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import { HandleError, IPCMemoryHandle, MemoryUSMDevice, getMemHandle, inspect, ledger, openMemHandle, type MemoryIPCDevice } from '../../host/index.ts'
import { HEADER } from '../../host/core/index.ts'
import { environment } from '../../host/environment.ts'
import { authenticateEnvelope } from '../../host/handle.ts'
import type { EnvelopeKey } from '../../host/keys.ts'
import { fixTag, stripped } from '../core/support/forge.ts'
import { leftOf } from '../core/support/secrets.ts'
import { asForeign, forged } from '../support/forge.ts'

const OLD: EnvelopeKey = { id: 1, key: Uint8Array.from({ length: 32 }, (_, i) => (i * 91 + 17) ^ (i << 2)) }
const NEW: EnvelopeKey = { id: 2, key: OLD.key.map((b, i) => b ^ (i * 53 + 9)) }
const memory = new MemoryUSMDevice(4096, { device: 'host' })
const handle = new IPCMemoryHandle(memory, { key: OLD, name: 'tagged', array: { code: 1, bits: 8, lanes: 1, shape: [4096] }, ttl: 3_600_000 })
const bytes = handle.toBytes()
const [descriptor] = handle.descriptors

test.after.always(() => {
  handle.close()
  memory.close()
})

const clean = (t: ExecutionContext): void => {
  const { core } = environment()
  t.is(leftOf(core, OLD.key), undefined)
  t.is(leftOf(core, NEW.key), undefined)
}

const using = (mapped: MemoryIPCDevice, check: (m: MemoryIPCDevice) => void): void => {
  try {
    check(mapped)
  } finally {
    mapped.close()
  }
}

const authenticity = (mapped: MemoryIPCDevice): string[] => mapped.unchecked.filter((item) => item.startsWith('authenticity'))

test.serial('an export with a key is opened with it: its own, another process\'s, through the text form, and by the functions', (t) => {
  memory.copyFrom(new Uint8Array(4096).fill(0x5a))
  clean(t)
  const opened = [
    () => IPCMemoryHandle.open(bytes, 'host', undefined, { keys: [OLD] }),
    () => IPCMemoryHandle.open(bytes, 'host', 100, { keys: [NEW, OLD], requireAuthentication: true }),
    () => IPCMemoryHandle.open(handle.toString(), 'host', undefined, { keys: [OLD] }),
    () => openMemHandle(bytes, 'host', undefined, { keys: [OLD] }),
    () => openMemHandle(getMemHandle(memory, { key: NEW }), 'host', undefined, { keys: [NEW], requireAuthentication: true }),
    () => IPCMemoryHandle.open(authenticateEnvelope(asForeign(stripped(bytes)), OLD), 'host', undefined, { keys: [OLD], descriptor: descriptor! }),
  ]
  for (const open of opened) {
    using(open(), (mapped) => {
      t.deepEqual(authenticity(mapped), [])
      const copy = new Uint8Array(mapped.nbytes)
      mapped.copyTo(copy)
      t.true(copy.every((b) => b === 0x5a))
    })
    clean(t)
  }
})

test.serial('without keys it is opened as before, and says that the tag was not checked', (t) => {
  using(IPCMemoryHandle.open(bytes, 'host'), (mapped) => t.deepEqual(authenticity(mapped), ['authenticity: authenticated with key 1, not checked; no keys were given']))
  using(IPCMemoryHandle.open(getMemHandle(memory), 'host'), (mapped) => t.deepEqual(authenticity(mapped), ['authenticity: there is no tag; anybody could have made these bytes']))
  t.deepEqual(inspect(bytes).authentication, { keyId: 1, checked: false })
  t.deepEqual(inspect(bytes, { policy: { keys: [OLD] } }).authentication, { keyId: 1, checked: true })
})

test.serial('everything else is refused by its own verdict, opens nothing and leaves nothing', (t) => {
  const plain = getMemHandle(memory)
  const before = ledger().live
  const changed = forged(bytes, (view) => view.setBigUint64(HEADER.expires, 0n, true))
  const rows: [what: string, bytes: Uint8Array, options: object, verdict: string][] = [
    ['no tag', plain, { keys: [OLD] }, 'unauthenticated'],
    ['no tag, one required', plain, { requireAuthentication: true }, 'unauthenticated'],
    ['the tag taken off', stripped(bytes), { keys: [OLD] }, 'unauthenticated'],
    ['another key', bytes, { keys: [NEW] }, 'unknown-key'],
    ['no key, one required', bytes, { requireAuthentication: true }, 'unknown-key'],
    ['another key of that id', bytes, { keys: [{ id: OLD.id, key: NEW.key }] }, 'bad-tag'],
    ['a flipped bit of the tag', bytes.with(bytes.length - 1, bytes.at(-1)! ^ 1), { keys: [OLD] }, 'bad-tag'],
    ['a flipped bit', bytes.with(60, bytes[60]! ^ 1), { keys: [OLD] }, 'bad-checksum'],
    ['a changed expiry', changed, { keys: [OLD] }, 'bad-tag'],
    ['a changed expiry, tagged with another key', fixTag(changed.slice(), NEW.key), { keys: [OLD, NEW] }, 'bad-tag'],
    ['forged, and for another size than wanted', bytes.with(bytes.length - 1, bytes.at(-1)! ^ 1), { keys: [OLD], nbytes: 4097 }, 'bad-tag'],
  ]
  for (const [what, forgery, { nbytes, ...options }, verdict] of rows as [string, Uint8Array, { nbytes?: number }, string][]) {
    const error = t.throws(() => IPCMemoryHandle.open(forgery, 'host', nbytes, { ...options, descriptor: descriptor! }), { instanceOf: HandleError }, what)
    t.is(error?.verdict, verdict, what)
    t.is(error?.code, `ERR_USM_IPC_${verdict.toUpperCase().replaceAll('-', '_')}`)
    clean(t)
  }
  t.is(ledger().live, before)
  t.false(descriptor!.isClosed)
})

test.serial('keys change: the importer takes both while envelopes of the old one are on their way', (t) => {
  const next = authenticateEnvelope(bytes, NEW)
  for (const envelope of [bytes, next]) using(IPCMemoryHandle.open(envelope, 'host', undefined, { keys: [OLD, NEW] }), (mapped) => t.is(mapped.nbytes, 4096))
  using(IPCMemoryHandle.open(next, 'host', undefined, { keys: [NEW] }), (mapped) => t.deepEqual(authenticity(mapped), []))
  t.throws(() => IPCMemoryHandle.open(bytes, 'host', undefined, { keys: [NEW] }), { code: 'ERR_USM_IPC_UNKNOWN_KEY' })
  t.throws(() => authenticateEnvelope(new Uint8Array(10), NEW), { instanceOf: HandleError })
  clean(t)
})

test.serial('what is no key is refused before anything is exported or opened', (t) => {
  const before = ledger().live
  for (const key of [null, 5, {}, OLD.key, { id: 0, key: OLD.key }, { id: 1, key: OLD.key.slice(1, 16) }, { id: 1, key: Buffer.from(OLD.key).toString('hex') }]) {
    t.throws(() => new IPCMemoryHandle(memory, { key: key as never }), { code: 'ERR_USM_IPC_INVALID_KEY' })
    t.throws(() => getMemHandle(memory, { key: key as never }), { code: 'ERR_USM_IPC_INVALID_KEY' })
    t.throws(() => IPCMemoryHandle.open(bytes, 'host', undefined, { keys: [key as never] }), { code: 'ERR_USM_IPC_INVALID_KEY' })
  }
  t.throws(() => IPCMemoryHandle.open(bytes, 'host', undefined, { keys: [] }), { code: 'ERR_USM_IPC_INVALID_KEY', message: /is empty/ })
  t.throws(() => IPCMemoryHandle.open(bytes, 'host', undefined, { key: OLD } as never), { code: 'ERR_USM_IPC_UNKNOWN_OPTION' })
  t.is(ledger().live, before)
  clean(t)
})

test.serial('an export that fails leaves no key behind', (t) => {
  t.throws(() => new IPCMemoryHandle(memory, { key: OLD, name: 'a\u0007b' }), { code: 'ERR_USM_IPC_BAD_NAME' })
  t.throws(() => new IPCMemoryHandle(memory, { key: OLD, offset: 5000 }), { instanceOf: RangeError })
  t.throws(() => new IPCMemoryHandle(memory, { key: OLD, array: { code: 2, bits: 32, lanes: 1, shape: [5000] } }), { code: 'ERR_USM_IPC_BAD_ARRAY' })
  clean(t)
})

test.serial('no key is shown by what holds one', (t) => {
  const hidden = [Buffer.from(OLD.key).toString('hex').slice(0, 16), Buffer.from(OLD.key).toString('base64').slice(0, 12), [...OLD.key.subarray(0, 5)].join(', '), [...OLD.key.subarray(0, 5)].join(',')]
  using(IPCMemoryHandle.open(bytes, 'host', undefined, { keys: [OLD] }), (mapped) => {
    for (const text of [show(handle, { depth: 9, showHidden: true }), JSON.stringify(handle), handle.toString(), show(mapped, { depth: 9, showHidden: true }), JSON.stringify(mapped)]) {
      t.true(hidden.every((secret) => !text.includes(secret)), text)
    }
  })
})
