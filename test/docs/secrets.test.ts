// A handle is a bearer token: no error, log line or CLI message shows one, however it got there.
import { spawnSync } from 'node:child_process'
import { format, inspect } from 'node:util'
import test from 'ava'
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice, selectDevice, validate, inspect as inspectHandle } from '../../host/index.ts'
import { MAIN } from '../cli/run_cli.ts'

const memory = new MemoryUSMDevice(4096, { device: 'host' })
const handle = new IPCMemoryHandle(memory)
const token = handle.toString()
const hex = Buffer.from(handle.toBytes()).toString('hex')
const secrets = [token.slice(20, 60), hex.slice(20, 60), Array.from(handle.toBytes()).slice(4, 12).join(',')]
test.after.always(() => {
  handle.close()
  memory.close()
})

const hides = (text: string): boolean => secrets.every((secret) => !text.includes(secret))

test('errors of the library', (t) => {
  const mistakes: (() => unknown)[] = [
    () => IPCMemoryHandle.open('host', token),
    () => selectDevice(token),
    () => new MemoryUSMDevice(1, { device: token }),
    () => new MemoryUSMDevice(1, { device: 'host', sharing: token as never }),
    () => memory.fill(token as never),
    () => validate(handle.toBytes(), { kind: token as never }),
    () => inspectHandle(handle.toBytes(), { layout: token as never }),
    () => IPCMemoryHandle.openVendor(handle.toBytes(), 'host', 1, { layout: handle.toBytes() as never }),
    () => IPCMemoryHandle.openVendor(token as never, 'host', 1, { layout: 'host' }),
    () => FdChannel.adopt(token as never),
    () => IPCMemoryHandle.open(token.slice(0, -4), 'host'),
  ]
  for (const mistake of mistakes) {
    const error = t.throws(mistake, undefined, String(mistake))
    t.true(hides(inspect(error)), `${String(mistake)}: ${inspect(error)}`)
  }
})

test('what is logged', (t) => {
  for (const text of [inspect(handle), inspect({ handle }), JSON.stringify({ handle }), format('%o %O %j', handle, handle, handle)]) t.true(hides(text), text)
})

test('messages of the command line', (t) => {
  for (const args of [
    [token], [`--${token}`], ['inspect', `--${token}`], ['inspect', `-${hex}`], ['inspect', `--layout=${token}`, '-'],
    ['demo', token], ['demo', '--device', token], ['inspect', `${token.slice(0, -4)}!`], ['inspect', `${hex}zz`], ['devices', token],
  ]) {
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--import=tsx', MAIN, ...args], { encoding: 'utf8', input: '' })
    t.not(status, 0)
    if (args[0] !== 'inspect' || args.length > 2 || args[1]!.startsWith('-')) t.true(hides(stdout), stdout)
    t.true(hides(stderr), `${args[0]}: ${stderr}`)
  }
})
