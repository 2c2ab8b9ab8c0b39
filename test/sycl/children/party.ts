import { readFileSync } from 'node:fs'
import {
  FdChannel, IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, ledger, listDevices,
  type Descriptor, type MemoryIPCDevice, type UsmMemory,
} from '../../../host/index.ts'
import { parse, say } from '../../support/child.ts'
import { openDescriptors } from '../../support/counts.ts'
import type { Refusal, Reply, Request } from '../support/protocol.ts'

const DEVICE = 'sycl:0'
const USM = { device: MemoryUSMDevice, host: MemoryUSMHost, shared: MemoryUSMShared }
const channel = FdChannel.adopt(3)
const memories = new Map<string, UsmMemory>()
const handles = new Map<string, IPCMemoryHandle>()

const memory = (name: string): UsmMemory => memories.get(name)!
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const unhex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))

function keep(name: string, made: UsmMemory): Reply {
  memories.get(name)?.close()
  memories.set(name, made)
  const unchecked = (made as MemoryIPCDevice).unchecked
  return {
    pointer: `0x${made.pointer.toString(16)}`, nbytes: made.nbytes, baseNbytes: made.baseAllocation!.nbytes,
    ...(unchecked === undefined ? {} : { unchecked: [...unchecked] }),
  }
}

/** Of this process: the runtime's own memory files among them. */
const mappings = (): number => readFileSync('/proc/self/maps', 'latin1').split('\n').filter((line) => line.includes('/memfd:')).length

function answer(request: Request, descriptor: Descriptor | undefined): Reply {
  const from = (allowPidfd?: boolean): object => (allowPidfd ? { allowPidfd } : descriptor ? { descriptor } : {})
  switch (request.do) {
    case 'devices':
      return { devices: listDevices().filter(({ backend }) => backend === 'sycl').map((d) => ({ ...(d.toJSON() as NonNullable<Reply['devices']>[0]) })) }
    case 'allocate': {
      const made = new USM[request.usm ?? 'device'](request.nbytes, { device: request.device ?? DEVICE })
      if (request.fill !== undefined) made.fill(request.fill)
      return keep(request.name, made)
    }
    case 'adopt':
      return keep(request.name, MemoryUSMDevice.fromPointer(BigInt(request.pointer), request.nbytes, {
        device: request.device ?? DEVICE, ...(request.allowNeighbours ? { allowNeighbours: true } : {}),
      }))
    case 'fill':
      memory(request.name).fill(request.value)
      return {}
    case 'read': {
      const bytes = new Uint8Array(request.nbytes)
      memory(request.name).copyTo(bytes, request.offset)
      return { bytes: hex(bytes) }
    }
    case 'write':
      memory(request.name).copyFrom(unhex(request.bytes), request.offset)
      return {}
    case 'export': {
      const handle = new IPCMemoryHandle(memory(request.name) as MemoryUSMDevice)
      handles.set(request.name, handle)
      return { envelope: hex(handle.toBytes()), vendor: hex(handle.toBytes({ format: 'vendor' })) }
    }
    case 'closeExport':
      handles.get(request.name)!.close()
      return {}
    case 'open':
      return keep(request.name, IPCMemoryHandle.open(unhex(request.bytes), request.device ?? DEVICE, undefined, from(request.allowPidfd)))
    case 'openVendor':
      return keep(request.name, IPCMemoryHandle.openVendor(unhex(request.bytes), request.device ?? DEVICE, request.nbytes, {
        layout: request.layout, ...from(request.allowPidfd),
      }))
    case 'close':
      memory(request.name).close()
      return {}
    case 'counts':
      return {
        live: ledger().live, resources: ledger({ process: true }).resources.length, descriptors: openDescriptors(), mappings: mappings(),
      }
    case 'setuid':
      process.setgid!(request.uid)
      process.setuid!(request.uid)
      return {}
    case 'end':
      for (const made of memories.values()) made.close()
      for (const handle of handles.values()) handle.close()
      return {}
  }
}

function refusal(error: unknown): Refusal {
  const { name, code, message, verdict, call, result, resultNumber } = error as Refusal
  return JSON.parse(JSON.stringify({ name, code, message, verdict, call, result, resultNumber })) as Refusal
}

for (let ended = false; !ended; ) {
  const frame = await channel.receive()
  const request = parse<Request>(frame)
  const [descriptor] = frame.descriptors
  ended = request.do === 'end'
  let reply: Reply
  try {
    reply = answer(request, descriptor)
  } catch (error) {
    reply = { error: refusal(error) }
  } finally {
    for (const received of frame.descriptors) received.close()
  }
  const beside = request.do === 'export' && !reply.error ? handles.get(request.name) : undefined
  if (!ended) await say(channel, reply, beside)
}
channel.close()
