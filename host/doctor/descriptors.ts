/** Memory files and the sockets that carry them, tried for real. */
import { check, type Check } from './check.ts'
import { ending, type Answer, type Probes } from './probe.ts'
import type { System } from './system.ts'

const SEALS = [[1, 'SEAL'], [2, 'SHRINK'], [4, 'GROW'], [8, 'WRITE'], [16, 'FUTURE_WRITE'], [32, 'EXEC']] as const

export function checkDescriptors(system: System, probes: Probes): Check[] {
  return [memfd(probes), seals(probes), noexec(system, probes), rights(probes), peerPidfd(probes)]
}

const failed = (answer: Answer): boolean => answer !== '' && answer !== null

function memfd({ kernel }: Probes): Check {
  const answers = kernel.answers.memfd
  if (answers === undefined) return check('memfd', 'unknown', `not tried: ${ending(kernel)}`)
  const data = { ...answers }
  if (failed(answers.create)) {
    return check('memfd', 'failed', `refused: ${answers.create}`, {
      fix: answers.create === 'EMFILE' ? 'too many open files: raise `ulimit -n`' : 'host memory is shared as memfds: allow memfd_create in the seccomp profile, use Linux 3.17 or newer', data,
    })
  }
  if (failed(answers.map)) return check('memfd', 'failed', `it cannot be mapped: ${answers.map}`, { fix: 'look at the limits below: address space, cgroup memory', data })
  const kind = answers.noexec === '' ? 'with MFD_NOEXEC_SEAL' : `without MFD_NOEXEC_SEAL (${answers.noexec}), which is Linux 6.3's`
  return check('memfd', 'ok', `works, ${kind}`, { data })
}

function seals({ kernel }: Probes): Check {
  const answers = kernel.answers.memfd
  if (answers === undefined || answers.seal === null) return check('memfd-seals', 'unknown', `not tried: ${answers === undefined ? ending(kernel) : 'there is no memfd'}`)
  const names = SEALS.filter(([bit]) => (answers.seals & bit) !== 0).map(([, name]) => name)
  const data = { seals: names }
  if (failed(answers.seal)) return check('memfd-seals', 'failed', `refused: ${answers.seal}`, { fix: 'memory is shared only under seals (a peer could shrink it under a reader): allow fcntl(F_ADD_SEALS)', data })
  if (failed(answers.futureWrite)) return check('memfd-seals', 'warning', `${names.join(', ')}, but not FUTURE_WRITE (${answers.futureWrite})`, { fix: "sharing: 'readOnly' needs Linux 5.1 or newer", data })
  return check('memfd-seals', 'ok', names.join(', '), { data })
}

function noexec(system: System, { kernel }: Probes): Check {
  const text = system.read('/proc/sys/vm/memfd_noexec')?.trim()
  const answers = kernel.answers.memfd
  const value = text === undefined ? null : Number(text)
  const data = { value, executable: answers?.executable ?? null }
  if (value === null) return check('memfd-noexec', 'absent', 'this kernel has no such setting (Linux 6.3 has)', { data })
  if (value === 0) return check('memfd-noexec', 'ok', '0: anything goes', { data })
  if (value === 1) return check('memfd-noexec', 'ok', '1: memfds are not executable where nothing is said; no problem', { data })
  return check('memfd-noexec', 'warning', `${value}: memfds without MFD_NOEXEC_SEAL are refused`, {
    fix: 'usm-ipc sets it, older drivers and other exporters do not: where their allocation fails with EACCES, sysctl vm.memfd_noexec=1', data,
  })
}

function rights({ kernel }: Probes): Check {
  const answers = kernel.answers.sockets
  if (answers === undefined) return check('scm-rights', 'unknown', `not tried: ${ending(kernel)}`)
  const data = { ...answers }
  const problem = failed(answers.pair) ? `no seqpacket pair: ${answers.pair}` : failed(answers.rights) ? `the descriptor did not arrive: ${answers.rights}` : failed(answers.credentials) ? `no peer credentials: ${answers.credentials}` : ''
  if (problem === '') return check('scm-rights', 'ok', 'a descriptor went through, the peer is known', { data })
  return check('scm-rights', 'failed', problem, { fix: 'an FdChannel is a Unix seqpacket socket: the sandbox (seccomp, gVisor, AppArmor) must allow AF_UNIX with SCM_RIGHTS', data })
}

function peerPidfd({ kernel }: Probes): Check {
  const answers = kernel.answers.sockets
  if (answers === undefined || answers.peerPidfd === null) return check('peer-pidfd', 'unknown', `not tried: ${answers === undefined ? ending(kernel) : 'there is no socket'}`)
  const data = { answer: answers.peerPidfd }
  if (!failed(answers.peerPidfd)) return check('peer-pidfd', 'ok', 'works', { data })
  return check('peer-pidfd', 'absent', `${answers.peerPidfd}: Linux 6.5 and newer have it; the death of a peer is seen by its socket's hang-up alone`, { data })
}
