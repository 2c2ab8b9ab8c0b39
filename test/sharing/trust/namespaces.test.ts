// Containers: user namespaces that know no numbers, and two sets of namespaces that share a folder with a socket in it.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { BACKENDS, OTHER, Party, isRoot, openFolder, skipped, until } from './support.ts'

const NBYTES = 65536
/** A user namespace in which nobody has a number. */
const UNMAPPED = ['unshare', '--user', '--']
/** One in which only this user has one. */
const ROOT_ONLY = ['unshare', '--user', '--map-root-user', '--']

function permits(t: ExecutionContext, prefix: readonly string[]): boolean {
  const [program, ...args] = prefix
  const { status, error } = spawnSync(program!, [...args, 'true'], { stdio: 'ignore' })
  return status === 0 || skipped(t, `${prefix.join(' ')} is not permitted here${error === undefined ? '' : `: ${error.message}`}`)
}

test.serial('an importer in a user namespace without numbers refuses the exporter that it cannot tell', async (t) => {
  if (!permits(t, UNMAPPED)) return
  const path = join(openFolder(t), 'socket')
  await using exporter = new Party()
  await exporter.do({ do: 'listen', path, mode: 0o666, authorize: { uids: [process.geteuid!()] } })
  await using importer = new Party({ prefix: UNMAPPED })
  // Not even where it asks for the overflow user by number: that is everybody without one.
  for (const serverUid of [undefined, 65534, 0]) {
    const { error } = await importer.try({ do: 'connect', path, ...(serverUid === undefined ? {} : { serverUid }) })
    t.like(error, { name: 'PeerError', code: 'ERR_USM_IPC_OVERFLOW_UID' })
    t.regex(error!.message, /no number in this process's user namespace/)
  }
  t.deepEqual((await exporter.do({ do: 'asked' })).asked, [])
})

test.serial('an exporter in a user namespace without numbers refuses everybody', async (t) => {
  if (!permits(t, UNMAPPED)) return
  const path = join(openFolder(t), 'socket')
  await using exporter = new Party({ prefix: UNMAPPED })
  t.is((await exporter.do({ do: 'listen', path, mode: 0o666, authorize: { uids: [0, 65534] } })).uid, 65534)
  const before = await exporter.held()
  await using outside = new Party()
  await using inside = new Party({ prefix: UNMAPPED })
  const { error } = await outside.try({ do: 'connect', path })
  t.like(error, { name: 'PeerError', code: 'ERR_USM_IPC_OVERFLOW_UID' })
  t.regex(error!.message, /the exporter says: .*exporter's user namespace/)
  t.like((await inside.try({ do: 'connect', path })).error, { code: 'ERR_USM_IPC_OVERFLOW_UID' })
  t.deepEqual((await exporter.do({ do: 'asked' })).asked, [])
  t.true(await until(async () => (await exporter.held()).descriptors === before.descriptors))
})

test.serial('without authorize an exporter without a number does not take all others without one for its own user', async (t) => {
  if (!permits(t, UNMAPPED)) return
  const path = join(openFolder(t), 'socket')
  await using exporter = new Party({ prefix: UNMAPPED })
  await exporter.do({ do: 'listen', path })
  await using importer = new Party()
  t.like((await importer.try({ do: 'connect', path })).error, { code: 'ERR_USM_IPC_OVERFLOW_UID' })
})

test.serial('an exporter whose user namespace has no number for the importer refuses it', async (t) => {
  if (!isRoot(t) || !permits(t, ROOT_ONLY)) return
  const path = join(openFolder(t), 'socket')
  await using exporter = new Party({ prefix: ROOT_ONLY })
  await exporter.do({ do: 'listen', path, mode: 0o666, authorize: { uids: [0, OTHER, 65534] } })
  await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
  await using other = new Party()
  await other.do({ do: 'setuid', uid: OTHER })
  const { error } = await other.try({ do: 'connect', path, serverUid: 0 })
  t.like(error, { name: 'PeerError', code: 'ERR_USM_IPC_OVERFLOW_UID' })
  t.deepEqual((await exporter.do({ do: 'asked' })).asked, [])
  await using own = new Party()
  await own.do({ do: 'connect', path })
  t.deepEqual((await own.do({ do: 'open', name: 'weights' })).values, [7])
})

// Namespaces of its own of every kind that matters; `shared` is seen at another place there.
function container(shared: string, at: string, run = 'exec "$0" "$@"'): string[] {
  mkdirSync(at)
  return [
    'unshare', '--user', '--map-root-user', '--net', '--ipc', '--uts', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--',
    'sh', '-c', `mount --bind '${shared}' '${at}' && ${run}`,
  ]
}

for (const backend of BACKENDS) {
  test.serial(`two processes in network, pid, mount and user namespaces of their own share through a socket: ${backend.title}`, async (t) => {
    const folder = openFolder(t)
    const shared = join(folder, 'shared')
    mkdirSync(shared)
    const [one, two] = [join(folder, 'one'), join(folder, 'two')]
    const [first, second] = [container(shared, one), container(shared, two)]
    if (!permits(t, first)) return
    await using exporter = new Party({ backend, prefix: first })
    await exporter.do({ do: 'listen', path: join(one, 'socket') })
    await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
    const importer = new Party({ backend, prefix: second })
    await importer.do({ do: 'connect', path: join(two, 'socket') })
    t.deepEqual((await importer.do({ do: 'open', name: 'weights' })).values, [7])
    await importer.do({ do: 'close' })
    t.true(await until(async () => (await exporter.held()).peers === 0))
    const before = await exporter.held() // with the export's own descriptor
    await using doomed = new Party({ backend, prefix: second })
    try {
      for (const party of [importer, doomed]) {
        await party.do({ do: 'connect', path: join(two, 'socket') })
        t.deepEqual((await party.do({ do: 'open', name: 'weights' })).values, [7])
      }
      const { leases } = await exporter.do({ do: 'leases' })
      t.deepEqual(leases!.map(({ peer }) => peer), [{ pid: 0, uid: 0, gid: 0 }, { pid: 0, uid: 0, gid: 0 }], 'their pids are not seen')
      await doomed.kill()
      t.true(await until(async () => (await exporter.do({ do: 'leases' })).leases!.length === 1))
      t.deepEqual((await importer.do({ do: 'read' })).values, [7])
      t.like(await importer.end(), { live: 0, claims: 0, resources: 0 })
    } finally {
      await importer[Symbol.asyncDispose]()
    }
    t.true(await until(async () => (await exporter.held()).descriptors === before.descriptors))
    t.deepEqual(await exporter.held(), before)
    t.like(await exporter.end(), { live: 0, claims: 0, resources: 0 })
  })
}

test.serial('an importer whose pid is not seen, and whose sockets a child of its keeps open, is known to be dead by its pidfd', async (t) => {
  const [major, minor] = release().split('.').map(Number)
  if (major! < 6 || (major === 6 && minor! < 5)) return void skipped(t, 'SO_PEERPIDFD needs Linux 6.5')
  const folder = openFolder(t)
  const shared = join(folder, 'shared')
  mkdirSync(shared)
  const path = join(shared, 'socket')
  const at = join(folder, 'one')
  // The namespace outlives the importer, and so does the child.
  const prefix = container(shared, at, '"$0" "$@"; sleep 30')
  if (!permits(t, container(shared, join(folder, 'two')))) return
  await using exporter = new Party({ prefix: ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', '--'] })
  await exporter.do({ do: 'listen', path })
  await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
  await using importer = new Party({ prefix })
  await importer.do({ do: 'connect', path: join(at, 'socket') })
  t.deepEqual((await importer.do({ do: 'open', name: 'weights' })).values, [7])
  t.is((await exporter.do({ do: 'leases' })).leases![0]!.peer.pid, 0)
  await importer.tell({ do: 'die' })
  t.true(await until(async () => (await exporter.do({ do: 'leases' })).leases!.length === 0))
  t.is(importer.process.exitCode, null, 'its namespace is there still, with the child that has the sockets')
})
