import test from 'ava'
import { createRequire } from 'node:module'
import { listBackends, listDevices } from '../../host/index.ts'
import { cli } from './run_cli.ts'

test('devices lists what can be shared on, and why the rest cannot', async (t) => {
  const { code, stdout, stderr } = await cli(['devices'])
  t.is(code, 0, stderr)
  t.regex(stdout, /^SELECTOR +TYPE +UUID +MEMORY +NAME\n/)
  for (const device of listDevices()) t.true(stdout.includes(device.selector) && stdout.includes(device.uuid))
  for (const { backend, available, reason } of listBackends()) if (!available) t.true(stdout.includes(`${backend}: ${reason}`))
  t.is(stderr, '')
})

test('devices --json is for scripts', async (t) => {
  const { code, stdout } = await cli(['devices', '--json'])
  t.is(code, 0)
  const { software, ...own } = JSON.parse(stdout) as { software: { devices: { selector: string; software: boolean; uuid: string }[] } }
  t.deepEqual(own as object, JSON.parse(JSON.stringify({ devices: listDevices(), backends: listBackends() })))
  t.deepEqual(software.devices.map((d) => d.selector), ['level_zero:0', 'sycl:0'])
  for (const { software: is, uuid } of software.devices) t.true(is && /^[0-9a-f-]{36}$/.test(uuid))
  t.deepEqual(JSON.parse((await cli(['devices', '--json', '--own'])).stdout), own)
})

test('output to a pipe has no colours', async (t) => {
  for (const args of [['devices'], ['inspect', '00'], ['--help']]) {
    const { stdout, stderr } = await cli(args, { env: { TERM: 'xterm-256color' } })
    t.false((stdout + stderr).includes('\u001b'))
  }
})

test('help and version are answers; anything unknown is wrong usage', async (t) => {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
  const answers = await Promise.all([['--help'], ['help'], ['help', 'inspect'], ['inspect', '--help'], ['demo', '--help']].map((args) => cli(args)))
  for (const { code, stdout } of answers) {
    t.is(code, 0)
    t.regex(stdout, /Usage: usm-ipc/)
  }
  t.like(await cli(['--version']), { code: 0, stdout: `${version}\n` })
  const wrong = await Promise.all([['nonsense'], ['devices', '--nonsense'], ['devices', 'extra'], ['demo', '--device']].map((args) => cli(args)))
  for (const { code, stdout, stderr } of wrong) {
    t.is(code, 2, stderr)
    t.is(stdout, '')
    t.regex(stderr, /error: .*\n[^]*--help shows what there is/)
  }
  t.is((await cli([])).code, 2)
})

test('devices lists the software driver\'s devices with their UUID, and that they are software; asked for, they are all there is', async (t) => {
  const { code, stdout, stderr } = await cli(['devices'])
  t.is(code, 0, stderr)
  t.regex(stdout, /^level_zero:0 +gpu +[0-9a-f-]{36} .*\(software: with --software\)$/m)
  t.regex(stdout, /^sycl:0 +gpu +[0-9a-f-]{36} .*\(software: with --software\)$/m)
  for (const asked of [await cli(['devices', '--software']), await cli(['--software', 'devices']), await cli(['devices'], { env: { USM_IPC_SOFTWARE_DRIVER: '1' } })]) {
    t.is(asked.code, 0, asked.stderr)
    t.is(asked.stderr, '')
    t.regex(asked.stdout, /^level_zero:0 +gpu +[0-9a-f-]{36} .*\(software\)$/m)
    t.notRegex(asked.stdout, /with --software/)
  }
})
