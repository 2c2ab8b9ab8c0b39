import { join } from 'node:path'
import test from 'ava'
import { MemoryUSMDevice, connect, listen } from '../../host/index.ts'
import { cli } from './run_cli.ts'
import { scratch } from './run_share.ts'

const folder = scratch((done) => test.after.always(done))

test('list says what is there, and opens nothing', async (t) => {
  const path = join(folder, 'list.sock')
  await using exporter = await listen({ path })
  using weights = new MemoryUSMDevice(4096, { device: 'host' })
  using other = new MemoryUSMDevice(1000, { device: 'host' })
  exporter.publish('weights', weights, { nbytes: 24, array: { code: 2, bits: 32, lanes: 1, shape: [2, 3] }, metadata: { step: 7 } })
  exporter.publish('other', other)
  await using session = await connect(path)
  using _held = await session.open('weights')

  const { code, stdout, stderr } = await cli(['list', path])
  t.is(code, 0, stderr)
  t.is(stderr, '')
  t.regex(stdout, /^NAME +DTYPE +SHAPE +SIZE +LEASES +DEVICE\n/)
  t.regex(stdout, /^other +- +- +1\.0 kB +0 +host [0-9a-f-]{36}$/m)
  t.regex(stdout, /^weights +float32 +\[2, 3\] +24 bytes +1 +host [0-9a-f-]{36}$/m)
  t.regex(stdout, /\n2 names, 1\.0 kB, 1 live leases\n$/)
  t.is(exporter.leases().length, 1)

  const listing = JSON.parse((await cli(['list', path, '--json', '--prefix', 'w'])).stdout) as object[]
  t.like(listing, [{ name: 'weights', nbytes: 24, dtype: 'float32', shape: [2, 3], offset: 0, leases: 1, metadata: { step: 7 } }])
  t.deepEqual(JSON.parse((await cli(['list', path, '--json', '--prefix', 'x'])).stdout), [])
})

test('a socket that nobody answers on is one clear line', async (t) => {
  for (const [args, message, code] of [
    [[join(folder, 'absent.sock')], /\[ERR_USM_IPC_NO_LISTENER\]/, 1], [[], /missing required argument/, 2], [['a', 'b'], /too many arguments/, 2],
  ] as const) {
    const answer = await cli(['list', ...args])
    t.like(answer, { code, stdout: '' })
    t.regex(answer.stderr, message)
  }
})
