/** Where there is no driver, or none that will do: said by name, with what brings it. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { cudaVariables } from '../support/backends.ts'
import { onGpu } from '../support/ipc.ts'

const SCRIPT = `
  import { IPCMemoryHandle, listBackends, listDevices, selectDevice } from './host/index.ts'
  const { available, reason } = listBackends().find(({ backend }) => backend === 'cuda')
  let error
  try { selectDevice('cuda') } catch (e) { error = { code: e.code, call: e.call, result: e.result, resultNumber: e.resultNumber, message: e.message } }
  console.log(JSON.stringify({ available, reason, error, devices: listDevices().filter((d) => d.backend === 'cuda').map((d) => d.toJSON()), can: IPCMemoryHandle.isAvailable('cuda') }))`

interface Answer {
  available: boolean
  reason: string
  can: boolean
  error?: { code: string; call: string; result: string; resultNumber: number; message: string }
  devices: { uuid: string; software: boolean; selector: string; type: string; memory: number; name: string }[]
}

function ask(env: Record<string, string>): Answer {
  const text = execFileSync(process.execPath, ['--import=tsx', '--input-type=module', '-e', SCRIPT], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)), env: { ...process.env, ...env }, encoding: 'utf8',
  })
  return JSON.parse(text) as Answer
}

test('no library', (t) => {
  const { available, reason, error, devices, can } = ask({ USM_IPC_CUDA_DRIVER: '/nonexistent/libcuda.so.1' })
  t.deepEqual([available, can, devices], [false, false, []])
  t.regex(reason, /there is no CUDA driver .*\/nonexistent\/libcuda\.so\.1.*install NVIDIA's driver.*--gpus all/)
  t.like(error, { code: 'ERR_USM_IPC_BACKEND_UNAVAILABLE' })
})

test('a library that is something else', (t) => {
  const { reason } = ask({ USM_IPC_CUDA_DRIVER: 'libm.so.6' })
  t.regex(reason, /libm\.so\.6 has no cuInit, .*cuMemPoolImportPointer.*too old/)
})

test('no device is visible', (t) => {
  const { available, reason, error } = ask({ ...cudaVariables('legacy'), CUDA_VISIBLE_DEVICES: '' })
  t.false(available)
  t.regex(reason, /cuInit failed: CUDA_ERROR_NO_DEVICE \(0x64\).*CUDA_VISIBLE_DEVICES hides them/)
  t.like(error, { code: 'ERR_USM_IPC_BACKEND_UNAVAILABLE', call: 'cuInit', result: 'CUDA_ERROR_NO_DEVICE', resultNumber: 100 })
})

test('the devices there are', (t) => {
  const { available, devices, can } = ask(cudaVariables('legacy'))
  t.deepEqual([available, can], [true, true])
  t.is(new Set(devices.map(({ uuid }) => uuid)).size, devices.length)
  t.like(devices[0], { selector: 'cuda:0', type: 'gpu', software: !onGpu })
  t.true(devices[0]!.memory > 0)
  t.deepEqual(ask(cudaVariables('legacy')).devices, devices, 'another process sees the same')
})
