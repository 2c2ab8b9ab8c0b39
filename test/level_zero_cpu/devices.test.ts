import test from 'ava'
import { Program } from './programs.ts'

const program = new Program('devices')

for (const name of ['initialization', 'initialization_by_type', 'driver', 'device', 'contexts']) {
  test(name, (t) => program.passes(t, name).then(() => undefined))
}

const two = { USM_IPC_ZE_DEVICES: '2', USM_IPC_ZE_SUBDEVICES: '2' }

/** `['0 root', '- 0.0 sub of', ...]`, and the UUIDs by name. */
async function devices(t: Parameters<typeof program.passes>[0], env: Record<string, string>): Promise<{ names: string[]; uuids: Map<string, string> }> {
  const lines = await program.passes(t, 'list_devices', env)
  const uuids = new Map<string, string>()
  const names = lines.map((line) => {
    const [, name = '', uuid = ''] = /^(.*) ([0-9a-f]{32})$/.exec(line) ?? []
    uuids.set(/[\d.]+/.exec(name)?.[0] ?? name, uuid)
    return name
  })
  return { names, uuids }
}

test('there is one device without sub-devices, unless more are asked for', async (t) => {
  t.deepEqual((await devices(t, {})).names, ['0 root'])
  t.deepEqual((await devices(t, two)).names, ['0 root', '- 0.0 sub of', '- 0.1 sub of', '1 root', '- 1.0 sub of', '- 1.1 sub of'])
})

test('UUIDs are the same in every process and whatever is masked', async (t) => {
  const { uuids } = await devices(t, two)
  t.is(new Set(uuids.values()).size, 6)
  for (const env of [{}, { ...two, ZE_AFFINITY_MASK: '1' }, { ...two, ZE_AFFINITY_MASK: '0.1,1.0' }, { ...two, ZE_FLAT_DEVICE_HIERARCHY: 'FLAT' }]) {
    for (const [name, uuid] of (await devices(t, env)).uuids) t.is(uuids.get(name), uuid)
  }
})

test('ZE_AFFINITY_MASK hides devices and sub-devices', async (t) => {
  const masked = async (mask: string): Promise<string[]> => (await devices(t, { ...two, ZE_AFFINITY_MASK: mask })).names
  t.deepEqual(await masked('1'), ['1 root', '- 1.0 sub of', '- 1.1 sub of'])
  t.deepEqual(await masked('0.1'), ['0.1 root'])
  t.deepEqual(await masked('0.0,0.1'), ['0 root', '- 0.0 sub of', '- 0.1 sub of'])
  t.deepEqual(await masked('1.1,0.0'), ['0.0 root', '1.1 root'])
  t.deepEqual(await masked('1,7,x,0.9'), ['1 root', '- 1.0 sub of', '- 1.1 sub of'])
})

test('ZE_FLAT_DEVICE_HIERARCHY', async (t) => {
  const shown = async (hierarchy: string, mask?: string): Promise<string[]> => {
    const env = { ...two, ZE_FLAT_DEVICE_HIERARCHY: hierarchy, ...(mask === undefined ? {} : { ZE_AFFINITY_MASK: mask }) }
    return (await devices(t, env)).names
  }
  t.deepEqual(await shown('COMPOSITE'), (await devices(t, two)).names)
  t.deepEqual(await shown('FLAT'), ['0.0 root', '0.1 root', '1.0 root', '1.1 root'])
  t.deepEqual(await shown('FLAT', '1,2'), ['0.1 root', '1.0 root'])
  t.deepEqual(await shown('COMBINED'), ['0.0 sub of', '0.1 sub of', '1.0 sub of', '1.1 sub of'])
})

test('no device is left, no driver is initialized', async (t) => {
  const { code, stdout, stderr } = await program.run('initialization_refused', { ZE_AFFINITY_MASK: '9' })
  t.is(code, 0, stderr)
  t.is(stdout, 'ZE_RESULT_ERROR_UNINITIALIZED\ndone\n')
  t.is(stderr, 'usm-ipc software driver: ZE_AFFINITY_MASK=9 leaves no device\n')
})

for (const [name, value, wanted] of [
  ['USM_IPC_ZE_HANDLES', 'Classic', 'classic, opaque or opaque-mirror'],
  ['USM_IPC_ZE_DEVICES', '0', 'a number from 1 to 64'],
  ['USM_IPC_ZE_DEVICES', 'two', 'a number from 1 to 64'],
  ['USM_IPC_ZE_SUBDEVICES', '-1', 'a number from 0 to 64'],
  ['USM_IPC_ZE_MEMORY', '1k', 'a number from 1 to '],
  ['USM_IPC_ZE_IP_VERSION', '0x100000000', 'a number from 0 to '],
  ['USM_IPC_ZE_FAULT', 'zeInit:1', 'function:call:result'],
  ['USM_IPC_ZE_FAULT', 'zeInit:0:1', 'function:call:result'],
  ['USM_IPC_ZE_FAULT', 'zeInit:1:0', 'function:call:result'],
  ['USM_IPC_ZE_LOST', '0', 'call or function:call'],
  ['USM_IPC_ZE_TRACE', 'yes', '1 (what fails) or calls'],
  ['ZE_FLAT_DEVICE_HIERARCHY', 'flat', 'COMPOSITE, FLAT or COMBINED'],
] as const) {
  test(`${name}=${value} is refused with what it takes`, async (t) => {
    const { code, stdout, stderr } = await program.run('initialization_refused', { [name]: value })
    t.is(code, 0, stderr)
    t.true(stdout.startsWith('ZE_RESULT_ERROR_INVALID_ARGUMENT'))
    t.true(stderr.startsWith(`usm-ipc software driver: ${name}=${value}: it takes ${wanted}`), stderr)
  })
}

for (const [name, value, said] of [
  ['USM_IPC_ZE_FAULT', 'zeMemAllocDevic:1:0x1', 'USM_IPC_ZE_FAULT: there is no function zeMemAllocDevic\n'],
  ['USM_IPC_ZE_FAULT', 'zeInit:9:0x1,zememinit:1:0x1', 'USM_IPC_ZE_FAULT: there is no function zememinit\n'],
  ['USM_IPC_ZE_LOST', 'zeFoo:1', 'USM_IPC_ZE_LOST: there is no function zeFoo\n'],
  ['USM_IPC_ZE_DEVICE', '2', 'USM_IPC_ZE_DEVICE: there is no such variable; there are USM_IPC_ZE_HANDLES, USM_IPC_ZE_DEVICES, '],
] as const) {
  test(`what is misspelt is refused: ${name}=${value}`, async (t) => {
    const { code, stdout, stderr } = await program.run('initialization_refused', { [name]: value })
    t.is(code, 0, stderr)
    t.true(stdout.startsWith('ZE_RESULT_ERROR_INVALID_ARGUMENT'), stdout)
    t.true(stderr.startsWith(`usm-ipc software driver: ${said}`), stderr)
    t.is(stderr.match(/\n/g)!.length, 1)
  })
}

test('an empty variable is as one that is not set', async (t) => {
  const env = { USM_IPC_ZE_DEVICE: '', USM_IPC_ZE_DEVICES: '', USM_IPC_ZE_FAULT: '', ZE_FLAT_DEVICE_HIERARCHY: '', ZE_AFFINITY_MASK: '' }
  t.deepEqual((await devices(t, env)).names, ['0 root'])
})

test('USM_IPC_ZE_TRACE says what failed, or everything', async (t) => {
  const silent = await program.run('initialization')
  t.is(silent.stderr, '')
  const failures = await program.run('initialization', { USM_IPC_ZE_TRACE: '1' })
  t.is(failures.stderr.split('\n')[0], 'usm-ipc software driver: zeDriverGet: ZE_RESULT_ERROR_UNINITIALIZED (0x78000001)')
  t.false(failures.stderr.includes('SUCCESS'))
  const calls = await program.run('initialization', { USM_IPC_ZE_TRACE: 'calls' })
  t.true(calls.stderr.includes('usm-ipc software driver: zeInit: ZE_RESULT_SUCCESS (0x0)\n'))
})
