/** What PyTorch shares is opened, read, and given back. */
import diagnostics from 'node:diagnostics_channel'
import { existsSync, renameSync, rmSync } from 'node:fs'
import test from 'ava'
import { ledger, openTorchStorage, type MemoryIPCDevice } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { encode, hear, say, startChild } from '../support/child.ts'
import type { Request } from './children/torch_party.ts'
import { counterFile, counters, pathOf, removeCounterFiles, setCounters } from './counter_file.ts'
import { byteAt, startTorchExporter, type TorchExporter } from './torch_exporter.ts'

cudaBackend('legacy')
const device = 'cuda'
let torch: TorchExporter
test.before(async () => {
  torch = await startTorchExporter()
})
test.after.always(async () => {
  removeCounterFiles()
  await torch?.stop()
})
test.afterEach.always((t) => t.is(ledger().live, 0))

function read(memory: MemoryIPCDevice): Uint8Array {
  const bytes = new Uint8Array(memory.nbytes)
  memory.copyTo(bytes)
  return bytes
}

test.serial('a share is read at its offset, and its counter counted down once', (t) => {
  const expected = Uint8Array.from({ length: 100 }, (_, i) => byteAt(4096 + i))
  const name = counterFile(5n, 3n, 7n)
  const { handle, event } = torch
  for (const share of [
    { handle, nbytes: 100, offset: 4096, refCounter: { name, offset: 1 } },
    { handle, nbytes: 100, offset: 4096, refCounter: { name: new TextEncoder().encode(name), offset: 1 }, event },
    [7, handle, 100, 4096, new TextEncoder().encode(name), 1, event, true] as const,
  ]) {
    const [, , before] = counters(name)
    const memory = openTorchStorage(share, device)
    t.deepEqual(read(memory), expected)
    t.deepEqual(counters(name), [1, 5n, before!, 7n])
    memory.close()
    memory.close()
    t.deepEqual(counters(name), [1, 5n, before! - 1n, 7n])
  }
})

test.serial('a share that could not be opened can be tried again', (t) => {
  const name = counterFile(1n)
  const share = { handle: torch.handle, nbytes: 100, offset: 0, refCounter: { name, offset: 0 }, event: new Uint8Array(64).fill(9) }
  t.throws(() => openTorchStorage(share, device), { code: 'ERR_USM_IPC_DRIVER_CALL_FAILED' })
  t.throws(() => openTorchStorage({ ...share, event: torch.event, offset: 1 << 30 }, device), { code: 'ERR_USM_IPC_EXTENT_MISMATCH' })
  t.deepEqual(counters(name), [1, 1n])
  // An event that there is nothing to wait for is not looked at.
  openTorchStorage({ ...share, eventSyncRequired: false }, device).close()
  t.deepEqual(counters(name), [1, 0n])
})

/** What closing says of the counter. */
function endOf(memory: MemoryIPCDevice): string | undefined {
  const said: { kind?: string; counter?: string }[] = []
  const listener = (message: unknown): void => void said.push(message as object)
  diagnostics.subscribe('usm-ipc:close', listener)
  memory.close()
  diagnostics.unsubscribe('usm-ipc:close', listener)
  return said.find(({ kind }) => kind === 'torch-share')?.counter
}

test.serial('whatever has become of the counter, closing does not fail', (t) => {
  const after = (change: (name: string) => void): [name: string, end: string | undefined] => {
    const name = counterFile(1n)
    const memory = openTorchStorage({ handle: torch.handle, nbytes: 100, offset: 0, refCounter: { name, offset: 0 } }, device)
    change(name)
    return [name, endOf(memory)]
  }
  const [name, end] = after(() => {})
  t.deepEqual([end, counters(name)], ['counted', [1, 0n]])
  const [spent, spentEnd] = after((file) => setCounters(file, 1, 0n))
  t.deepEqual([spentEnd, counters(spent)], ['counted-by-another', [1, 0n]], 'never below zero')
  const [last, lastEnd] = after((file) => setCounters(file, 0, 1n))
  t.deepEqual([lastEnd, existsSync(pathOf(last))], ['counted', false], 'who is last removes the file')
  t.is(after((file) => rmSync(pathOf(file)))[1], 'exporter-gone')
  const [other, otherEnd] = after((file) => renameSync(pathOf(counterFile(3n)), pathOf(file)))
  t.deepEqual([otherEnd, counters(other)], ['exporter-gone', [1, 3n]], 'another file of that name is left alone')
  t.is(after((file) => setCounters(file, 1))[1], 'failed', 'it is too short by now')
})

test.serial('who is collected, or exits, gives back what it has open', async (t) => {
  const child = startChild(new URL('children/torch_party.ts', import.meta.url), { execArgv: ['--expose-gc'] })
  const ask = async (request: Request): Promise<void> => {
    await say(child.channel, request)
    await hear(child.channel)
  }
  const [dropped, left] = [counterFile(1n), counterFile(1n)]
  const handle = encode(torch.handle)
  await ask({ do: 'open', handle, counter: dropped })
  t.deepEqual(counters(dropped), [1, 1n])
  for (let i = 0; i < 200 && counters(dropped)[1] !== 0n; i++) {
    await ask({ do: 'drop' })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  t.deepEqual(counters(dropped), [1, 0n])
  await ask({ do: 'open', handle, counter: left })
  await say(child.channel, { do: 'exit' })
  t.is((await child.exited).code, 0)
  child.channel.close()
  t.deepEqual([counters(dropped), counters(left)], [[1, 0n], [1, 0n]])
})
