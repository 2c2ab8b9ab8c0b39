// Sharing needs no permission to look into another process: both sides die of a system call that would need it.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { BACKENDS, OTHER, Party, isRoot, openFolder, type Backend } from './support.ts'

const NBYTES = 65536
const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-no-ptrace-'))
const sandbox = join(folder, 'no_ptrace')
test.before(() => {
  const { status, stderr } = spawnSync('gcc', ['-Wall', '-Werror', '-o', sandbox, fileURLToPath(new URL('no_ptrace.c', import.meta.url))], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`gcc: ${stderr}`)
})
test.after.always(() => rmSync(folder, { recursive: true }))

const [, level_zero, sycl] = BACKENDS
const form = (backend: Backend, handles: string): Backend => ({ ...backend, title: `${backend.title}, ${handles}`, env: { ...backend.env, USM_IPC_ZE_HANDLES: handles } })

async function share(exporter: Party, importer: Party, path: string): Promise<number[]> {
  await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
  await importer.do({ do: 'connect', path })
  return (await importer.do({ do: 'open', name: 'weights' })).values!
}

test.serial('the sandbox kills what it is meant to', (t) => {
  const getfd = (...prefix: string[]): NodeJS.Signals | null => spawnSync(sandbox, [...prefix, 'python3', '-c', `
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
pidfd = os.pidfd_open(os.getpid())
libc.syscall(438, pidfd, 0, 0)
`], { stdio: 'ignore' }).signal
  t.is(getfd(), 'SIGSYS')
  t.is(getfd('--but-getfd'), null)
})

for (const backend of [BACKENDS[0]!, level_zero!, form(level_zero!, 'opaque-mirror'), sycl!]) {
  test.serial(`no pidfd_getfd, no ptrace: ${backend.title}`, async (t) => {
    const path = join(openFolder(t), 'socket')
    await using exporter = new Party({ backend, prefix: [sandbox] })
    await exporter.do({ do: 'listen', path })
    await using importer = new Party({ backend, prefix: [sandbox] })
    t.deepEqual(await share(exporter, importer, path), [7])
    t.like(await importer.end(), { live: 0, claims: 0, resources: 0 })
    t.like(await exporter.end(), { live: 0, claims: 0, resources: 0 })
  })
}

// Intel's driver with the older opaque handles fetches a descriptor by pidfd_getfd, even one of its own process. That
// needs no ptrace permission, but a filter that answers it with an error (Docker's without CAP_SYS_PTRACE) breaks it.
for (const backend of [form(level_zero!, 'opaque'), form(sycl!, 'opaque')]) {
  test.serial(`the driver's own pidfd_getfd is of its own process: ${backend.title}`, async (t) => {
    const path = join(openFolder(t), 'socket')
    await using exporter = new Party({ backend, prefix: [sandbox] })
    await exporter.do({ do: 'listen', path })
    await using sharing = new Party({ backend, prefix: [sandbox, '--but-getfd'] })
    t.deepEqual(await share(exporter, sharing, path), [7])
    await using importer = new Party({ backend, prefix: [sandbox] })
    await importer.do({ do: 'connect', path })
    const { message } = await t.throwsAsync(importer.do({ do: 'open', name: 'weights' }))
    t.regex(message, /the party has gone: it ended with SIGSYS/)
  })
}

for (const backend of [...BACKENDS, form(level_zero!, 'opaque'), form(level_zero!, 'opaque-mirror')]) {
  test.serial(`processes that nobody may look into: ${backend.title}`, async (t) => {
    if (!isRoot(t)) return
    const path = join(openFolder(t, 0o777), 'socket')
    // A process that has changed its user is not dumpable: another of the same user may not take its descriptors.
    await using exporter = new Party({ backend })
    await using importer = new Party({ backend })
    await exporter.do({ do: 'setuid', uid: OTHER })
    await importer.do({ do: 'setuid', uid: OTHER })
    await exporter.do({ do: 'listen', path })
    t.deepEqual(await share(exporter, importer, path), [7])
  })
}
