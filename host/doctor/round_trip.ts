/** Memory shared between two processes, with bytes going both ways: what the whole package is for. */
import { once } from 'node:events'
import { ledger } from '../books.ts'
import { receiveJson, sendJson } from '../cli/demo_protocol.ts'
import { inspect } from '../core/index.ts'
import { selectDevice, type Device } from '../device.ts'
import { IPCMemoryHandle } from '../handle.ts'
import { MemoryUSMDevice, type UsmMemory } from '../memory.ts'
import { FdChannel } from '../sharing/fd_channel.ts'
import { startSelf } from '../cli/run_self.ts'
import { TASK_COMMAND } from './child.ts'
import { OPENING, type RoundTrip } from './probe.ts'

const NBYTES = 65_536
const [EXPORTERS, IMPORTERS] = [0x5a, 0xa5]
const CHANNEL_FD = 3

interface Opened {
  /** '' or what went wrong. */
  error: string
  read: boolean
  path: string
  openMs: number
  left: number
}

export async function exportToChild(device: Device, seconds: number, step: (name: string) => void): Promise<RoundTrip> {
  step('allocating')
  using memory = new MemoryUSMDevice(NBYTES, { device })
  memory.fill(EXPORTERS)
  step('exporting')
  const start = performance.now()
  using handle = new IPCMemoryHandle(memory)
  const bytes = handle.toBytes()
  const exportMs = performance.now() - start
  const { layout, fields } = inspect(bytes)
  const handleBytes = Number(fields.find((f) => f.name === 'section_length')?.value ?? 0)

  const [ours, theirs] = FdChannel.pair()
  const child = startSelf([TASK_COMMAND, 'import', String(seconds)], ['ignore', 'inherit', 'inherit', theirs.fd])
  theirs.close()
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  try {
    step(OPENING)
    const deadline = { timeoutMs: seconds * 1000 }
    const opened = await conversation()
    if (opened.error !== '') throw new Error(`the importer: ${opened.error}`)
    step('reading what the other process wrote')
    const written = holds(memory, IMPORTERS)
    step('closing')
    handle.close()
    memory.close()
    const { read, path, openMs } = opened
    return { device: String(device), software: device.software, layout: layout ?? '', handleBytes, path, exportMs, openMs, read, written, left: opened.left + left() }

    async function conversation(): Promise<Opened> {
      try {
        await ours.send(bytes, { descriptors: handle.descriptors, ...deadline })
        await sendJson(ours, { device: device.selector }, deadline)
        return await receiveJson<Opened>(ours, deadline)
      } catch (error) {
        const [code, signal] = await ended
        if (signal !== null) throw new Error(`the importer was ended by ${signal}`, { cause: error })
        if (code !== 0) throw new Error(`the importer ended with code ${code}`, { cause: error })
        throw error
      }
    }
  } finally {
    ours.close()
    await ended
  }
}

/** The other process. It tells of errors over the channel, and dies of nothing but a crash. */
export async function importOnce(): Promise<void> {
  const channel = FdChannel.adopt(CHANNEL_FD)
  const { bytes } = await channel.receive()
  const { device } = await receiveJson<{ device: string }>(channel)
  const opened: Opened = { error: '', read: false, path: '', openMs: 0, left: 0 }
  try {
    const selected = selectDevice(device) // loads the runtime, which is not what is measured
    const start = performance.now()
    const memory = IPCMemoryHandle.open(bytes, selected, undefined, { channel })
    opened.openMs = performance.now() - start
    opened.path = memory.path ?? ''
    opened.read = memory.nbytes === NBYTES && holds(memory, EXPORTERS)
    memory.fill(IMPORTERS)
    IPCMemoryHandle.closeMapping(memory)
  } catch (error) {
    const { message, code } = error as { message: string; code?: string }
    opened.error = `${message}${code === undefined ? '' : ` [${code}]`}`
  }
  opened.left = ledger().live
  await sendJson(channel, opened)
  channel.close()
}

function holds(memory: UsmMemory, byte: number): boolean {
  const bytes = new Uint8Array(NBYTES)
  memory.copyTo(bytes)
  return bytes.every((b) => b === byte)
}

/** A descriptor that still travels is the channel's, not the books'. */
function left(): number {
  const { live } = ledger()
  return live + ledger({ process: true }).resources.filter(({ kind }) => kind !== 'descriptor').length
}
