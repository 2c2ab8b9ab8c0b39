/** Uses CUDA, forks without exec, and tells what the copy was told and what still works here. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addon } from '../../../host/addon.ts'
import { FdChannel, IPCEvent, IPCMemoryHandle, MemoryUSMDevice } from '../../../host/index.ts'
import { say } from '../../support/child.ts'

export interface Answer {
  /** Of the copy: the code of each operation's error, or `ok`. */
  codes: Record<string, string>
  /** Why there is no CUDA there. */
  reason: string
  status: number
  /** Of this process after that. */
  byte: number
}

const { fork, leave, waitFor } = createRequire(import.meta.url)(process.argv[2]!) as { fork(): number; leave(): never; waitFor(pid: number): number }
const channel = FdChannel.adopt(3)
const device = 'cuda'
const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-fork-'))
const path = join(folder, 'answer.json')
const memory = new MemoryUSMDevice(4096, { device })
memory.fill(4)
const handle = new IPCMemoryHandle(memory)
const bytes = handle.toBytes()
const event = new IPCEvent({ device })
const target = new Uint8Array(1)

function copy(): void {
  const codes: Record<string, string> = {}
  const operations: Record<string, () => unknown> = {
    allocate: () => new MemoryUSMDevice(4096, { device }),
    export: () => new IPCMemoryHandle(memory),
    open: () => IPCMemoryHandle.open(bytes, device),
    read: () => memory.copyTo(target),
    fill: () => memory.fill(5),
    'make an event': () => new IPCEvent({ device }),
    record: () => event.record(),
    query: () => event.query(),
    'close the event': () => event.close(),
    'close the handle': () => handle.close(),
    'close the memory': () => memory.close(),
  }
  for (const [name, run] of Object.entries(operations)) {
    try {
      run()
      codes[name] = 'ok'
    } catch (error) {
      codes[name] = (error as { code?: string }).code ?? String(error)
    }
  }
  const { reason } = addon().unavailable(addon().backends().indexOf('cuda'))
  writeFileSync(path, JSON.stringify({ codes, reason }))
}

const pid = fork()
if (pid === 0) {
  try {
    copy()
  } catch (error) {
    writeSync(2, String((error as Error).stack))
  }
  leave()
}
const status = waitFor(pid)
if (status !== 0) throw new Error(`the copy ended with ${status}`)
memory.copyTo(target)
for (const one of [event, handle, memory]) one.close()
const told = JSON.parse(readFileSync(path, 'utf8')) as Pick<Answer, 'codes' | 'reason'>
rmSync(folder, { recursive: true })
await say(channel, { ...told, status, byte: target[0]! } satisfies Answer)
