import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { MemoryUSMDevice, listen } from '../../host/index.ts'
import { pattern } from '../contract/support.ts'
import { fileOf, headerOf } from '../safetensors/make.ts'
import { cli } from './run_cli.ts'
import { DEVICES, scratch, share, software, start } from './run_share.ts'

const folder = scratch((done) => test.after.always(done))
const TENSORS = [
  { name: 'enc.w', dtype: 'F32', shape: [100, 10] }, { name: 'none', dtype: 'BF16', shape: [0, 3] }, { name: 'enc.b', dtype: 'F8_E4M3', shape: [10] },
  { name: 'dec.w', dtype: 'F4', shape: [2, 7] },
]
const { text, nbytes } = headerOf(TENSORS, { format: 'pt' })
const DATA = pattern(nbytes)
const model = join(folder, 'model.safetensors')
writeFileSync(model, fileOf(text, DATA))
const at = (name: string): string => join(folder, name)
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

interface Report {
  names: { name: string; dtype: string; shape: number[]; nbytes: number; leases: number; sha256?: string }[]
  milliseconds: number
  leases: number
  readOnly: boolean
}

for (const device of DEVICES) {
  test.serial(`${device}: every tensor's bytes, by one lease; the file again, or one tensor alone`, async (t) => {
    const socket = at(`${device}.sock`)
    const sharing = await share([model, '--device', device, '--socket', socket, ...software(device)])
    const run = (...args: string[]): ReturnType<typeof cli> => cli(['attach', socket, ...args, ...software(device)])
    const { code, stdout, stderr } = await run('--digest', '--json')
    t.is(code, 0, stderr)
    const { names, leases } = JSON.parse(stdout) as Report
    t.is(leases, 1)
    t.deepEqual(names.map(({ name, dtype, shape, sha256: digest }) => [name, dtype, shape, digest]), [
      ['enc.w', 'float32', [100, 10], sha256(DATA.subarray(0, 4000))],
      ['enc.b', 'float8_e4m3fn', [10], sha256(DATA.subarray(4000, 4010))],
      ['dec.w', 'float4_e2m1fn', [2, 7], sha256(DATA.subarray(4010))],
    ])

    const copy = at(`${device}.safetensors`)
    t.like(await run('--out', copy), { code: 0, stderr: '', stdout: `wrote 3 names, 4.0 kB, to ${copy}\n` })
    const written = readFileSync(copy)
    const length = Number(written.readBigUInt64LE(0))
    t.is(length % 8, 0)
    const header = JSON.parse(written.subarray(8, 8 + length).toString()) as Record<string, unknown>
    t.deepEqual(header, { ...(JSON.parse(text) as object), none: { dtype: 'BF16', shape: [0, 3], data_offsets: [nbytes, nbytes] } })
    t.deepEqual(new Uint8Array(written.subarray(8 + length)), DATA)

    t.is((await run('enc.b', '--out', at(`${device}.bin`))).code, 0)
    t.deepEqual(new Uint8Array(readFileSync(at(`${device}.bin`))), DATA.subarray(4000, 4010))
    const piped = start(['attach', socket, 'enc.b', '--out', '-', ...software(device)])
    const { stdout: bytes, code: pipedCode } = await piped.exited
    t.is(pipedCode, 0)
    t.is(bytes, new TextDecoder().decode(DATA.subarray(4000, 4010)))
    t.is((await sharing.stop()).code, 0)
  })
}

test.serial('what it prints for people', async (t) => {
  const sharing = await share([model, '--device', 'host', '--socket', at('people.sock')])
  const { code, stdout, stderr } = await cli(['attach', at('people.sock'), '--prefix', 'enc.', '--digest'])
  t.is(code, 0, stderr)
  t.regex(stdout, /^NAME +DTYPE +SHAPE +SIZE +SHA-256\nenc\.w +float32 +\[100, 10\] +4\.0 kB +[0-9a-f]{64}\nenc\.b /)
  t.regex(stdout, /\nattached 4\.0 kB in \d+\.\d\d ms: 1 lease\n$/)
  t.false(/usmipc\d/.test(stdout + stderr) || (stdout + stderr).includes('\u001b'))
  await sharing.stop()
})

test.serial('--hold holds a lease, until it is interrupted, revoked, or the exporter is gone', async (t) => {
  const sharing = await share([model, '--device', 'host', '--socket', at('hold.sock')])
  const hold = (): ReturnType<typeof start> => start(['attach', at('hold.sock'), '--hold'])
  const leases = async (): Promise<number> => (JSON.parse((await cli(['list', at('hold.sock'), '--json'])).stdout) as { leases: number }[])[0]!.leases
  const interrupted = hold()
  await interrupted.line
  t.is(await leases(), 1)
  interrupted.process.kill('SIGINT')
  t.like(await interrupted.exited, { code: 0, stderr: '' })
  t.is(await leases(), 0)

  const revoked = hold()
  await revoked.line
  t.is((await sharing.stop()).code, 0)
  t.like(await revoked.exited, { code: 0, stderr: 'usm-ipc: the exporter has revoked what was attached: detached\n' })

  const killed = await share([model, '--device', 'host', '--socket', at('hold.sock')])
  const orphan = hold()
  await orphan.line
  await killed.stop('SIGKILL')
  const { code, stderr } = await orphan.exited
  t.is(code, 1)
  t.regex(stderr, /^usm-ipc: .*\[ERR_USM_IPC_EXPORTER_GONE\]\n$/)
})

test.serial('a socket, a name or an output that is not there is one clear line', async (t) => {
  const sharing = await share([model, '--device', 'host', '--socket', at('errors.sock')])
  const socket = at('errors.sock')
  const cases: [args: string[], message: RegExp, code: number][] = [
    [[at('absent.sock')], /\[ERR_USM_IPC_NO_LISTENER\]/, 1],
    [[model], /\[ERR_USM_IPC_[A-Z_]+\]/, 1],
    [[socket, 'absent'], /nothing is published as 'absent' \[ERR_USM_IPC_NO_SUCH_NAME\]/, 1],
    [[socket, '--prefix', 'absent'], /\[ERR_USM_IPC_NOTHING_PUBLISHED\]/, 1],
    [[socket, '--server-uid', '12345'], /\[ERR_USM_IPC_WRONG_SERVER_UID\]/, 1],
    [[socket, '--out', at('no/such/folder')], /ENOENT/, 1],
    [[socket, 'enc.w', '--prefix', 'x'], /exclude each other/, 2],
    [[socket, '--out', '-', '--json'], /standard output/, 2],
    [[socket, '--server-uid', 'me'], /--server-uid must be an integer/, 2],
  ]
  for (const [args, message, code] of cases) {
    const answer = await cli(['attach', ...args])
    t.like(answer, { code, stdout: '' }, answer.stderr)
    t.regex(answer.stderr, message)
    t.is(answer.stderr.trimEnd().split('\n').length, 1, answer.stderr)
  }
  await sharing.stop()
})

test.serial('what is no tensor of the format is written alone, not as a file of tensors; other users\' text stays text', async (t) => {
  const memory = new MemoryUSMDevice(64, { device: 'host' })
  const exporter = await listen({ path: at('own.sock') })
  exporter.publish('strided', memory, { array: { code: 2, bits: 32, lanes: 1, shape: [2, 2], strides: [4, 1] } })
  exporter.publish('bidi \u202e', memory, { offset: 32 })
  const refused = await cli(['attach', at('own.sock'), '--out', at('own.safetensors')])
  t.like(refused, { code: 1, stdout: '' })
  t.regex(refused.stderr, /\[ERR_USM_IPC_NOT_A_TENSOR\]\n$/)
  t.false(existsSync(at('own.safetensors')))
  t.is((await cli(['attach', at('own.sock'), 'strided', '--out', at('own.bin')])).code, 0)
  t.is(readFileSync(at('own.bin')).length, 64)
  const { stdout } = await cli(['attach', at('own.sock')])
  t.true(stdout.includes('bidi \\u{202e}') && !stdout.includes('\u202e'))
  await exporter.close()
  memory.close()
})
