/** Raw handles, as other programs make and take them; wrong descriptors; envelopes from elsewhere. */
import { closeSync, openSync } from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import { Descriptor, FdChannel, IPCMemoryHandle, MemoryUSMDevice, decode, ledger, type OpenVendorOptions } from '../../host/index.ts'
import { HEADER, seal } from '../../host/core/index.ts'
import { fromHex, fromUuid } from '../../host/core/bytes.ts'
import { cudaBackend } from '../support/backends.ts'
import { decode as fromText, encode, hear, say, startChild } from '../support/child.ts'
import { asForeign, forged, handleAt } from '../support/forge.ts'
import { onGpu } from '../support/ipc.ts'
import type { Answer, Request } from './children/vendor_party.ts'

cudaBackend('legacy')
const device = 'cuda'
const ramp = (nbytes: number, from = 0): Uint8Array => Uint8Array.from({ length: nbytes }, (_, i) => (from + i) * 5)

test.afterEach.always((t) => t.is(ledger().live, 0))

async function openThere(raw: Uint8Array, nbytes: number, options: Omit<OpenVendorOptions, 'descriptor'>, handle?: IPCMemoryHandle): Promise<Answer> {
  const child = startChild(new URL('children/vendor_party.ts', import.meta.url))
  try {
    await say(child.channel, { raw: encode(raw), nbytes, options } satisfies Request, handle)
    return await hear<Answer>(child.channel)
  } finally {
    await child.kill()
  }
}

test.serial('raw handles open in another process, at the offset that is said', async (t) => {
  for (const [ipc, layout, length] of [['legacy', 'cuda', 64], ['legacy', 'torch-cuda', 66], ['pool', 'cuda-pool', 64], ['fd', 'cuda-vmm', 32]] as const) {
    using memory = new MemoryUSMDevice(9000, { device, ipc })
    memory.copyFrom(ramp(9000))
    using handle = new IPCMemoryHandle(memory, { offset: 1234, nbytes: 500 })
    const raw = layout === 'torch-cuda' ? handle.toBytes({ format: 'vendor', layout }) : handle.toBytes({ format: 'vendor' })
    t.is(raw.length, length)
    t.is(handle.allocationNbytes, 9000)
    const answer = await openThere(raw, 500, { layout, offset: handle.offset }, handle)
    t.is(answer.error, undefined, layout)
    t.deepEqual(fromText(answer.bytes!), ramp(500, 1234))
    t.true(answer.unchecked!.some((line) => line.startsWith('liveness')) && answer.unchecked!.some((line) => line.startsWith('integrity')))
    const beyond = await openThere(raw, 4 << 20, { layout, offset: 1234 }, handle)
    t.true(['ERR_USM_IPC_EXTENT_MISMATCH', 'ERR_USM_IPC_INVALID_VENDOR_HANDLE'].includes(beyond.error!), `${layout}: ${beyond.error}`)
  }
  using virtual = new MemoryUSMDevice(100, { device, ipc: 'fd' })
  using handle = new IPCMemoryHandle(virtual)
  t.throws(() => handle.toBytes({ format: 'vendor', layout: 'torch-cuda' }), { message: /legacy/ })
})

test.serial('what a raw handle must have by its layout', (t) => {
  using memory = new MemoryUSMDevice(100, { device })
  using handle = new IPCMemoryHandle(memory)
  const code = (raw: Uint8Array, options: object): string | undefined =>
    (t.throws(() => IPCMemoryHandle.openVendor(raw, device, 100, options as OpenVendorOptions), { any: true }) as { code?: string }).code
  t.is(code(new Uint8Array(63), { layout: 'cuda' }), 'ERR_USM_IPC_BAD_HANDLE_LENGTH')
  t.is(code(handle.toBytes(), { layout: 'cuda' }), 'ERR_USM_IPC_BAD_HANDLE_LENGTH')
  t.is(code(new Uint8Array(66), { layout: 'torch-cuda' }), 'ERR_USM_IPC_HANDLE_UNKNOWN_VERSION')
  t.is(code(Uint8Array.of(2, 0x65, ...new Uint8Array(64)), { layout: 'torch-cuda' }), 'ERR_USM_IPC_HANDLE_UNKNOWN_TYPE')
  t.is(code(new Uint8Array(32), { layout: 'cuda-vmm' }), 'ERR_USM_IPC_HANDLE_ZERO_SIZE')
  t.is(code(new Uint8Array(64), { layout: 'cuda-pool' }), 'ERR_USM_IPC_DESCRIPTOR_MISSING')
  t.is(code(new Uint8Array(64), { layout: 'level-zero-classic' }), 'ERR_USM_IPC_WRONG_BACKEND')
  const own = t.throws(() => IPCMemoryHandle.openVendor(handle.toBytes({ format: 'vendor' }), device, 100, { layout: 'cuda' }), { message: /in the process that made it/ })
  t.like(own, { code: 'ERR_USM_IPC_DRIVER_CALL_FAILED', call: 'cuIpcOpenMemHandle_v2', result: 'CUDA_ERROR_INVALID_CONTEXT' })
})

function refuses(t: ExecutionContext, handle: IPCMemoryHandle, descriptor: Descriptor | number, codes: string[]): void {
  const before = ledger({ process: true }).resources.length
  const error = t.throws(() => IPCMemoryHandle.open(asForeign(handle.toBytes()), device, undefined, { descriptor }), { any: true }) as { code: string }
  t.true(codes.map((code) => `ERR_USM_IPC_${code}`).includes(error.code), error.code)
  t.is(ledger({ process: true }).resources.length, before)
}

test.serial('a descriptor that is not the export\'s is refused: by its kind before the driver sees it, by its size by the driver', (t) => {
  const kind = onGpu ? 'DESCRIPTOR_WRONG_KIND' : 'DRIVER_CALL_FAILED' // the software driver's descriptors are sockets
  for (const ipc of ['fd', 'pool'] as const) {
    using memory = new MemoryUSMDevice(100, { device, ipc })
    using handle = new IPCMemoryHandle(memory)
    const nothing = openSync('/dev/null', 'r')
    refuses(t, handle, nothing, [kind])
    closeSync(nothing)
    const [left, right] = FdChannel.pair()
    refuses(t, handle, left.fd, [kind])
    left.close()
    right.close()
    using host = new MemoryUSMDevice(4096, { device: 'host' })
    using exported = new IPCMemoryHandle(host)
    refuses(t, handle, exported.descriptors[0]!, [kind])
    using other = new MemoryUSMDevice(3 << 20, { device, ipc: ipc === 'fd' ? 'pool' : 'fd' })
    using others = new IPCMemoryHandle(other)
    refuses(t, handle, others.descriptors[0]!, ['DRIVER_CALL_FAILED'])
    using larger = new MemoryUSMDevice(3 << 20, { device, ipc })
    using largers = new IPCMemoryHandle(larger)
    refuses(t, handle, largers.descriptors[0]!, ['DRIVER_CALL_FAILED'])
  }
})

test.serial('several descriptors without identity on one channel are not guessed between', async (t) => {
  const [here, there] = FdChannel.pair()
  using memory = new MemoryUSMDevice(100, { device, ipc: 'fd' })
  using handle = new IPCMemoryHandle(memory)
  for (let i = 0; i < 2; i++) await here.send(handle.toBytes(), { descriptors: handle.descriptors })
  const first = await there.receive()
  const second = await there.receive()
  const error = t.throws(() => IPCMemoryHandle.open(asForeign(first.bytes), device, undefined, { channel: there }), { any: true }) as { code: string }
  t.is(error.code, 'ERR_USM_IPC_DESCRIPTOR_AMBIGUOUS')
  using mapped = IPCMemoryHandle.open(asForeign(second.bytes), device, undefined, { descriptor: second.descriptors[0]! })
  t.is(mapped.path, 'mapped')
  second.descriptors[0]!.close()
  using other = IPCMemoryHandle.open(asForeign(first.bytes), device, undefined, { channel: there })
  t.is(other.path, 'mapped')
  t.deepEqual([...there.received], [])
  here.close()
  there.close()
})

test.serial('envelopes from elsewhere', (t) => {
  using memory = new MemoryUSMDevice(100, { device })
  using handle = new IPCMemoryHandle(memory)
  const bytes = handle.toBytes()
  const code = (envelope: Uint8Array): string => (t.throws(() => IPCMemoryHandle.open(envelope, device), { any: true }) as { code: string }).code
  // Another machine's GPU, or another one of this.
  t.is(code(forged(bytes, (view) => view.setUint8(HEADER.device_uuid, view.getUint8(HEADER.device_uuid) ^ 1))), 'ERR_USM_IPC_WRONG_DEVICE')
  const e = decode(bytes)
  const levelZero = seal({
    kind: 'memory', backend: 'level_zero', layout: 'level-zero-classic', deviceUuid: fromUuid(e.deviceUuid)!, allocationSize: 100, offset: 0, nbytes: 100,
    allocationId: fromHex(e.allocationId)!, pid: e.pid, startTime: BigInt(e.startTime), pidNamespace: BigInt(e.pidNamespace), bootId: fromUuid(e.bootId) ?? fromHex(e.bootId)!,
    created: e.created, expires: 0, nonce: fromHex(e.nonce)!,
  }, { handle: new Uint8Array(64) })
  t.is(code(levelZero), 'ERR_USM_IPC_WRONG_BACKEND')
  // A handle of a process that does not exist, from before this boot: the driver refuses it, and nothing is left.
  const dead = forged(asForeign(bytes), (_, all) => all.fill(0xab, handleAt(bytes), handleAt(bytes) + 64))
  const error = t.throws(() => IPCMemoryHandle.open(dead, device))
  t.like(error, { code: 'ERR_USM_IPC_DRIVER_CALL_FAILED', backend: 'cuda', call: 'cuIpcOpenMemHandle_v2' })
  t.regex(error!.message, /cuIpcOpenMemHandle_v2 failed: CUDA_ERROR_/)
})
