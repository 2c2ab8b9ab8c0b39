/** What this process may have of what sharing needs. */
import { check, type Check } from './check.ts'
import type { System } from './system.ts'

const GiB = 2 ** 30

export function checkLimits(system: System): Check[] {
  return [openFiles(system), lockedMemory(system), addressSpace(system), cgroupMemory(system), maxMapCount(system), overcommit(system)]
}

/** Infinity for unlimited. */
function limit(system: System, name: string): { soft: number; hard: number } | undefined {
  const [, soft, hard] = new RegExp(`^${name} +(\\w+) +(\\w+)`, 'm').exec(system.read('/proc/self/limits') ?? '') ?? []
  if (soft === undefined || hard === undefined) return undefined
  const value = (text: string): number => (text === 'unlimited' ? Infinity : Number(text))
  return { soft: value(soft), hard: value(hard) }
}

const shown = (value: number): string => (value === Infinity ? 'unlimited' : String(value))
const json = (value: number): number | 'unlimited' => (value === Infinity ? 'unlimited' : value)
const size = (bytes: number): string => (bytes === Infinity ? 'unlimited' : bytes >= GiB ? `${(bytes / GiB).toFixed(1)} GiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`)
const data = (l: { soft: number; hard: number }): Record<string, unknown> => ({ soft: json(l.soft), hard: json(l.hard) })

function openFiles(system: System): Check {
  const found = limit(system, 'Max open files')
  if (found === undefined) return check('open-files', 'unknown', '/proc/self/limits does not tell')
  const detail = `${shown(found.soft)} (at most ${shown(found.hard)})`
  if (found.soft >= 1024) return check('open-files', 'ok', detail, { data: data(found) })
  return check('open-files', 'warning', detail, { fix: 'every shared allocation and every channel has a descriptor: ulimit -n 65536', data: data(found) })
}

function lockedMemory(system: System): Check {
  const found = limit(system, 'Max locked memory')
  if (found === undefined) return check('locked-memory', 'unknown', '/proc/self/limits does not tell')
  return check('locked-memory', 'ok', `${size(found.soft)} (RDMA registers memory under it; sharing on one machine does not)`, { data: data(found) })
}

function addressSpace(system: System): Check {
  const found = limit(system, 'Max address space')
  if (found === undefined) return check('address-space', 'unknown', '/proc/self/limits does not tell')
  if (found.soft === Infinity) return check('address-space', 'ok', 'unlimited', { data: data(found) })
  return check('address-space', 'warning', size(found.soft), { fix: 'wasm memories and GPU runtimes reserve far more addresses than they use: ulimit -v unlimited', data: data(found) })
}

interface Cgroup {
  version: 1 | 2
  max: number
  current: number | undefined
}

function cgroup(system: System): Cgroup | undefined {
  const number = (path: string): number | undefined => {
    const text = system.read(path)?.trim()
    // Version 1 says unlimited as the largest multiple of the page size.
    return text === undefined || text === '' ? undefined : text === 'max' || Number(text) > 2 ** 62 ? Infinity : Number(text)
  }
  const lines = (system.read('/proc/self/cgroup') ?? '').split('\n').map((line) => line.split(':'))
  const v1 = lines.find(([, controllers]) => controllers?.split(',').includes('memory'))
  const v2 = lines.find(([id, controllers]) => id === '0' && controllers === '')
  const places: [1 | 2, string, string, string][] = [
    [2, `/sys/fs/cgroup${v2?.[2] ?? '/'}`, 'memory.max', 'memory.current'],
    [1, `/sys/fs/cgroup/memory${v1?.[2] ?? '/'}`, 'memory.limit_in_bytes', 'memory.usage_in_bytes'],
    // Where the path is one of an outer namespace.
    [2, '/sys/fs/cgroup', 'memory.max', 'memory.current'],
    [1, '/sys/fs/cgroup/memory', 'memory.limit_in_bytes', 'memory.usage_in_bytes'],
  ]
  for (const [version, folder, max, current] of places) {
    const value = number(`${folder.replace(/\/$/, '')}/${max}`)
    if (value !== undefined) return { version, max: value, current: number(`${folder.replace(/\/$/, '')}/${current}`) }
  }
  return undefined
}

function cgroupMemory(system: System): Check {
  const found = cgroup(system)
  if (found === undefined) return check('cgroup-memory', 'absent', 'no memory cgroup is visible')
  const { version, max, current } = found
  const facts = { version, max: json(max), current: current ?? null }
  if (max === Infinity) return check('cgroup-memory', 'ok', `unlimited (cgroup ${version})`, { data: facts })
  const detail = `${size(max)}${current === undefined ? '' : `, ${size(current)} in use`}`
  if (max >= GiB && (current === undefined || max - current >= GiB / 4)) return check('cgroup-memory', 'ok', detail, { data: facts })
  return check('cgroup-memory', 'warning', detail, {
    fix: 'shared host memory counts for the process that touches it first, and the kernel kills where the limit is passed: give the container more (docker run --memory)', data: facts,
  })
}

function maxMapCount(system: System): Check {
  const text = system.read('/proc/sys/vm/max_map_count')?.trim()
  if (text === undefined) return check('max-map-count', 'unknown', 'it cannot be read')
  if (Number(text) >= 65530) return check('max-map-count', 'ok', text, { data: { value: Number(text) } })
  return check('max-map-count', 'warning', text, { fix: 'every open handle is a mapping: sysctl vm.max_map_count=65530 or more', data: { value: Number(text) } })
}

function overcommit(system: System): Check {
  const text = system.read('/proc/sys/vm/overcommit_memory')?.trim()
  if (text === undefined) return check('overcommit', 'unknown', 'it cannot be read')
  const facts = { value: Number(text) }
  if (text !== '2') return check('overcommit', 'ok', text === '0' ? '0 (heuristic)' : `${text} (always)`, { data: facts })
  return check('overcommit', 'warning', '2 (strict): shared memory is reserved whole when it is allocated', {
    fix: 'where allocations fail with ENOMEM although memory is free: sysctl vm.overcommit_memory=0, or raise vm.overcommit_ratio', data: facts,
  })
}
