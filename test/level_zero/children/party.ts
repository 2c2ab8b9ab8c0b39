/** A process that shares Level Zero memory through the package, step by step, as it is told. */
import { readdirSync, readlinkSync } from 'node:fs'
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice, ledger } from '../../../host/index.ts'
import type { LayoutName } from '../../../host/core/names.generated.ts'
import { decode, encode, parse, say } from '../../support/child.ts'
import { NBYTES, type Answer, type Source, type Step } from '../protocol.ts'

const channel = FdChannel.adopt(3)
const memories = new Map<string, MemoryUSMDevice>()
const handles = new Map<string, IPCMemoryHandle>()
const kept: (MemoryUSMDevice | IPCMemoryHandle)[] = []

function run(step: Step): Answer {
  switch (step.do) {
    case 'allocate': {
      const memory = new MemoryUSMDevice(NBYTES, { device: 'level_zero' })
      memories.set(step.name, memory)
      memory.fill(step.value)
      return { pointer: String(memory.pointer) }
    }
    case 'export': {
      const handle = new IPCMemoryHandle(memories.get(step.name)!)
      handles.set(step.name, handle)
      return { envelope: encode(handle.toBytes()), raw: encode(handle.toBytes({ format: 'vendor' })) }
    }
    case 'free':
      handles.get(step.name)?.close()
      memories.get(step.name)!.close()
      handles.delete(step.name)
      memories.delete(step.name)
      return {}
    case 'open':
      return opened(step.name, IPCMemoryHandle.open(decode(step.envelope), 'level_zero', undefined, source(step.by)))
    case 'openVendor': {
      const layout = step.layout as LayoutName
      return opened(step.name, IPCMemoryHandle.openVendor(decode(step.raw), 'level_zero', NBYTES, { layout, ...source(step.by) }))
    }
    case 'read': {
      const bytes = new Uint8Array(NBYTES)
      memories.get(step.name)!.copyTo(bytes)
      return { value: bytes.every((byte) => byte === bytes[0]) ? bytes[0]! : -1 }
    }
    case 'private': {
      const memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
      const handle = new IPCMemoryHandle(memory)
      memory.fill(step.value)
      kept.push(handle, memory)
      return { fd: handle.descriptors[0]!.number }
    }
    case 'books': {
      const book = ledger({ process: true })
      return { books: { live: ledger().live, claims: book.claims, resources: book.resources.length, descriptors: memoryFiles() } }
    }
    case 'end':
      for (const held of kept) held.close()
      return {}
  }
}

function source(by: Source): object {
  if (by === 'given') return { descriptor: [...channel.received][0]! }
  return by === 'channel' ? { channel } : by === 'pidfd' ? { allowPidfd: true } : {}
}

function opened(name: string, memory: ReturnType<typeof IPCMemoryHandle.open>): Answer {
  memories.set(name, memory)
  return { path: memory.path!, unchecked: memory.unchecked }
}

function memoryFiles(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('/memfd:')
    } catch {
      return false
    }
  }).length
}

for (let ended = false; !ended; ) {
  const step = parse<Step>(await channel.receive())
  let answer: Answer
  try {
    answer = run(step)
  } catch (error) {
    const { name, code, call, result, message } = error as Error & { code: string; call?: string; result?: string }
    answer = { error: { name, code, message, ...(call === undefined ? {} : { call }), ...(result === undefined ? {} : { result }) } }
  }
  await say(channel, answer, step.do === 'export' ? handles.get(step.name) : undefined)
  ended = step.do === 'end'
}
channel.close()
