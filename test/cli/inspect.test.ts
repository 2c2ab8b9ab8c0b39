import test from 'ava'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IPCMemoryHandle, MemoryUSMDevice, inspect } from '../../host/index.ts'
import { HEADER, toHex } from '../../host/core/index.ts'
import { forged, handleAt } from '../support/forge.ts'
import { MAIN, cli } from './run_cli.ts'

const memory = new MemoryUSMDevice(4096, { device: 'host' })
const handle = new IPCMemoryHandle(memory, { name: 'inspected', offset: 96, array: { code: 2, bits: 32, lanes: 1, shape: [10, 100] } })
const bytes = handle.toBytes()
const text = handle.toString()
const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

test.after.always(() => {
  handle.close()
  memory.close()
  rmSync(folder, { recursive: true, force: true })
})

const base64 = Buffer.from(bytes).toString('base64')
const spellings: Record<string, () => { argument: string[]; input?: string | Uint8Array }> = {
  'hexadecimal': () => ({ argument: [toHex(bytes)] }),
  'hexadecimal with 0x': () => ({ argument: ['0x' + toHex(bytes)] }),
  'upper-case hexadecimal with spaces': () => ({ argument: [toHex(bytes).toUpperCase().replace(/(.{8})/g, '$1 ')] }),
  'base64': () => ({ argument: [base64] }),
  'base64 without padding': () => ({ argument: [base64.replace(/=+$/, '')] }),
  'base64url': () => ({ argument: [Buffer.from(bytes).toString('base64url')] }),
  'the text form': () => ({ argument: [text] }),
  'a file of bytes': () => ({ argument: [file('bytes', bytes)] }),
  'a file of text': () => ({ argument: [file('text', text + '\n')] }),
  'a file of hexadecimal lines': () => ({ argument: [file('hex', toHex(bytes).replace(/(.{64})/g, '$1\n'))] }),
  'stdin, bytes': () => ({ argument: ['-'], input: bytes }),
  'stdin, text': () => ({ argument: ['-'], input: text + '\n' }),
  'stdin, without an argument': () => ({ argument: [], input: text }),
}

for (const [name, spelling] of Object.entries(spellings)) {
  test(`inspect takes ${name}`, async (t) => {
    const { argument, input } = spelling()
    const { code, stdout, stderr } = await cli(['inspect', '--json', ...argument], input === undefined ? {} : { input })
    t.is(code, 0, stderr)
    t.is(stderr, '')
    const shown = JSON.parse(stdout) as ReturnType<typeof inspect>
    t.deepEqual(shown, JSON.parse(JSON.stringify(inspect(bytes), (_, v: unknown) => (typeof v === 'bigint' ? v.toString() : v))))
    t.is(shown.fields.reduce((sum, field) => sum + field.length, 0), bytes.length, 'every byte is in a field')
  })
}

test('inspect shows every field, the verdict and what was not checked', async (t) => {
  const { code, stdout } = await cli(['inspect', '-'], { input: bytes })
  t.is(code, 0)
  t.true(stdout.startsWith(`envelope, ${bytes.length} bytes, layout host\n`))
  for (const { name } of inspect(bytes).fields) t.true(stdout.includes(` ${name} `), name)
  t.regex(stdout, /verdict: ok: every rule holds/)
  t.regex(stdout, /not checked, because no bytes can show it:\n {2}- authenticity/)
  t.regex(stdout, /inspected/)
})

test('inspect --key-file checks the tag, and shows no key', async (t) => {
  const secret = Uint8Array.from({ length: 32 }, (_, i) => 0x41 + i)
  const tagged = new IPCMemoryHandle(memory, { key: { id: 3, key: secret } })
  const input = tagged.toBytes()
  tagged.close()
  const keyFile = file('secret.key', secret)
  const otherFile = file('other.key', secret.toReversed())
  chmodSync(keyFile, 0o600)
  chmodSync(otherFile, 0o600)
  const rows: [args: string[], code: number, says: RegExp, saysNot: RegExp][] = [
    [[], 0, /^authenticated with key 3, not checked$[^]*- authenticity: authenticated with key 3, not checked/m, /verdict: bad/],
    [['--key-file', keyFile, '--key-id', '3'], 0, /^authenticated with key 3, checked$/m, /- authenticity/],
    [['--key-file', otherFile, '--key-id', '3'], 1, /^verdict: bad-tag \(byte \d+\)/m, /^authenticated/m],
    [['--key-file', keyFile, '--key-id', '4'], 1, /^verdict: unknown-key \(byte 84\)/m, /^authenticated/m],
  ]
  for (const [args, code, says, saysNot] of rows) {
    const shown = await cli(['inspect', ...args, '-'], { input })
    t.is(shown.code, code, shown.stderr)
    t.regex(shown.stdout, says)
    t.notRegex(shown.stdout, saysNot)
    for (const text of [shown.stdout, shown.stderr]) {
      for (const spelling of ['hex', 'base64', 'latin1'] as const) t.false(text.includes(Buffer.from(secret).toString(spelling).slice(0, 16)))
    }
  }
  const json = await cli(['inspect', '--json', '--key-file', keyFile, '--key-id', '3', '-'], { input })
  t.deepEqual((JSON.parse(json.stdout) as { authentication?: unknown }).authentication, { keyId: 3, checked: true })
  t.false(json.stdout.includes(toHex(secret).slice(0, 16)))
  t.is((await cli(['inspect', '--key-file', keyFile, '-'], { input: bytes })).code, 1, 'an envelope without a tag, where one is wanted')
  for (const args of [['--key-id', '3'], ['--key-file', keyFile, '--layout', 'cuda']]) {
    t.is((await cli(['inspect', ...args, '-'], { input })).code, 2, args.join(' '))
  }
})

test('inspect of refused bytes exits with 1 and says why and where', async (t) => {
  const expired = forged(bytes, (view) => {
    view.setBigUint64(HEADER.created, 1n, true)
    view.setBigUint64(HEADER.expires, 2n, true)
  })
  const cases: [string[], string | Uint8Array, string][] = [
    [['-'], bytes.subarray(0, 100), 'truncated'],
    [['-'], bytes.with(HEADER.nonce, bytes[HEADER.nonce]! ^ 1), 'bad-checksum'],
    [['-'], new Uint8Array(0), 'empty'],
    [['-'], Uint8Array.of(1, 2, 3), 'not-an-envelope'],
    [['-'], expired, 'expired'],
    [['usmipc0.####'], '', 'not-an-envelope'],
    [[''], '', 'empty'],
  ]
  for (const [argument, input, verdict] of cases) {
    const json = await cli(['inspect', '--json', ...argument], { input })
    t.is(json.code, 1, `${verdict}: ${json.stderr}`)
    t.is((JSON.parse(json.stdout) as { verdict: string }).verdict, verdict)
    const plain = await cli(['inspect', ...argument], { input })
    t.is(plain.code, 1)
    t.regex(plain.stdout, new RegExp(`verdict: ${verdict}`))
  }
  t.is((await cli(['inspect', '--no-now', '-'], { input: expired })).code, 0, 'the clock can be left out')
})

test('inspect --layout takes raw vendor handles, and guesses none', async (t) => {
  const raw = bytes.slice(handleAt(bytes), handleAt(bytes) + 32)
  const known = await cli(['inspect', '--layout', 'host', '--json', toHex(raw)])
  t.is(known.code, 0, known.stderr)
  const shown = JSON.parse(known.stdout) as { form: string; layout: string; fields: { name: string; value: unknown }[]; unchecked: string[] }
  t.like(shown, { form: 'vendor', layout: 'host' })
  t.is(shown.fields.find((f) => f.name === 'host_size')!.value, 4096)
  t.true(shown.unchecked.length > 0)
  t.is((await cli(['inspect', toHex(raw)])).code, 1, 'without a layout these are no envelope')
  t.is((await cli(['inspect', '--layout', 'host', '00'])).code, 1)
  t.is((await cli(['inspect', '--layout', 'cuda', '-'], { input: new Uint8Array(64) })).code, 0)
  const wrong = await cli(['inspect', '--layout', 'memfd', toHex(raw)])
  t.is(wrong.code, 2)
  t.regex(wrong.stderr, /Allowed choices are host, .*cuda/)
})

test('what is neither a handle nor a file is wrong usage, and is not repeated', async (t) => {
  const secret = text.slice(8)
  const cases: [string[], RegExp][] = [
    [[join(folder, 'nothing-here.bin')], /is neither a file nor hexadecimal, base64/],
    [[folder], /is not a file/],
    [[`!${secret}`], /is neither a file nor/],
    [[`${secret}!`], /is neither a file nor/],
    [['/dev/null/x'], /is neither a file nor/],
    [[file('large', new Uint8Array((1 << 20) + 1))], /larger than 1 MiB: it is not a handle/],
    [['--nonsense', text], /unknown option/],
    [[text, text], /too many arguments/],
  ]
  for (const [argument, says] of cases) {
    const { code, stdout, stderr } = await cli(['inspect', ...argument])
    t.is(code, 2, stderr)
    t.is(stdout, '')
    t.regex(stderr, says)
    t.false(stderr.includes(secret.slice(0, 40)), `a handle in an error message: ${stderr}`)
  }
})

test('inspect waits for slow input, in pieces, without being told to', async (t) => {
  const run = (script: string): { status: number | null; stdout: string; stderr: string } =>
    spawnSync('sh', ['-c', script, process.execPath, MAIN], { encoding: 'utf8', env: { ...process.env, HANDLE: toHex(bytes) } })
  const node = '"$0" --import=tsx "$1"'
  const slow = run(`(printf %s "$HANDLE" | head -c 100; sleep 0.7; printf %s "$HANDLE" | tail -c +101) | ${node} inspect --json`)
  t.is(slow.status, 0, slow.stderr)
  t.is((JSON.parse(slow.stdout) as { verdict: string }).verdict, 'ok')
  const large = run(`head -c 2000000 /dev/zero | ${node} inspect`)
  t.is(large.status, 2)
  t.regex(large.stderr, /more than 1 MiB/)
})

test('output that is lost is an error, output that nobody wants any more is not', (t) => {
  const run = (redirection: string): { status: number | null; stderr: string } =>
    spawnSync('sh', ['-c', `"$0" --import=tsx "$1" demo ${redirection}`, process.execPath, MAIN], { encoding: 'utf8' })
  const lost = run('>/dev/full')
  t.is(lost.status, 1)
  t.regex(lost.stderr, /cannot write the output: .*ENOSPC/)
  t.notRegex(lost.stderr, /\n {4}at /)
  t.is(run('| true').stderr, '')
})
