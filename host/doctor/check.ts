/** Findings: what was looked at, how it is, and what would mend it. */

/** `absent`: not there, which is no fault by itself. `unknown`: could not be found out. */
export type Status = 'ok' | 'warning' | 'failed' | 'unknown' | 'absent'

/** Every check by its stable id, with the group it is shown in and its title, in the order of the report. */
export const CHECKS = {
  'package': ['package', 'usm-ipc'],
  'addon': ['package', 'native addon'],
  'platform': ['machine', 'platform'],
  'kernel': ['machine', 'kernel'],
  'libc': ['machine', 'C library'],
  'runtime': ['machine', 'runtime'],
  'container': ['machine', 'container'],
  'variables': ['machine', 'environment variables'],
  'gpu-hardware': ['GPU', 'hardware'],
  'dri': ['GPU', '/dev/dri'],
  'gpu-groups': ['GPU', 'groups render and video'],
  'cuda-library': ['GPU', 'CUDA driver library'],
  'level-zero-loader': ['Level Zero', 'loader'],
  'level-zero-drivers': ['Level Zero', 'drivers'],
  'level-zero-devices': ['Level Zero', 'devices'],
  'sycl-runtime': ['SYCL', 'runtime'],
  'sycl-adapters': ['SYCL', 'Unified Runtime adapters'],
  'sycl-adapter-choice': ['SYCL', 'adapter chosen'],
  'backend-host': ['backends', 'host'],
  'backend-level-zero': ['backends', 'level_zero'],
  'backend-sycl': ['backends', 'sycl'],
  'backend-cuda': ['backends', 'cuda'],
  'round-trip-host': ['sharing between two processes', 'host'],
  'round-trip-level-zero': ['sharing between two processes', 'level_zero'],
  'round-trip-sycl': ['sharing between two processes', 'sycl'],
  'round-trip-sycl-v1': ['sharing between two processes', 'sycl, v1 adapter'],
  'round-trip-sycl-v2': ['sharing between two processes', 'sycl, v2 adapter'],
  'round-trip-cuda': ['sharing between two processes', 'cuda'],
  'pidfd-open': ['permissions', 'pidfd_open'],
  'pidfd-getfd': ['permissions', 'pidfd_getfd'],
  'pidfd-getfd-self': ['permissions', 'pidfd_getfd of this process'],
  'pidfd-getfd-non-dumpable': ['permissions', 'pidfd_getfd of a non-dumpable process'],
  'ptrace-scope': ['permissions', 'Yama ptrace_scope'],
  'seccomp': ['permissions', 'seccomp'],
  'capabilities': ['permissions', 'CAP_SYS_PTRACE'],
  'pid-namespace': ['namespaces', 'pid namespace'],
  'user-namespace': ['namespaces', 'user namespace'],
  'memfd': ['descriptors', 'memfd_create'],
  'memfd-seals': ['descriptors', 'memfd seals'],
  'memfd-noexec': ['descriptors', 'vm.memfd_noexec'],
  'scm-rights': ['descriptors', 'SCM_RIGHTS over seqpacket'],
  'peer-pidfd': ['descriptors', 'SO_PEERPIDFD'],
  'open-files': ['limits', 'open files'],
  'locked-memory': ['limits', 'locked memory'],
  'address-space': ['limits', 'address space'],
  'cgroup-memory': ['limits', 'memory of the cgroup'],
  'max-map-count': ['limits', 'vm.max_map_count'],
  'overcommit': ['limits', 'vm.overcommit_memory'],
} as const satisfies Record<string, readonly [group: string, title: string]>

export type CheckId = keyof typeof CHECKS

export interface Check {
  id: CheckId
  group: string
  title: string
  status: Status
  detail: string
  /** What to do about it; only where something is to be done. */
  fix?: string
  /** The same for programs. */
  data?: Record<string, unknown>
}

export function check(
  id: CheckId, status: Status, detail: string, more: { fix?: string | undefined; data?: Record<string, unknown> } = {},
): Check {
  const [group, title] = CHECKS[id]
  const { fix, data } = more
  return { id, group, title, status, detail, ...(fix === undefined ? {} : { fix }), ...(data === undefined ? {} : { data }) }
}

/** `1.2.3` is at least `[1, 2]`; false where the text has no such numbers. */
export function atLeast(version: string, wanted: readonly number[]): boolean {
  const numbers = /\d+(\.\d+)*/.exec(version)?.[0].split('.').map(Number) ?? []
  for (const [i, want] of wanted.entries()) {
    const have = numbers[i] ?? (i === 0 ? -1 : 0)
    if (have !== want) return have > want
  }
  return true
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
