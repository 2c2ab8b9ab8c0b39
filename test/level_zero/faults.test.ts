/** Every call of the driver fails in turn. Each time: one clear error, nothing left behind, and it works again. */
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startChild } from '../support/child.ts'
import type { Outcome } from './children/flow.ts'
import { compile } from './compile.ts'
import { softwareDriver, type Form } from './party.ts'
import { softwareDriverFolder } from './software_driver.ts'

/** The functions that are called on the way, by whether their failure is told. */
const ENUMERATION = [
  'zeInit', 'zeDriverGet', 'zeDeviceGet', 'zeContextCreate', 'zeDeviceGetProperties', 'zeDeviceGetSubDevices', 'zeDeviceGetMemoryProperties',
]
const WORK = [
  'zeMemAllocDevice', 'zeMemAllocHost', 'zeMemAllocShared', 'zeMemGetIpcHandle', 'zeMemOpenIpcHandle', 'zeMemGetAllocProperties',
  'zeMemGetAddressRange', 'zeDeviceGetCommandQueueGroupProperties', 'zeCommandListCreateImmediate', 'zeCommandListAppendMemoryCopy',
  'zeCommandListAppendMemoryFill',
]
/** A driver may know or refuse any name there. */
const ASKED = ['zeDriverGetExtensionFunctionAddress']
const RELEASE = ['zeMemFree', 'zeMemPutIpcHandle', 'zeMemCloseIpcHandle']

interface Run {
  outcomes: Outcome[]
  stderr: string
}

async function flow(t: ExecutionContext, env: Record<string, string>, most = 200): Promise<Run> {
  const child = startChild(new URL('children/flow.ts', import.meta.url), { env, arguments: [String(most)] })
  const { code, signal, stdout, stderr } = await child.exited
  child.channel.close()
  t.deepEqual([code, signal], [0, null], stderr)
  return { outcomes: JSON.parse(stdout) as Outcome[], stderr }
}

function isEmpty(t: ExecutionContext, { held }: Outcome, after: string): void {
  const { memfds, mappings, live, claims, resources } = held
  t.deepEqual({ memfds, mappings, live, claims, resources }, { memfds: 0, mappings: 0, live: 0, claims: 0, resources: 0 }, `nothing is left after ${after}`)
}

/** How often the way calls each function. */
async function calls(t: ExecutionContext, form: Form): Promise<Map<string, number>> {
  const { stderr, outcomes } = await flow(t, { ...softwareDriver(form), USM_IPC_ZE_TRACE: 'calls' }, 1)
  t.is(outcomes[0]!.error, undefined, JSON.stringify(outcomes[0]!.error))
  const counts = new Map<string, number>()
  for (const [, name] of stderr.matchAll(/^usm-ipc software driver: (ze\w+):/gm)) counts.set(name!, (counts.get(name!) ?? 0) + 1)
  return counts
}

const CASES: [Form, number, string][] = [
  ['classic', 0x70000001, 'ZE_RESULT_ERROR_DEVICE_LOST'],
  ['opaque', 0x70000003, 'ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY'],
  ['opaque', 0x7ffffffe, 'ZE_RESULT_ERROR_UNKNOWN'],
  ['opaque-mirror', 0x12345, 'ZE_RESULT_<unknown>'],
]

for (const [form, number, result] of CASES) {
  test.serial(`${form}: each call fails with ${result}`, async (t) => {
    const counted = await calls(t, form)
    t.deepEqual([...counted.keys()].sort(), [...ENUMERATION, ...WORK, ...ASKED, ...RELEASE].sort(), 'every function is known here')
    const faults = [...counted].flatMap(([name, n]) => (RELEASE.includes(name) ? [] : Array.from({ length: n }, (_, i) => `${name}:${i + 1}`)))
    const { outcomes } = await flow(t, { ...softwareDriver(form), USM_IPC_ZE_FAULT: faults.map((fault) => `${fault}:${number}`).join(',') })
    const failed: string[] = []
    for (const outcome of outcomes) {
      const { error } = outcome
      isEmpty(t, outcome, error?.message ?? 'all went well')
      if (error === undefined) continue
      const call = /\b(ze\w+) failed: ([\w<>]+) \((0x[0-9a-f]+)\)/.exec(error.message)
      t.deepEqual([error.name, call?.[2], call?.[3]], ['DriverError', result, `0x${number.toString(16)}`], error.message)
      if (ENUMERATION.includes(call![1]!)) t.is(error.code, 'ERR_USM_IPC_BACKEND_UNAVAILABLE')
      else t.deepEqual([error.code, error.call, error.result, error.resultNumber], ['ERR_USM_IPC_DRIVER_CALL_FAILED', call![1], result, number])
      failed.push(call![1]!)
    }
    const expected = faults.map((fault) => fault.split(':')[0]!).filter((name) => !ASKED.includes(name))
    t.deepEqual(failed.sort(), expected.sort(), 'each fault was met once, and told')
    t.deepEqual(outcomes.slice(-2).map(({ error }) => error), [undefined, undefined], 'and then it works')
    t.is(new Set(outcomes.slice(-2).map(({ held }) => held.descriptors)).size, 1)
  })
}

test.serial('what the driver refuses to take back stays its own: no error, empty books', async (t) => {
  for (const name of RELEASE) {
    const { outcomes } = await flow(t, { ...softwareDriver('opaque'), USM_IPC_ZE_FAULT: `${name}:*:0x70000001` })
    for (const { error, held } of outcomes) {
      t.is(error, undefined, `${name}: ${error?.message}`)
      t.deepEqual([held.live, held.claims, held.resources], [0, 0, 0])
    }
    t.is(outcomes.length, 2)
    // A handle that was not put ends with its memory.
    if (name === 'zeMemPutIpcHandle') for (const outcome of outcomes) isEmpty(t, outcome, name)
    else t.true(outcomes[0]!.held.mappings > 0, 'the fault was met')
  }
})

test.serial('a context that is made for nothing is given back, or that is tried', async (t) => {
  const faults = 'zeDeviceGetProperties:1:0x70000001,zeContextDestroy:*:0x70000001'
  const { outcomes, stderr } = await flow(t, { ...softwareDriver('opaque'), USM_IPC_ZE_FAULT: faults, USM_IPC_ZE_TRACE: '1' })
  t.deepEqual(outcomes.map(({ error }) => error?.code), ['ERR_USM_IPC_BACKEND_UNAVAILABLE', undefined, undefined])
  t.regex(stderr, /zeContextDestroy: ZE_RESULT_ERROR_DEVICE_LOST/)
})

for (const from of ['zeMemAllocDevice:1', 'zeMemGetIpcHandle:1', 'zeMemOpenIpcHandle:1', 'zeCommandListAppendMemoryCopy:1', 'zeCommandListAppendMemoryCopy:2']) {
  test.serial(`the device is lost from ${from} on`, async (t) => {
    const [name] = from.split(':')
    const { outcomes } = await flow(t, { ...softwareDriver('opaque'), USM_IPC_ZE_LOST: from }, 3)
    t.is(outcomes.length, 3)
    for (const [i, outcome] of outcomes.entries()) {
      isEmpty(t, outcome, `the ${i + 1}. time`)
      t.is(outcome.error?.result, 'ZE_RESULT_ERROR_DEVICE_LOST')
      if (i === 0) t.is(outcome.error?.call, name)
      t.regex(outcome.error!.message, /the device is lost to this process: end it, and start again/)
    }
  })
}

test.serial('a success without a result is a failure', async (t) => {
  const real = softwareDriverFolder()
  const loader = compile(['test/level_zero/empty_results.cc'], [
    '-Inative', '-shared', '-fPIC', '-Wl,--no-as-needed', join(real, 'libze_loader.so.1'), `-Wl,-rpath,${real}`,
  ], 'libze_loader.so.1')
  t.teardown(() => loader.remove())
  const expected: Record<string, [code: string, says: RegExp]> = {
    '': ['', /^$/],
    zeInit: ['BACKEND_UNAVAILABLE', /zeDriverGet failed: ZE_RESULT_ERROR_UNINITIALIZED/],
    zeDriverGet: ['BACKEND_UNAVAILABLE', /has no device/],
    zeDeviceGet: ['BACKEND_UNAVAILABLE', /has no device/],
    zeDeviceGetProperties: ['BACKEND_UNAVAILABLE', /zeDeviceGetProperties told nothing of the device, and no error/],
    zeContextCreate: ['BACKEND_UNAVAILABLE', /zeContextCreate gave no context, and no error/],
    zeDeviceGetCommandQueueGroupProperties: ['NO_QUEUE', /no command queue that copies/],
    zeCommandListCreateImmediate: ['NULL_RESULT', /gave no list, and no error/],
    zeMemAllocDevice: ['NULL_RESULT', /gave no memory, and no error/],
    zeMemAllocHost: ['NULL_RESULT', /gave no memory, and no error/],
    zeMemGetIpcHandle: ['NULL_RESULT', /gave no handle, and no error/],
    zeMemOpenIpcHandle: ['NULL_RESULT', /gave no address, and no error/],
    zeMemGetAllocProperties: ['NOT_DEVICE_MEMORY', /memory of type 0/],
    zeMemGetAddressRange: ['EXTENT_MISMATCH', /opened 0 bytes where the handle says 5000/],
  }
  for (const [name, [code, says]] of Object.entries(expected)) {
    const env = { USM_IPC_SOFTWARE_DRIVER: '', ZEL_LIBRARY_PATH: loader.folder, USM_IPC_TEST_EMPTY: name }
    const { outcomes } = await flow(t, env, 2)
    for (const outcome of outcomes) {
      isEmpty(t, outcome, name)
      t.is(outcome.error?.code ?? '', code === '' ? '' : `ERR_USM_IPC_${code}`, `${name}: ${outcome.error?.message}`)
      t.regex(outcome.error?.message ?? '', says)
      if (code !== '') t.is(outcome.error?.name, 'DriverError')
    }
  }
})
