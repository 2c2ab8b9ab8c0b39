/** The package, the addon, and what they run on. */
import { atLeast, check, type Check } from './check.ts'
import { ending, type Probes } from './probe.ts'
import type { System } from './system.ts'

const SUPPORTED = { node: [20, 19], deno: [2], bun: [1, 4] } as const
const NAMES = { node: 'Node', deno: 'Deno', bun: 'Bun' } as const

export function checkPackage(_: System, { version, kernel, addonPath }: Probes): Check[] {
  const { build } = kernel.answers
  return [check('package', 'ok', version, { data: { version } }), addon()]

  function addon(): Check {
    if (build === undefined) {
      return check('addon', 'failed', `it did not load: ${ending(kernel)}`, {
        fix: kernel.problem.includes('--allow-ffi')
          ? 'run Deno with --allow-ffi, --allow-read and --allow-run'
          : 'the addon is built for one kind of machine: install the package on this one, or run `npm ci` in a clone (cmake and g++ are needed)',
        data: { path: addonPath },
      })
    }
    const kinds = [build.faults ? 'with fault points' : '', build.sanitized ? 'sanitized' : ''].filter((kind) => kind !== '')
    const detail = [build.version, ...kinds].join(', ')
    const data = { ...build, path: addonPath }
    if (build.version !== version) {
      return check('addon', 'failed', `${detail}, but the package is ${version}`, { fix: 'build or install both together: `npm ci`', data })
    }
    return check('addon', 'ok', detail, { data })
  }
}

export function checkMachine(system: System, probes: Probes): Check[] {
  return [platform(system), kernel(system), libc(system, probes), runtime(system), container(system)]
}

function platform({ platform, arch }: System): Check {
  const data = { platform, architecture: arch }
  if (platform !== 'linux') return check('platform', 'failed', `${platform} ${arch}`, { fix: 'sharing needs Linux; usm-ipc/core (validate, inspect) works anywhere', data })
  if (arch === 'x64' || arch === 'arm64') return check('platform', 'ok', `Linux ${arch}`, { data })
  return check('platform', 'warning', `Linux ${arch}: nobody has tried this architecture`, { fix: 'x64 and arm64 are what is tested; please report how it goes', data })
}

const FEATURES = [
  [[5, 1], 'read-only sharing (F_SEAL_FUTURE_WRITE)'],
  [[5, 6], 'pidfd_getfd (allowPidfd, and drivers that take descriptors by pid)'],
  [[6, 3], 'memfds that can never be executed (MFD_NOEXEC_SEAL)'],
  [[6, 5], 'a pidfd of the peer of a socket (SO_PEERPIDFD)'],
] as const

function kernel({ kernel }: System): Check {
  const missing = FEATURES.filter(([version]) => !atLeast(kernel, version))
  const data = { release: kernel, missing: missing.map(([, what]) => what) }
  const list = missing.map(([version, what]) => `${what}, since ${version.join('.')}`).join('; ')
  if (kernel === '') return check('kernel', 'unknown', 'its release cannot be read')
  if (missing.length === 0) return check('kernel', 'ok', kernel, { data })
  if (atLeast(kernel, [5, 6])) return check('kernel', 'ok', `${kernel}, without ${list}`, { data })
  return check('kernel', 'warning', `${kernel} is older than what is needed for all: without ${list}`, { fix: 'use Linux 5.6 or newer', data })
}

function libc(system: System, { kernel }: Probes): Check {
  const { glibc } = kernel.answers
  if (glibc === undefined) return check('libc', 'unknown', 'the addon, which tells it, did not load')
  if (glibc !== '') return check('libc', 'ok', `glibc ${glibc}`, { data: { name: 'glibc', version: glibc } })
  const isMusl = system.list('/lib')?.some((name) => name.startsWith('ld-musl-')) ?? false
  return check('libc', 'warning', isMusl ? 'musl' : 'neither glibc nor a musl that is known', {
    fix: 'GPU drivers and the SYCL runtime are built for glibc: use a distribution that has it to share device memory; host memory works',
    data: { name: isMusl ? 'musl' : 'unknown' },
  })
}

function runtime({ runtime }: System): Check {
  const { name, version, napi } = runtime
  const wanted = SUPPORTED[name]
  const data = { name, version, nodeApi: napi }
  if (atLeast(version, wanted)) return check('runtime', 'ok', `${NAMES[name]} ${version}`, { data })
  return check('runtime', 'failed', `${NAMES[name]} ${version} is too old`, { fix: `use ${NAMES[name]} ${wanted.join('.')} or newer`, data })
}

/** By its marks; a container that leaves none is not seen. */
function container(system: System): Check {
  const cgroups = `${system.read('/proc/self/cgroup') ?? ''}\n${system.read('/proc/1/cgroup') ?? ''}`
  const declared = system.variable('container') ?? ''
  const marks: [boolean, string][] = [
    [system.status('/.dockerenv') !== undefined, 'Docker'],
    [system.status('/run/.containerenv') !== undefined, 'Podman'],
    [/^[a-z-]{1,20}$/.test(declared), declared],
    [system.variable('KUBERNETES_SERVICE_HOST') !== undefined || cgroups.includes('kubepods'), 'Kubernetes'],
    [/docker[-/]/.test(cgroups), 'Docker'],
    [/libpod[-/]/.test(cgroups), 'Podman'],
    [/\/lxc[./]/.test(cgroups), 'LXC'],
    [/microsoft/i.test(system.kernel), 'WSL'],
  ]
  const kinds = [...new Set(marks.filter(([seen]) => seen).map(([, kind]) => kind))]
  const data = { kinds }
  if (kinds.length === 0) return check('container', 'absent', 'no mark of one', { data })
  return check('container', 'ok', `${kinds.join(', ')}: what it allows is shown below`, { data })
}
