/** Machines for the doctor, made of what a good one says and what is different on a bad one. */
import { strict as assert } from 'node:assert'
import type { ExecutionContext } from 'ava'
import { CHECKS, type Check, type CheckId, type Status } from '../../host/doctor/check.ts'
import { ROUND_TRIPS, type BackendAnswers, type KernelAnswers, type LevelZeroAnswers, type LevelZeroDriver, type LibraryAnswers, type Probe, type Probes, type RoundTripName } from '../../host/doctor/probe.ts'
import { reportOf, type Report } from '../../host/doctor/report.ts'
import type { System } from '../../host/doctor/system.ts'

export interface Machine {
  /** Text by path; undefined takes a file of the good machine away. */
  files: Record<string, string | undefined>
  links: Record<string, string | undefined>
  /** Device files: mode, group and whether this process may use them. */
  nodes: Record<string, { mode: number; gid: number; usable: boolean }>
  variables: Record<string, string>
  system: Partial<Pick<System, 'uid' | 'groups' | 'home' | 'user' | 'platform' | 'arch' | 'kernel' | 'runtime'>>
  kernel: Partial<Probe<KernelAnswers>>
  levelZero: Partial<Probe<LevelZeroAnswers>>
  libraries: Partial<Probe<LibraryAnswers>>
  backends: Partial<Record<RoundTripName, Partial<Probe<BackendAnswers>>>>
  software: boolean
}

const GPU = '/sys/bus/pci/devices/0000:03:00.0'
export const LOADER = '/usr/lib/libze_loader.so.1'
export const SYCL = '/opt/intel/oneapi/compiler/latest/lib'

const STATUS = `Name:\tnode
NSpid:\t4711
CapEff:\t0000000000000000
NoNewPrivs:\t0
Seccomp:\t0
Seccomp_filters:\t0
`
export const LIMITS = (openFiles: string, addressSpace: string): string => `Limit                     Soft Limit           Hard Limit           Units
Max open files            ${openFiles.padEnd(20)} 1048576              files
Max locked memory         8388608              8388608              bytes
Max address space         ${addressSpace.padEnd(20)} unlimited            bytes
`

const FILES: Record<string, string> = {
  '/proc/self/status': STATUS,
  '/proc/self/limits': LIMITS('65536', 'unlimited'),
  '/proc/self/uid_map': '         0          0 4294967295\n',
  '/proc/self/cgroup': '0::/user.slice\n',
  '/proc/sys/kernel/overflowuid': '65534\n',
  '/proc/sys/kernel/yama/ptrace_scope': '0\n',
  '/proc/sys/vm/memfd_noexec': '0\n',
  '/proc/sys/vm/max_map_count': '65530\n',
  '/proc/sys/vm/overcommit_memory': '0\n',
  '/sys/fs/cgroup/user.slice/memory.max': 'max\n',
  '/etc/group': 'root:x:0:\nvideo:x:44:\nrender:x:109:alice\n',
  [`${GPU}/class`]: '0x030000\n',
  [`${GPU}/vendor`]: '0x8086\n',
  [`${GPU}/device`]: '0xe20b\n',
  [LOADER]: '',
  [`${SYCL}/libsycl.so.9`]: '',
  [`${SYCL}/libsycl.so.9.0.0`]: '',
  [`${SYCL}/libur_adapter_level_zero.so.0`]: '',
  [`${SYCL}/libur_adapter_level_zero_v2.so.0`]: '',
}
const LINKS: Record<string, string> = {
  '/proc/self/ns/pid': 'pid:[4026531836]',
  '/proc/self/ns/user': 'user:[4026531837]',
  [`${GPU}/driver`]: '../../../../bus/pci/drivers/xe',
  [LOADER]: '/usr/lib/libze_loader.so.1.24.2',
  [`${SYCL}/libsycl.so.9`]: '/opt/intel/oneapi/compiler/2026.2/lib/libsycl.so.9.0.0',
}
const NODES = { '/dev/dri/renderD128': { mode: 0o660, gid: 109, usable: true }, '/dev/dri/card0': { mode: 0o660, gid: 44, usable: true } }

const WORKED = { open: '', getfd: '' }
export const KERNEL: KernelAnswers = {
  build: { version: '1.0.0', faults: false, sanitized: false },
  glibc: '2.39',
  memfd: { create: '', noexec: '', executable: '', map: '', seal: '', futureWrite: '', seals: 0x37 },
  sockets: { pair: '', rights: '', credentials: '', peerPidfd: '' },
  pidfd: { self: WORKED, child: WORKED, sibling: WORKED, nonDumpable: { open: '', getfd: 'EPERM' } },
}
export const DRIVER: LevelZeroDriver = {
  apiVersion: 0x1000d, driverVersion: 0x01037427, ipcFlags: 1, software: false, extensions: ['ZE_extension_device_ip_version'],
  devices: [{ name: 'Intel(R) Arc(TM) B580 Graphics', type: 1, vendorId: 0x8086, deviceId: 0xe20b, subdevices: 0, ipVersion: 0x05004000, memory: 12e9, uuid: '86800be2-0000-0000-0300-000000000000' }],
}
export const LEVEL_ZERO: LevelZeroAnswers = {
  loader: { path: LOADER, error: '', missing: [] }, init: { call: 'zeInitDrivers', result: '' }, versions: { loader: '1.24.2' }, drivers: [DRIVER],
}
export const LIBRARIES: LibraryAnswers = {
  sycl: { path: `${SYCL}/libsycl.so.9`, error: '', missing: [] },
  cuda: { path: '', error: 'libcuda.so.1: cannot open shared object file: No such file or directory', missing: [] },
}
export function backend(name: string): BackendAnswers {
  return {
    unavailable: '',
    devices: [{ selector: `${name}:0`, name: 'a device', type: 'gpu', uuid: '86800be2-0000-0000-0300-000000000000', memory: 12e9, software: false }],
    roundTrip: { device: `${name}:0 a device`, software: false, layout: 'host', handleBytes: 32, path: 'mapped', exportMs: 0.1, openMs: 0.5, read: true, written: true, left: 0 },
  }
}
export const MISSING = { path: '', error: 'libze_loader.so.1: cannot open shared object file: No such file or directory', missing: [] }
export const NO_GPU = { files: { [`${GPU}/class`]: '0x020000\n' } }
export const gpuFile = (name: string): string => `${GPU}/${name}`
export const statusWith = (changes: Record<string, string>): string =>
  Object.entries(changes).reduce((text, [name, value]) => text.replace(new RegExp(`^${name}:.*$`, 'm'), `${name}:\t${value}`), STATUS)

const done = <A>(answers: A, more: Partial<Probe<A>> = {}): Probe<A> => ({ answers, end: 'done', step: 'the end', problem: '', output: '', ...more })

export function systemOf({ files = {}, links = {}, nodes = NODES, variables = {}, system = {} }: Partial<Machine>): System {
  const texts: Record<string, string | undefined> = { ...FILES, ...files }
  const targets: Record<string, string | undefined> = { ...LINKS, ...links }
  const paths = [...Object.keys(texts).filter((path) => texts[path] !== undefined), ...Object.keys(nodes)]
  return {
    read: (path) => texts[path],
    link: (path) => targets[path],
    real: (path) => targets[path] ?? path,
    list(path) {
      // Either way into a folder that is linked to.
      const folders = [path, ...(path.includes('/compiler/2026.2/') ? [path.replace('2026.2', 'latest')] : [])]
      const inside = folders.flatMap((folder) => paths.filter((p) => p.startsWith(`${folder}/`)).map((p) => p.slice(folder.length + 1).split('/')[0]!))
      return inside.length === 0 ? undefined : [...new Set(inside)].sort()
    },
    status(path) {
      const node = nodes[path as keyof typeof nodes] as { mode: number; gid: number } | undefined
      if (node !== undefined) return { mode: node.mode, uid: 0, gid: node.gid }
      return texts[path] === undefined ? undefined : { mode: 0o644, uid: 0, gid: 0 }
    },
    usable: (path) => (nodes as Machine['nodes'])[path]?.usable ?? texts[path] !== undefined,
    variable: (name) => variables[name],
    variableNames: () => Object.keys(variables).sort(),
    uid: 1000, groups: [1000, 109], home: '/home/alice', user: 'alice', platform: 'linux', arch: 'x64', kernel: '6.12.0-generic',
    runtime: { name: 'node', version: '22.10.0', napi: '9' },
    ...system,
  }
}

export function probesOf({ kernel, levelZero, libraries, backends = {}, software = false }: Partial<Machine>): Probes {
  return {
    software, version: '1.0.0', addonPath: '/usr/lib/node_modules/usm-ipc/build/Release/usm_ipc.node',
    kernel: done(KERNEL, kernel), levelZero: done(LEVEL_ZERO, levelZero), libraries: done(LIBRARIES, libraries),
    backends: Object.fromEntries(ROUND_TRIPS.map((name) => [
      name, done(name === 'cuda' ? { unavailable: null } : backend(name), backends[name] as Partial<Probe<BackendAnswers>>),
    ])) as Probes['backends'],
  }
}

export function examined(machine: Partial<Machine>): Report {
  const report = reportOf(systemOf(machine), probesOf(machine))
  assert.deepEqual(report.checks.map((c) => c.id), Object.keys(CHECKS), 'every check, in its order')
  for (const { id, status, detail, fix } of report.checks) {
    assert(detail !== '', `${id} says nothing`)
    if (status === 'warning' || status === 'failed') assert(fix, `${id} is ${status}, without a fix: ${detail}`)
    if (status === 'ok') assert.equal(fix, undefined, `${id} is ok, and yet there is a fix`)
  }
  return report
}

export function finding(machine: Partial<Machine>, id: CheckId): Check {
  const found = examined(machine).checks.filter((c) => c.id === id)
  assert.equal(found.length, 1, id)
  return found[0]!
}

/** What a finding says, by its status and by meaning. */
export function says(
  t: ExecutionContext, { id, status, detail, fix, data }: Check,
  expected: { status: Status; detail?: string | RegExp; fix?: RegExp; data?: Record<string, unknown> },
): void {
  t.is(status, expected.status, `${id}: ${detail}`)
  if (typeof expected.detail === 'string') t.is(detail, expected.detail, id)
  if (expected.detail instanceof RegExp) t.regex(detail, expected.detail, id)
  if (expected.fix !== undefined) t.regex(fix ?? '', expected.fix, id)
  if (expected.data !== undefined) t.like(data, expected.data, id)
}
