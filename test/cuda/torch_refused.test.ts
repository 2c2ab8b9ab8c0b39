/** What is no share of PyTorch's, or none any more, is refused before anything is opened, and left as it is. */
import { chownSync, mkdirSync, symlinkSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import test from 'ava'
import { ledger, listDevices, openTorchStorage, type TorchStorage } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { onGpu } from '../support/ipc.ts'
import { counterFile, counters, newName, pathOf, removeCounterFiles, setCounters } from './counter_file.ts'
import { startTorchExporter, type TorchExporter } from './torch_exporter.ts'

cudaBackend('legacy')
if (!onGpu) process.env['USM_IPC_CUDA_SW_DEVICES'] = '2'
const device = 'cuda'
const name = counterFile(1n)
let torch: TorchExporter
let good: TorchStorage

test.before(async () => {
  torch = await startTorchExporter()
  good = { handle: torch.handle, nbytes: 10, offset: 0, refCounter: { name, offset: 0 } }
})
test.after.always(async (t) => {
  removeCounterFiles()
  await torch?.stop()
  t.is(ledger().live, 0)
})

function codeOf(share: unknown): string | undefined {
  try {
    openTorchStorage(share as TorchStorage, device).close()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code?.replace('ERR_USM_IPC_', '') ?? String(error)
  }
}

const counter = (file: string, offset = 0): string | undefined => codeOf({ ...good, refCounter: { name: file, offset } })

test.serial('names that are no file of PyTorch\'s', (t) => {
  const names = ['', '/', '/..', '/.', 'torch', 'torch_1', '/torch_', '/a/b', '/../etc/passwd', '/torch_1/../x', '/torch_/', '/torch_\0', `/torch_${'x'.repeat(300)}`]
  for (const bad of names) t.is(counter(bad), 'INVALID_REF_COUNTER', bad)
  t.is(counter(`/torch_${'x'.repeat(249)}`), 'EXPORTER_GONE', 'as long as a file\'s name can be')
  for (const bad of [undefined, null, 5, {}]) t.is(counter(bad as never as string, bad === undefined ? 0 : 1), 'INVALID_REF_COUNTER')
  t.is(codeOf({ ...good, refCounter: { name: Uint8Array.of(47, 255, 254), offset: 0 } }), 'INVALID_REF_COUNTER')
})

test.serial('files that are none of PyTorch\'s', (t) => {
  const [link, folder, pipe] = [newName(), newName(), newName()]
  symlinkSync(pathOf(name), pathOf(link))
  mkdirSync(pathOf(folder))
  execFileSync('mkfifo', [pathOf(pipe)])
  for (const bad of [link, folder, pipe, counterFile()]) t.is(counter(bad), 'BAD_REF_COUNTER', bad)
  const unused = newName()
  setCounters(unused, 0, 1n)
  t.is(counter(unused), 'BAD_REF_COUNTER', 'nobody has it mapped')
  for (const index of [1, 1000, 2 ** 40, Number.MAX_SAFE_INTEGER]) t.is(counter(name, index), 'BAD_REF_COUNTER', String(index))
  for (const index of [-1, 0.5, NaN, 2 ** 53]) t.is(counter(name, index), 'INVALID_REF_COUNTER', String(index))
  if (process.getuid!() === 0) {
    const others = counterFile(1n)
    chownSync(pathOf(others), 65534, 65534)
    t.is(counter(others), 'BAD_REF_COUNTER', 'another user\'s')
    t.deepEqual(counters(others), [1, 1n])
  }
  t.deepEqual(counters(name), [1, 1n])
})

test.serial('shares that are over', (t) => {
  t.is(counter(newName()), 'EXPORTER_GONE')
  t.is(counter(counterFile(0n)), 'STALE_HANDLE')
  t.is(counter(counterFile(-1n)), 'STALE_HANDLE')
  const once = counterFile(1n)
  t.is(counter(once), undefined)
  t.is(counter(once), 'STALE_HANDLE')
  t.deepEqual(counters(once), [1, 0n])
})

test.serial('the device', (t) => {
  if (listDevices().filter(({ backend }) => backend === 'cuda').length > 1) {
    t.throws(() => openTorchStorage(good), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_SELECTOR' })
    t.deepEqual(counters(name), [1, 1n])
  } else {
    const file = counterFile(1n)
    openTorchStorage({ ...good, refCounter: { name: file, offset: 0 } }).close()
    t.deepEqual(counters(file), [1, 0n])
  }
  t.throws(() => openTorchStorage(good, 'host'), { code: 'ERR_USM_IPC_WRONG_BACKEND' })
})

test.serial('what is no share at all', (t) => {
  const { handle: raw, nbytes, offset } = good
  const tuple = [0, raw, nbytes, offset, name, 0, new Uint8Array(64), false]
  for (const bad of [undefined, null, 5, 'text', tuple.slice(1), [...tuple, 1], [0, null, nbytes, offset, null, 0, null, null]]) t.is(codeOf(bad), 'INVALID_TORCH_SHARE', String(bad))
  t.is(codeOf({ ...good, nbytes: 0 }), 'INVALID_NBYTES')
  t.is(codeOf({ ...good, offset: -4 }), 'INVALID_OFFSET')
  t.is(codeOf({ ...good, offset: undefined }), 'INVALID_OFFSET')
  t.is(codeOf({ ...good, handle: 'text' }), 'INVALID_BYTES')
  t.is(codeOf({ ...good, handle: raw.subarray(2) }), 'BAD_HANDLE_LENGTH')
  t.is(codeOf({ ...good, handle: new Uint8Array(66) }), 'HANDLE_UNKNOWN_VERSION')
  t.is(codeOf({ ...good, event: new Uint8Array(3) }), 'BAD_HANDLE_LENGTH')
  t.is(codeOf({ ...good, eventSyncRequired: true }), 'INVALID_TORCH_SHARE')
  t.is(codeOf({ ...good, eventSyncRequired: 1 }), 'INVALID_TORCH_SHARE')
  t.throws(() => openTorchStorage(good, device, { timeoutMs: 5 } as object), { code: 'ERR_USM_IPC_UNKNOWN_OPTION' })
  t.throws(() => openTorchStorage(good, device, { eventTimeoutMs: -1 }), { code: 'ERR_USM_IPC_INVALID_TIMEOUT' })
  t.deepEqual(counters(name), [1, 1n])
})
