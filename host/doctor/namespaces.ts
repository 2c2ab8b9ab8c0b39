/** Where a pid and a uid of this process mean something. */
import { check, type Check } from './check.ts'
import { statusField } from './status.ts'
import type { System } from './system.ts'

/** Inodes that the kernel gives its first namespaces. */
const FIRST = { pid: '4026531836', user: '4026531837' }

export function checkNamespaces(system: System): Check[] {
  return [pidNamespace(system), userNamespace(system)]
}

const inodeOf = (system: System, kind: keyof typeof FIRST): string | undefined =>
  /\[(\d+)\]/.exec(system.link(`/proc/self/ns/${kind}`) ?? '')?.[1]

function pidNamespace(system: System): Check {
  const inode = inodeOf(system, 'pid')
  const levels = statusField(system, 'NSpid')?.split(/\s+/).length ?? 1
  const data = { inode: inode ?? null, first: inode === FIRST.pid, levels }
  if (inode === undefined) {
    return check('pid-namespace', 'failed', '/proc/self/ns/pid cannot be read', { fix: 'mount /proc: handles carry the exporter\'s identity, which is read there', data })
  }
  if (levels > 1) {
    return check('pid-namespace', 'warning', '/proc is of an outer pid namespace', {
      fix: 'mount the namespace\'s own /proc (unshare --mount-proc): `allowPidfd` compares what /proc says; an FdChannel does not need it', data,
    })
  }
  if (inode === FIRST.pid) return check('pid-namespace', 'ok', 'the first one', { data })
  return check('pid-namespace', 'ok', 'one of its own: processes outside of it are reached over an FdChannel (a bind-mounted socket), never by pid', { data })
}

interface Range {
  inside: number
  count: number
}

function userNamespace(system: System): Check {
  const map = system.read('/proc/self/uid_map')
  const overflow = Number(system.read('/proc/sys/kernel/overflowuid') ?? 65534)
  const inode = inodeOf(system, 'user')
  const first = inode === FIRST.user
  if (map === undefined) return check('user-namespace', 'unknown', '/proc/self/uid_map cannot be read')
  const ranges = map.split('\n').map((line) => line.trim().split(/\s+/).map(Number)).filter((fields) => fields.length === 3)
    .map(([inside, , count]): Range => ({ inside: inside!, count: count! }))
  const isMapped = ranges.some(({ inside, count }) => system.uid >= inside && system.uid < inside + count)
  const mapped = ranges.reduce((sum, { count }) => sum + count, 0)
  const data = { inode: inode ?? null, first, uidMapped: isMapped, mappedUids: mapped, overflowUid: overflow }
  if (!isMapped) {
    return check('user-namespace', 'failed', `this process's user is not mapped: it shows as ${overflow}, as every peer does`, {
      fix: 'map the user (unshare --map-current-user, podman --userns=keep-id): listeners refuse peers that show as the overflow uid, because those may be anybody', data,
    })
  }
  if (first) return check('user-namespace', 'ok', 'the first one', { data })
  return check('user-namespace', 'ok', `one of its own, with ${mapped === 1 ? 'one user' : `${mapped} users`} mapped: peers of any other user show as ${overflow} and are refused`, { data })
}
