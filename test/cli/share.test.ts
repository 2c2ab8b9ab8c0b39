import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { connect } from '../../host/index.ts'
import { pattern } from '../contract/support.ts'
import { fileOf, headerOf } from '../safetensors/make.ts'
import { alive } from '../support/child.ts'
import { cli } from './run_cli.ts'
import { DEVICES, scratch, share, software } from './run_share.ts'

const folder = scratch((done) => test.after.always(done))
const TENSORS = [{ name: 'enc.w', dtype: 'F32', shape: [100, 10] }, { name: 'none', dtype: 'F32', shape: [0] }, { name: 'enc.b', dtype: 'F16', shape: [10] }]
const { text, nbytes } = headerOf(TENSORS, { format: 'pt' })
const DATA = pattern(nbytes)
const model = join(folder, 'model.safetensors')
writeFileSync(model, fileOf(text, DATA))
const plain = join(folder, 'plain.bin')
writeFileSync(plain, pattern(5000))
const at = (name: string): string => join(folder, name)

for (const device of DEVICES) {
  test.serial(`${device}: each tensor under its name, one allocation, until it is ended`, async (t) => {
    const socket = at(`${device}.sock`)
    const sharing = await share([model, '--device', device, '--socket', socket, ...software(device)])
    t.like(sharing.ready, { socket, nbytes, names: ['enc.w', 'enc.b'], empty: 1, device: `${device}:0` })
    t.is(statSync(socket).mode & 0o777, 0o600)
    const listing = JSON.parse((await cli(['list', socket, '--json', ...software(device)])).stdout) as { name: string; dtype: string; shape: number[]; offset: number; leases: number; allocationId: string }[]
    t.like(listing, [{ name: 'enc.b', dtype: 'float16', shape: [10], offset: 4000, leases: 0 }, { name: 'enc.w', dtype: 'float32', shape: [100, 10], offset: 0, leases: 0 }])
    t.is(listing[0]!.allocationId, listing[1]!.allocationId)
    const { code, stderr } = await sharing.stop()
    t.is(code, 0, stderr)
    t.is(stderr, '')
    t.false(existsSync(socket))
  })
}

test.serial('a plain file has one name; --name renames it, or begins the names of tensors', async (t) => {
  for (const [args, names] of [
    [[plain], ['plain.bin']], [[plain, '--name', 'other'], ['other']], [[model, '--name', 'v2/'], ['v2/enc.w', 'v2/enc.b']],
    [[model, '--format', 'raw'], ['model.safetensors']],
  ] as const) {
    const sharing = await share([...args, '--device', 'host', '--socket', at('names.sock')])
    t.deepEqual(sharing.ready.names, [...names])
    t.is((await sharing.stop('SIGTERM')).code, 0)
  }
})

test.serial('what it prints for people: the commands that go on from here, no colours, no handle', async (t) => {
  const { start } = await import('./run_share.ts')
  const socket = at('people.sock')
  const { process: child, line, exited } = start(['share', model, '--device', 'host', '--socket', socket])
  await line
  child.kill('SIGINT')
  const { code, stdout, stderr } = await exited
  t.is(code, 0)
  t.true(stdout.includes(`usm-ipc attach ${socket}`))
  t.false(/usmipc\d/.test(stdout + stderr) || (stdout + stderr).includes('\u001b'))
})

test.serial('importers are told when it ends, and those that do not close do not hold it up', async (t) => {
  const sharing = await share([model, '--device', 'host', '--socket', at('told.sock')])
  const session = await connect(sharing.ready.socket)
  const memory = await session.open('enc.w')
  const gone = new Promise((resolve) => session.once('exporterGone', resolve))
  const revoked = new Promise((resolve) => session.once('revoked', resolve))
  t.is((await sharing.stop()).code, 0)
  await alive(Promise.all([revoked, gone]))
  // The mapping is the importer's until it closes it.
  const bytes = new Uint8Array(4000)
  memory.copyTo(bytes)
  t.deepEqual(bytes, DATA.subarray(0, 4000))
  memory.close()
  await session.close()
})

test.serial('--read-only: importers cannot write, or the backend says that it cannot', async (t) => {
  const sharing = await share([model, '--device', 'host', '--read-only', '--socket', at('ro.sock')])
  const session = await connect(sharing.ready.socket)
  const memory = await session.open('enc.b')
  t.true(memory.readOnly)
  t.throws(() => memory.copyFrom(new Uint8Array(1)), { code: 'ERR_USM_IPC_READ_ONLY' })
  memory.close()
  await session.close()
  t.is((await sharing.stop()).code, 0)
  const refused = await cli(['share', model, '--device', 'level_zero', '--software', '--read-only', '--socket', at('ro2.sock')])
  t.like(refused, { code: 1, stdout: '' })
  t.true(refused.stderr.includes('[ERR_USM_IPC_NOT_SHAREABLE]'), refused.stderr)
})

test.serial('--ttl: ends by itself once the names have expired and nobody holds a lease', async (t) => {
  const sharing = await share([model, '--device', 'host', '--ttl', '1', '--socket', at('ttl.sock')])
  const session = await connect(sharing.ready.socket)
  const memory = await session.open('enc.b')
  await new Promise((resolve) => setTimeout(resolve, 1500))
  t.deepEqual(await session.list(), [])
  t.is(sharing.process.exitCode, null)
  memory.close()
  t.like(await sharing.exited, { code: 0, stderr: '' })
  await session.close()
})

test.serial('a key: who does not have it is refused what it sealed', async (t) => {
  const key = at('secret.key')
  writeFileSync(key, `${'5a'.repeat(32)}\n`, { mode: 0o600 })
  const raw = at('raw.key')
  writeFileSync(raw, new Uint8Array(32).fill(0x5a), { mode: 0o600 })
  const wrong = at('wrong.key')
  writeFileSync(wrong, new Uint8Array(32).fill(1), { mode: 0o600 })
  const sharing = await share([model, '--device', 'host', '--key-file', key, '--key-id', '7', '--socket', at('key.sock')])
  const attach = (...args: string[]): ReturnType<typeof cli> => cli(['attach', at('key.sock'), '--json', ...args])
  t.is((await attach('--key-file', key, '--key-id', '7')).code, 0)
  t.is((await attach('--key-file', raw, '--key-id', '7')).code, 0)
  const forged = await attach('--key-file', wrong, '--key-id', '7')
  t.is(forged.code, 1)
  t.regex(forged.stderr, /\[ERR_USM_IPC_BAD_TAG\]\n$/)
  const unknown = await attach('--key-file', key, '--key-id', '8')
  t.regex(unknown.stderr, /\[ERR_USM_IPC_UNKNOWN_KEY\]\n$/)
  t.notRegex(forged.stderr + unknown.stderr, /5a5a5a|0101/)
  t.is((await sharing.stop()).code, 0)
  const unsealed = await share([model, '--device', 'host', '--socket', at('nokey.sock')])
  t.regex((await cli(['attach', at('nokey.sock'), '--key-file', key])).stderr, /\[ERR_USM_IPC_UNAUTHENTICATED\]\n$/)
  await unsealed.stop()
})

test.serial('a key file that others may read is warned of; one of another length is wrong usage', async (t) => {
  const open = at('open.key')
  writeFileSync(open, '5a'.repeat(32), { mode: 0o644 })
  t.regex((await cli(['attach', at('absent.sock'), '--key-file', open])).stderr, /^usm-ipc: warning: other users may read .*open\.key/)
  const short = at('short.key')
  writeFileSync(short, 'secret', { mode: 0o600 })
  t.like(await cli(['attach', at('absent.sock'), '--key-file', short]), { code: 2, stdout: '' })
})

test.serial('without --socket: in a folder of this user alone, which is checked', async (t) => {
  const runtime = at('run')
  mkdirSync(runtime)
  const sharing = await share([model, '--device', 'host'], { XDG_RUNTIME_DIR: runtime })
  t.is(sharing.ready.socket, join(runtime, 'usm-ipc', 'model.safetensors.sock'))
  t.is(statSync(join(runtime, 'usm-ipc')).mode & 0o777, 0o700)
  const again = await cli(['share', model, '--device', 'host'], { env: { XDG_RUNTIME_DIR: runtime } })
  t.is(again.code, 1)
  t.regex(again.stderr, /\[ERR_USM_IPC_ADDRESS_IN_USE\]/)
  await sharing.stop()
  t.deepEqual(readdirSync(join(runtime, 'usm-ipc')), [])

  const temporary = at('tmp')
  mkdirSync(temporary)
  const env = { XDG_RUNTIME_DIR: '', TMPDIR: temporary }
  const other = await share([plain, '--device', 'host'], env)
  t.is(other.ready.socket, join(temporary, `usm-ipc-${process.geteuid!()}`, 'plain.bin.sock'))
  await other.stop()

  for (const [name, make] of [
    ['open', (path: string) => mkdirSync(path, { mode: 0o755 })], ['link', (path: string) => symlinkSync(join(runtime, 'usm-ipc'), path)],
    ['file', (path: string) => writeFileSync(path, '')],
  ] as const) {
    const dir = at(name)
    mkdirSync(dir)
    make(join(dir, `usm-ipc-${process.geteuid!()}`))
    const { code, stderr } = await cli(['share', plain, '--device', 'host'], { env: { XDG_RUNTIME_DIR: '', TMPDIR: dir } })
    t.is(code, 1)
    t.regex(stderr, /\[ERR_USM_IPC_UNSAFE_FOLDER\]\n$/, name)
  }
})

test.serial('other users are served by number alone', async (t) => {
  const sharing = await share([plain, '--device', 'host', '--socket', at('users.sock'), '--allow-uid', '12345', '--allow-uid', '12346'])
  t.is(statSync(at('users.sock')).mode & 0o777, 0o666)
  t.is((await cli(['attach', at('users.sock')])).code, 0)
  await sharing.stop()
  for (const args of [['--allow-uid', '1'], ['--mode', '666', '--socket', at('u.sock')], ['--mode', '999'], ['--allow-uid', 'root', '--socket', at('u.sock')]]) {
    t.like(await cli(['share', plain, ...args]), { code: 2, stdout: '' }, args.join(' '))
  }
})

test.serial('what cannot be shared is one clear line, and no socket stays', async (t) => {
  const bad = at('bad.safetensors')
  writeFileSync(bad, fileOf('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', 4))
  const cases: [args: string[], message: RegExp, code: number][] = [
    [[bad, '--device', 'host'], /tensor 'a' has 4 bytes; F32 of shape \[2\] has 8 \[ERR_USM_IPC_TENSOR_WRONG_LENGTH\]/, 1],
    [[at('absent'), '--device', 'host'], /ENOENT/, 1],
    [[plain, '--device', 'nonsense'], /is not a device selector/, 2],
    [[plain, '--device', 'host', '--ttl', '0'], /--ttl must be an integer/, 2],
    [[plain, '--device', 'host', '--key-id', '1'], /--key-id needs --key-file/, 2],
  ]
  for (const [args, message, code] of cases) {
    const answer = await cli(['share', ...args, '--socket', at('none.sock')])
    t.like(answer, { code, stdout: '' })
    t.regex(answer.stderr, message)
    t.is(answer.stderr.trimEnd().split('\n').length, 1, answer.stderr)
  }
  t.false(existsSync(at('none.sock')))
  t.is(createHash('sha256').update(readFileSync(plain)).digest('hex'), createHash('sha256').update(pattern(5000)).digest('hex'))
})
