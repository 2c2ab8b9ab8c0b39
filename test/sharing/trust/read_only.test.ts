// Memory that was made to be shared for reading: the importer has its descriptor, and everything that a program can try.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { RawImporter } from '../raw.ts'
import { BACKENDS, Party, openFolder } from './support.ts'

const NBYTES = 65536
const SCRIPT = fileURLToPath(new URL('children/write_attempts.py', import.meta.url))

async function attempts(t: ExecutionContext, sharing: 'readOnly' | undefined): Promise<{ results: Record<string, string>; values: number[] }> {
  const path = join(openFolder(t), 'socket')
  await using exporter = new Party()
  await exporter.do({ do: 'listen', path })
  await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7, ...(sharing && { sharing }) })
  await using importer = new Party()
  await importer.do({ do: 'connect', path })
  const opened = await importer.do({ do: 'open', name: 'weights' })
  t.like(opened, { readOnly: sharing === 'readOnly', values: [7] })
  // What a session closes as soon as it has mapped it.
  using raw = await RawImporter.welcomed(path)
  const { frame: { descriptors: [descriptor] } } = await raw.open('weights')
  const { status, stdout, stderr } = spawnSync('python3', [SCRIPT, String(NBYTES), String(importer.process.pid)], {
    stdio: ['ignore', 'pipe', 'pipe', descriptor!.number], encoding: 'utf8', timeout: 20_000,
  })
  t.is(status, 0, stderr)
  return { results: JSON.parse(stdout) as Record<string, string>, values: (await importer.do({ do: 'read' })).values! }
}

test.serial('host: whatever the importer does with its descriptor, the bytes stay as they are', async (t) => {
  const { results, values } = await attempts(t, 'readOnly')
  const { ["the importer's mapping"]: mapping, ...tried } = results
  t.regex(mapping!, /^r--s/)
  t.true(Object.keys(tried).length >= 40)
  t.deepEqual(Object.entries(tried).filter(([, result]) => !/^(EPERM|EACCES|EIO|EFAULT|EBADF|EINVAL|ENOTSUP|EOPNOTSUPP)$/.test(result)), [])
  t.deepEqual(values, [7])
  t.log(`${Object.keys(tried).length} ways to write were refused`)
})

test.serial('host: the same attempts write what is shared for writing, so they are attempts', async (t) => {
  const { results, values } = await attempts(t, undefined)
  const done = (what: string): boolean => t.is(results[what], 'done', what)
  for (const label of ['as it came', 'reopened']) {
    for (const way of ['write', 'pwrite', 'pwritev', 'sendfile', 'copy_file_range', 'splice', 'shared mapping', 'mprotect', 'punch a hole']) done(`${way}, ${label}`)
    for (const way of ['truncate', 'grow', 'add a seal']) t.is(results[`${way}, ${label}`], 'EPERM', way)
  }
  done('its mapped file')
  t.notDeepEqual(values, [7])
})

for (const backend of BACKENDS.slice(1)) {
  test.serial(`${backend.title} cannot enforce it, and refuses it by name`, async (t) => {
    await using exporter = new Party({ backend })
    await exporter.do({ do: 'listen', path: join(openFolder(t), 'socket') })
    const { error } = await exporter.try({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7, sharing: 'readOnly' })
    t.like(error, { name: 'RangeError', code: 'ERR_USM_IPC_NOT_SHAREABLE' })
    t.regex(error!.message, /read-only/i)
    t.like(await exporter.end(), { live: 0, claims: 0, resources: 0 })
  })
}
