/** Bytes that are refused before anything is mapped, each for its own reason. */
import assert from 'node:assert/strict'
import { IPCMemoryHandle, decode, getMemHandle, type OpenOptions } from '../../host/index.ts'
import { HEADER, fromHex, fromUuid, seal, type Envelope } from '../../host/core/index.ts'
import { asForeign, forged } from '../support/forge.ts'
import { refused } from '../support/refused.ts'
import { unmapped } from '../support/unchanged.ts'
import { NBYTES, allocate, exported, withDescriptor } from './support.ts'
import type { BackendUnderTest, ContractCase } from './types.ts'

interface Bad {
  what: string
  code: string
  says: RegExp
  make(bytes: Uint8Array): Uint8Array
  nbytes?: number
  options?: OpenOptions
}

const u64 = (field: keyof typeof HEADER, value: bigint) => (bytes: Uint8Array) =>
  forged(bytes, (view) => view.setBigUint64(HEADER[field], value, true))
const u8 = (field: keyof typeof HEADER, value: number) => (bytes: Uint8Array) => forged(bytes, (view) => view.setUint8(HEADER[field], value))

function tagged(view: DataView): void {
  view.setUint16(HEADER.flags, 1, true)
  view.setUint32(HEADER.total_length, view.byteLength, true)
}

/** The same export with a section that no version knows yet. */
function withSection(bytes: Uint8Array, critical: boolean): Uint8Array {
  const e: Envelope = decode(bytes)
  const header = {
    kind: e.kind, backend: e.backend, layout: e.layout, deviceUuid: fromUuid(e.deviceUuid)!, allocationSize: e.allocationSize,
    offset: e.offset, nbytes: e.nbytes, allocationId: fromHex(e.allocationId)!, pid: e.pid, startTime: BigInt(e.startTime),
    pidNamespace: BigInt(e.pidNamespace), bootId: fromUuid(e.bootId) ?? fromHex(e.bootId)!, created: e.created, expires: e.expires, nonce: fromHex(e.nonce)!,
  }
  const descriptors = e.descriptors.map(({ kind, stDev, stIno }) => ({ kind, stDev: BigInt(stDev), stIno: BigInt(stIno) }))
  const sealed = seal(header, { handle: e.handle, ...(descriptors.length > 0 && { descriptors }), unknown: [{ type: 900, critical: false, bytes: new Uint8Array(8) }] })
  // No core of this version seals a critical one.
  return critical ? forged(sealed, (view) => view.setUint8(sealed.length - 4 - 16 + 2, 1)) : sealed
}

const cases: Bad[] = [
  { what: 'no bytes', code: 'EMPTY', says: /pass what the exporter made/, make: () => new Uint8Array(0) },
  { what: 'one byte too few', code: 'TRUNCATED', says: /send all of them/, make: (b) => b.subarray(0, -1) },
  { what: 'half of them', code: 'TRUNCATED', says: /send all of them/, make: (b) => b.subarray(0, b.length >> 1) },
  { what: 'one byte too many', code: 'TRAILING_BYTES', says: /exactly what the exporter made/, make: (b) => Uint8Array.of(...b, 0) },
  { what: 'another envelope behind it', code: 'TRAILING_BYTES', says: /exactly what the exporter made/, make: (b) => Uint8Array.of(...b, ...b) },
  { what: 'foreign bytes', code: 'NOT_AN_ENVELOPE', says: /raw vendor handle needs its layout/, make: () => new Uint8Array(64).fill(0x41) },
  { what: 'foreign bytes without end', code: 'NOT_AN_ENVELOPE', says: /raw vendor handle needs its layout/, make: () => new Uint8Array(1 << 20) },
  { what: 'a raw vendor handle', code: 'NOT_AN_ENVELOPE', says: /raw vendor handle needs its layout/, make: (b) => decode(b).handle },
  { what: 'a future major version', code: 'UNSUPPORTED_VERSION', says: /update the older of the two sides/, make: u8('major', 9) },
  { what: 'a damaged byte', code: 'BAD_CHECKSUM', says: /damaged on the way/, make: (b) => b.with(HEADER.nonce, b[HEADER.nonce]! ^ 1) },
  { what: 'an unknown critical section', code: 'UNKNOWN_CRITICAL_SECTION', says: /update this side/, make: (b) => withSection(b, true) },
  { what: 'an unknown flag', code: 'UNKNOWN_FLAGS', says: /does not know/, make: u8('flags', 2) },
  { what: 'a tag\'s flag without a key', code: 'AUTHENTICATION_WITHOUT_KEY', says: /names no key/, make: (b) => forged(new Uint8Array([...b, ...new Uint8Array(32)]), tagged) },
  { what: 'an unknown kind', code: 'UNKNOWN_KIND', says: /kind of what is shared is unknown/, make: u8('kind', 200) },
  { what: 'an unknown backend', code: 'UNKNOWN_BACKEND', says: /backend is unknown/, make: u8('backend', 200) },
  { what: 'an unknown layout', code: 'UNKNOWN_LAYOUT', says: /layout is unknown/, make: u8('layout', 200) },
  { what: 'a range of nothing', code: 'ZERO_NBYTES', says: /greater than 0/, make: u64('nbytes', 0n) },
  { what: 'a range that overflows', code: 'RANGE_OVERFLOW', says: /overflows/, make: u64('offset', 0xffff_ffff_ffff_ff00n) },
  { what: 'an offset above 2^53-1', code: 'SIZE_TOO_LARGE', says: /above 2\^53-1/, make: u64('offset', 1n << 60n) },
  { what: 'an offset outside', code: 'RANGE_OUTSIDE_ALLOCATION', says: /inside the allocation/, make: u64('offset', BigInt(NBYTES)) },
  { what: 'a range one byte too long', code: 'RANGE_OUTSIDE_ALLOCATION', says: /inside the allocation/, make: u64('nbytes', BigInt(NBYTES + 1)) },
  { what: 'an allocation id of zero', code: 'BAD_ALLOCATION_ID', says: /allocation id/, make: u64('allocation_random', 0n) },
  { what: 'a device of another UUID', code: 'WRONG_DEVICE', says: /select that device.*: it is for 34120000-.* is [0-9a-f-]{36}/, make: u64('device_uuid', 0x1234n) },
  { what: 'more bytes than are shared', code: 'NBYTES_BEYOND_RANGE', says: /narrow the range, never widen it.*: it shares 4096 bytes/, make: (b) => b, nbytes: NBYTES + 1 },
  { what: 'an expiry in the past', code: 'EXPIRED', says: /ask the exporter for a new one/, make: (b) => u64('expires', 2n)(u64('created', 1n)(b)) },
  { what: 'an expiry before its creation', code: 'BAD_LIFETIME', says: /before the creation/, make: u64('expires', 1n) },
  { what: 'a creation in the future', code: 'NOT_YET_VALID', says: /compare the clocks/, make: u64('created', BigInt(Date.now() + 86_400_000)) },
  { what: 'no authentication where it is required', code: 'UNAUTHENTICATED', says: /policy requires it/, make: (b) => b, options: { requireAuthentication: true } },
]

function open(backend: BackendUnderTest, bytes: Uint8Array, nbytes?: number, options?: OpenOptions): () => unknown {
  return () => IPCMemoryHandle.open(bytes, backend.selector, nbytes, options)
}

export const badInput: ContractCase[] = [
  ...cases.map(({ what, code, says, make, nbytes, options }): ContractCase => ({
    name: `refused before mapping: ${what}`,
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      // As its own export, and as another process's with the right descriptor in hand.
      for (const [bytes, more] of [[shared.bytes, {}], [asForeign(shared.bytes), withDescriptor(shared.handle)]] as const) {
        const bad = make(bytes)
        const error = unmapped(() => refused(open(backend, bad, nbytes, { ...more, ...options }), 'HandleError', code, says))
        assert.equal((error as unknown as { verdict: string }).verdict, code.toLowerCase().replaceAll('_', '-'))
      }
    },
  })),
  {
    name: 'refused before mapping: an envelope of another backend',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const e = decode(shared.bytes)
      const [name, layout] = backend.name === 'cuda' ? (['level_zero', 'level-zero-classic'] as const) : (['cuda', 'cuda'] as const)
      const sealed = seal({
        kind: 'memory', backend: name, layout, deviceUuid: fromUuid(e.deviceUuid)!, allocationSize: NBYTES, offset: 0, nbytes: 1,
        allocationId: fromHex(e.allocationId)!, pid: e.pid, startTime: BigInt(e.startTime), pidNamespace: BigInt(e.pidNamespace),
        bootId: fromUuid(e.bootId) ?? fromHex(e.bootId)!, created: e.created, expires: 0, nonce: fromHex(e.nonce)!,
      }, { handle: new Uint8Array(64) })
      unmapped(() => refused(open(backend, sealed), 'HandleError', 'WRONG_BACKEND', /open it with a device of that backend.*: it is for (cuda|level_zero), this device is /))
    },
  },
  {
    name: 'refused before mapping: every prefix, and every damaged byte',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const bytes = asForeign(shared.bytes)
      const options = withDescriptor(shared.handle)
      const codes = new Set<string>()
      unmapped(() => {
        for (let length = 0; length < bytes.length; length++) {
          assert.throws(open(backend, bytes.subarray(0, length), undefined, options), { name: 'HandleError' })
        }
        for (let i = 0; i < bytes.length; i++) {
          for (const bit of [1, 0x80]) {
            try {
              IPCMemoryHandle.open(bytes.with(i, bytes[i]! ^ bit), backend.selector, undefined, options)
            } catch (error) {
              codes.add((error as { code: string }).code)
              continue
            }
            assert.fail(`opened with byte ${i} damaged`)
          }
        }
      })
      assert(codes.has('ERR_USM_IPC_BAD_CHECKSUM') && codes.has('ERR_USM_IPC_NOT_AN_ENVELOPE') && codes.has('ERR_USM_IPC_UNSUPPORTED_VERSION'))
    },
  },
  {
    name: 'an unknown optional section does not matter',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const bytes = withSection(shared.bytes, false)
      assert.equal(decode(bytes).unknown.length, 1)
      IPCMemoryHandle.open(bytes, backend.selector).close()
    },
  },
  {
    name: 'a forged envelope under this process\'s own allocation id opens nothing else',
    smoke: true,
    run(backend) {
      using one = exported(backend)
      using two = exported(backend, 2 * NBYTES)
      // The id of one, everything else of two.
      const id = one.bytes.subarray(HEADER.allocation_random, HEADER.allocation_random + 16)
      const mixed = forged(two.bytes, (_, bytes) => bytes.set(id, HEADER.allocation_random))
      unmapped(() => refused(open(backend, mixed), 'HandleError', 'IDENTITY_MISMATCH', /names other memory/))
      const larger = forged(one.bytes, (view) => view.setBigUint64(HEADER.allocation_size, BigInt(2 * NBYTES), true))
      unmapped(() => assert.throws(open(backend, larger), { name: 'HandleError' }))
      const never = forged(one.bytes, (view) => view.setBigUint64(HEADER.allocation_counter, 1n << 40n, true))
      unmapped(() => refused(open(backend, never), 'HandleError', 'NEVER_ISSUED', /never issued: the handle is forged/))
    },
  },
  {
    name: 'options are read before an envelope is begun: none of them can get into another one',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      using other = allocate(backend, 2 * NBYTES)
      const interfering = <T>(value: T): T => {
        getMemHandle(other, { name: 'other' })
        return value
      }
      const bytes = getMemHandle(memory, {
        get offset() { return interfering(16) },
        get nbytes() { return interfering(64) },
        get ttl() { return interfering(100_000) },
        get array() {
          return interfering({ code: 1, bits: 8, lanes: 1, get shape() { return interfering([8]) } })
        },
        get name() { return interfering('this') },
      })
      const envelope = decode(bytes)
      assert.deepEqual([envelope.allocationSize, envelope.offset, envelope.nbytes, envelope.name], [NBYTES, 16, 64, 'this'])
      assert.deepEqual(envelope.handle, decode(getMemHandle(memory, { offset: 16, nbytes: 64 })).handle)
      IPCMemoryHandle.open(bytes, backend.selector).close()
    },
  },
  {
    name: 'options are read before the bytes are checked: none of them can change what was checked',
    run(backend) {
      using shared = exported(backend)
      // Another process's where that can be opened in this one.
      const bytes = backend.openMapped === undefined ? shared.bytes : asForeign(shared.bytes)
      const bad = forged(bytes, (view) => view.setBigUint64(HEADER.nbytes, 1n, true))
      bad[bad.length - 1]! ^= 1
      const descriptor = withDescriptor(shared.handle).descriptor! // none where none is needed
      let reads = 0
      const meddling = {
        get descriptor() {
          reads++
          try {
            IPCMemoryHandle.open(bad, backend.selector)
          } catch {
            // It is the copy into the core that counts.
          }
          return descriptor
        },
      }
      using mapped = IPCMemoryHandle.open(bytes, backend.selector, undefined, meddling)
      assert.equal(mapped.nbytes, NBYTES)
      assert(reads > 0)
      const channel = {
        get received() {
          try {
            IPCMemoryHandle.open(new Uint8Array(300), backend.selector)
          } catch {
            // As above
          }
          return []
        },
      }
      if (backend.descriptors === 'none') return IPCMemoryHandle.open(bytes, backend.selector, undefined, { channel }).close()
      refused(() => IPCMemoryHandle.open(asForeign(shared.bytes), backend.selector, undefined, { channel }), 'HandleError', 'DESCRIPTOR_MISSING', /receive it over an FdChannel/)
    },
  },
]
