/** What loading a file promises, on any backend. */
import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { FormatError, StateError, loadFile, loadSafetensors } from '../../host/index.ts'
import { bytesOf, pattern } from '../contract/support.ts'
import { counts } from '../support/counts.ts'
import { writeBigFile } from './big_file.ts'
import { fileOf, headerOf } from './make.ts'

export function runLoading(device: string, options: { readOnly: boolean }): void {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
  test.after.always(() => rmSync(folder, { recursive: true, force: true }))
  const write = (name: string, bytes: Uint8Array): string => {
    const path = join(folder, name)
    writeFileSync(path, bytes)
    return path
  }
  const TENSORS = [
    { name: 'a', dtype: 'F32', shape: [3, 5] }, { name: 'empty', dtype: 'I8', shape: [0, 4] }, { name: 'b', dtype: 'F4', shape: [6] },
    { name: 'c', dtype: 'U8', shape: [1000, 9] },
  ]
  const { text, nbytes } = headerOf(TENSORS, { format: 'pt', note: 'ä' })
  const data = pattern(nbytes)

  test.serial('a safetensors file becomes one allocation, with its offsets', async (t) => {
    const before = counts()
    const file = await loadSafetensors(write('small.safetensors', fileOf(text, data)), device)
    t.is(file.memory.nbytes, nbytes)
    t.is<string, string>(file.memory.device.backend, device)
    t.deepEqual(bytesOf(file.memory), data)
    t.deepEqual({ ...file.metadata }, { format: 'pt', note: 'ä' })
    let at = 0
    for (const { name, shape } of TENSORS) {
      const tensor = file.tensors.find((x) => x.name === name)!
      t.deepEqual(tensor.array.shape, shape)
      t.is(tensor.offset, at)
      at += tensor.nbytes
    }
    file.close()
    file.close()
    t.deepEqual(counts(), before)
  })

  test.serial('a file of many pieces is read whole, and says how far it is', async (t) => {
    const path = join(folder, 'pieces.safetensors')
    const { tensors, nbytes: size } = await writeBigFile(path, 70_000_000)
    const seen: number[] = []
    using file = await loadSafetensors(path, device, { onProgress: (done, total) => void (t.is(total, size), seen.push(done)) })
    t.is(seen.at(-1), size)
    t.true(seen.length >= 8 && seen.every((done, i) => done > (seen[i - 1] ?? 0)))
    for (const { name, sha256 } of tensors) {
      const { offset, nbytes: length } = file.tensors.find((x) => x.name === name)!
      t.is(createHash('sha256').update(bytesOf(file.memory, offset, length)).digest('hex'), sha256, name)
    }
  })

  test.serial('any file becomes an array of bytes, or what the caller says', async (t) => {
    const path = write('plain.bin', pattern(1000))
    using file = await loadFile(path, device, 'plain')
    t.deepEqual(bytesOf(file.memory), pattern(1000))
    t.like(file.tensors[0], { name: 'plain', offset: 0, nbytes: 1000 })
    t.deepEqual(file.tensors[0]!.array, { code: 1, bits: 8, lanes: 1, shape: [1000] })
    using floats = await loadFile(path, device, 'plain', { array: { dtype: 'float32', shape: [250] } })
    t.deepEqual(floats.tensors[0]!.array, { code: 2, bits: 32, lanes: 1, shape: [250] })
  })

  test.serial('read-only: as the backend can, or refused by name', async (t) => {
    const path = write('ro.safetensors', fileOf(text, data))
    if (options.readOnly) {
      using file = await loadSafetensors(path, device, { sharing: 'readOnly' })
      t.deepEqual(bytesOf(file.memory), data)
    } else await t.throwsAsync(loadSafetensors(path, device, { sharing: 'readOnly' }), { code: 'ERR_USM_IPC_NOT_SHAREABLE' })
  })

  test.serial('what cannot be loaded is refused, and nothing is left of it', async (t) => {
    const before = counts()
    const refused = async (promise: Promise<unknown>, code: string): Promise<void> => void (await t.throwsAsync(promise, { code }))
    await refused(loadSafetensors(write('trailing', fileOf(text, nbytes + 1)), device), 'ERR_USM_IPC_DATA_TRAILING_BYTES')
    await refused(loadSafetensors(write('short', new Uint8Array(3)), device), 'ERR_USM_IPC_HEADER_MISSING')
    await refused(loadSafetensors(write('nothing', fileOf('{}')), device), 'ERR_USM_IPC_NO_DATA')
    await refused(loadFile(write('empty', new Uint8Array(0)), device, 'x'), 'ERR_USM_IPC_NO_DATA')
    await refused(loadSafetensors(folder, device), 'ERR_USM_IPC_NOT_A_FILE')
    await refused(loadSafetensors('/dev/zero', device), 'ERR_USM_IPC_NOT_A_FILE')
    await refused(loadSafetensors(join(folder, 'absent'), device), 'ENOENT')
    await refused(loadSafetensors(1 as never, device), 'ERR_USM_IPC_INVALID_PATH')
    await refused(loadSafetensors(folder, device, { progress: () => {} } as never), 'ERR_USM_IPC_UNKNOWN_OPTION')
    await t.throwsAsync(loadSafetensors(write('trailing', fileOf(text, nbytes + 1)), device), { instanceOf: FormatError })
    t.deepEqual(counts(), before)
  })

  test.serial('a file that is changed while it is read, and a load that is aborted, leave nothing', async (t) => {
    const before = counts()
    const path = join(folder, 'changing.safetensors')
    const changes: (() => void)[] = [
      () => appendFileSync(path, 'x'),
      () => writeFileSync(path, ''),
      () => utimesSync(path, 1, 1),
    ]
    for (const change of changes) {
      await writeBigFile(path, 70_000_000)
      let changed = false
      const error = await t.throwsAsync(loadSafetensors(path, device, { onProgress: () => { if (!changed) change(); changed = true } }))
      t.true(error instanceof StateError)
      t.is((error as StateError).code, 'ERR_USM_IPC_FILE_CHANGED')
    }
    await writeBigFile(path, 70_000_000)
    const aborter = new AbortController()
    await t.throwsAsync(loadSafetensors(path, device, { signal: aborter.signal, onProgress: () => aborter.abort() }), { name: 'AbortError', any: true })
    await t.throwsAsync(loadSafetensors(path, device, { signal: AbortSignal.abort() }), { name: 'AbortError', any: true })
    await t.throwsAsync(loadSafetensors(path, device, { onProgress: () => { throw new Error('mine') } }), { message: 'mine' })
    t.deepEqual(counts(), before)
  })
}
