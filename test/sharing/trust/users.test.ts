// Who is served, and whose exporter is trusted: users by number, on every backend.
import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { listen } from '../../../host/index.ts'
import type { Authorize } from './protocol.ts'
import { BACKENDS, OTHER, Party, isRoot, openFolder, until, type Backend } from './support.ts'

const NBYTES = 65536

async function otherUser(backend?: Backend): Promise<Party> {
  const party = new Party(backend === undefined ? {} : { backend })
  await party.do({ do: 'setuid', uid: OTHER })
  return party
}

for (const backend of BACKENDS) {
  test.serial(`another user's importer is served where it is authorized, and no other: ${backend.title}`, async (t) => {
    if (!isRoot(t)) return
    const path = join(openFolder(t), 'socket')
    await using exporter = new Party({ backend })
    await exporter.do({ do: 'listen', path, mode: 0o666, authorize: { uids: [OTHER] } })
    await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
    await using importer = await otherUser(backend)
    await importer.do({ do: 'connect', path, serverUid: 0 })
    t.deepEqual((await importer.do({ do: 'open', name: 'weights' })).values, [7])
    const { leases } = await exporter.do({ do: 'leases' })
    t.deepEqual(leases!.map(({ peer }) => peer), [{ pid: importer.process.pid!, uid: OTHER, gid: OTHER }])
    t.deepEqual((await exporter.do({ do: 'asked' })).asked, [OTHER])
    // This user is none of those that authorize names.
    await using own = new Party({ backend })
    const { error } = await own.try({ do: 'connect', path })
    t.like(error, { code: 'ERR_USM_IPC_UNAUTHORIZED', name: 'PeerError' })
    t.regex(error!.message, /does not serve user 0/)
    t.like(await importer.end(), { live: 0, claims: 0, resources: 0 })
    t.true(await until(async () => (await exporter.do({ do: 'leases' })).leases!.length === 0))
    t.like(await exporter.end(), { live: 0, claims: 0, resources: 0 })
  })
}

test.serial('without authorize the socket keeps other users out, and where its mode is changed the user\'s number does', async (t) => {
  if (!isRoot(t)) return
  const path = join(openFolder(t), 'socket')
  await using exporter = new Party()
  await exporter.do({ do: 'listen', path })
  await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
  await using importer = await otherUser()
  const kept = await importer.try({ do: 'connect', path, serverUid: 0 })
  t.like(kept.error, { name: 'DriverError', result: 'EACCES' }, JSON.stringify(kept.error))
  chmodSync(path, 0o666)
  const refused = await importer.try({ do: 'connect', path, serverUid: 0 })
  t.like(refused.error, { name: 'PeerError', code: 'ERR_USM_IPC_UNAUTHORIZED' })
  t.regex(refused.error!.message, new RegExp(`serves user 0 alone, the importer is user ${OTHER}`))
  await using own = new Party()
  await own.do({ do: 'connect', path })
  t.deepEqual((await own.do({ do: 'open', name: 'weights' })).values, [7])
  t.is((await exporter.held()).peers, 1)
})

test.serial('a mode for others needs authorize', async (t) => {
  const path = join(openFolder(t), 'socket')
  for (const mode of [0o660, 0o606, 0o666, 0o610]) {
    await t.throwsAsync(listen({ path, mode }), { code: 'ERR_USM_IPC_AUTHORIZE_MISSING', instanceOf: TypeError })
  }
  for (const mode of [-1, 0o1666, 1.5, NaN]) await t.throwsAsync(listen({ path, mode, authorize: () => true }), { code: 'ERR_USM_IPC_INVALID_MODE' })
})

const broken: [Authorize, RegExp][] = [
  ['throws', /could not authorize/], ['rejects', /could not authorize/], ['hangs', /could not authorize/],
  ['truthy', /does not serve user/], ['nothing', /does not serve user/], [{ uids: [] }, /does not serve user/],
]
for (const [authorize, says] of broken) {
  test.serial(`an authorize that ${typeof authorize === 'string' ? authorize : 'says no'} serves nobody`, async (t) => {
    const path = join(openFolder(t), 'socket')
    await using exporter = new Party()
    await exporter.do({ do: 'listen', path, mode: 0o666, authorize, limits: { helloMs: 300 } })
    const before = await exporter.held()
    await using importer = new Party()
    for (let i = 0; i < 3; i++) {
      const { error } = await importer.try({ do: 'connect', path })
      t.like(error, { name: 'PeerError', code: 'ERR_USM_IPC_UNAUTHORIZED' })
      t.regex(error!.message, says)
      t.notRegex(error!.message, /secret/)
    }
    t.is((await exporter.do({ do: 'asked' })).asked!.length, 3)
    t.true(await until(async () => (await exporter.held()).descriptors === before.descriptors))
    t.deepEqual(await exporter.held(), before)
  })
}

test.serial('an importer trusts its own user\'s exporter, or the one that it names', async (t) => {
  if (!isRoot(t)) return
  const folder = openFolder(t)
  chownSync(folder, OTHER, OTHER)
  const path = join(folder, 'socket')
  await using exporter = await otherUser()
  await exporter.do({ do: 'listen', path, mode: 0o666, authorize: { uids: [0] } })
  await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
  await using importer = new Party()
  for (const serverUid of [undefined, 0, 1, OTHER - 1, 65534, 2 ** 31]) {
    const { error } = await importer.try({ do: 'connect', path, ...(serverUid === undefined ? {} : { serverUid }) })
    t.like(error, { name: 'PeerError', code: 'ERR_USM_IPC_WRONG_SERVER_UID' })
    t.regex(error!.message, new RegExp(`process of user ${OTHER}, expected was user ${serverUid ?? 0}`))
  }
  // Nothing was said to it before its user was known.
  t.deepEqual((await exporter.do({ do: 'asked' })).asked, [])
  for (const serverUid of [-1, 1.5, NaN]) {
    t.like((await importer.try({ do: 'connect', path, serverUid })).error, { code: 'ERR_USM_IPC_INVALID_UID' })
  }
  await importer.do({ do: 'connect', path, serverUid: OTHER })
  t.deepEqual((await importer.do({ do: 'open', name: 'weights' })).values, [7])
})
