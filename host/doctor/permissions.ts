/** Whether one process may take another's descriptors, which a part of the drivers needs, tried for real. */
import { check, type Check } from './check.ts'
import { ending, type Answer, type Probe, type Probes } from './probe.ts'
import { statusField } from './status.ts'
import type { System } from './system.ts'

const CHANNEL = 'share over an FdChannel, which needs no such permission'
const CAP_SYS_PTRACE = 19n
const YAMA = '/proc/sys/kernel/yama/ptrace_scope'

export function checkPermissions(system: System, { kernel }: Probes): Check[] {
  const facts = factsOf(system, kernel)
  return [open(facts), getfd(facts), own(facts), nonDumpable(facts), scope(facts), seccomp(facts), capabilities(facts)]
}

interface Facts {
  pidfd: Probe<{ pidfd: unknown }>
  answers: Partial<Record<'self' | 'child' | 'sibling' | 'nonDumpable', { open: Answer; getfd: Answer }>>
  /** undefined where there is no Yama. */
  scope: number | undefined
  /** 0 none, 1 strict, 2 filters; undefined where it cannot be read. */
  seccomp: number | undefined
  filters: number
  /** undefined where it cannot be read. */
  mayPtrace: boolean | undefined
  effective: string
}

function factsOf(system: System, kernel: Probes['kernel']): Facts {
  const effective = statusField(system, 'CapEff')
  const scope = system.read(YAMA)?.trim()
  const mode = statusField(system, 'Seccomp')
  return {
    pidfd: kernel,
    answers: kernel.answers.pidfd ?? {},
    scope: scope === undefined ? undefined : Number(scope),
    seccomp: mode === undefined ? undefined : Number(mode),
    filters: Number(statusField(system, 'Seccomp_filters') ?? 0),
    mayPtrace: effective === undefined ? undefined : ((BigInt(`0x${effective}`) >> CAP_SYS_PTRACE) & 1n) === 1n,
    effective: effective ?? '',
  }
}

const isBlocked = (answer: Answer | undefined): boolean => answer !== undefined && answer !== null && answer !== ''
const isFiltered = ({ seccomp }: Facts): boolean => seccomp === 2

/** A filter that hides a system call answers EPERM or ENOSYS where the kernel has it. */
function whatBlocks(facts: Facts, call: string, answer: Answer | undefined): string {
  if (isFiltered(facts)) {
    return `a seccomp filter answers ${answer}: Docker's default profile allows ${call} only with CAP_SYS_PTRACE. ` +
      `Start the container with --cap-add=SYS_PTRACE, or with a profile that allows ${call} (--security-opt seccomp=profile.json); or ${CHANNEL}`
  }
  if (answer === 'ENOSYS') return `the kernel has no ${call}: use Linux 5.6 or newer; or ${CHANNEL}`
  return `a security module refuses ptrace access (answer ${answer}): allow it there, or ${CHANNEL}`
}

function notTried(facts: Facts, id: 'pidfd-open' | 'pidfd-getfd' | 'pidfd-getfd-self' | 'pidfd-getfd-non-dumpable'): Check {
  const why = facts.pidfd.end === 'done' ? 'pidfd_open, which comes first, did not work' : ending(facts.pidfd)
  return check(id, 'unknown', `not tried: ${why}`)
}

function open(facts: Facts): Check {
  const { child } = facts.answers
  if (child === undefined || child.open === null) return notTried(facts, 'pidfd-open')
  const data = { answers: facts.answers }
  if (child.open === '') return check('pidfd-open', 'ok', 'works on a child process', { data })
  return check('pidfd-open', 'warning', `refused: ${child.open}`, { fix: whatBlocks(facts, 'pidfd_open', child.open), data })
}

/** Between processes of one user that do not descend from each other, as exporter and importer are. */
function getfd(facts: Facts): Check {
  const { child, sibling } = facts.answers
  if (child === undefined || sibling === undefined || child.getfd === null) return notTried(facts, 'pidfd-getfd')
  const data = { child: child.getfd, sibling: sibling.getfd }
  if (isBlocked(child.getfd)) {
    return check('pidfd-getfd', 'warning', `refused even on a child process: ${child.getfd}`, { fix: whatBlocks(facts, 'pidfd_getfd', child.getfd), data })
  }
  if (sibling.getfd === null) return check('pidfd-getfd', 'unknown', 'works on a child process; between two children it was not tried', { data })
  if (isBlocked(sibling.getfd)) {
    const fix = facts.scope !== undefined && facts.scope > 0 ? scopeFix(facts.scope) : whatBlocks(facts, 'pidfd_getfd', sibling.getfd)
    return check('pidfd-getfd', 'warning', `works on a child process, refused between two children (${sibling.getfd})`, { fix, data })
  }
  return check('pidfd-getfd', 'ok', 'works on a child process, and between two children', { data })
}

/** Level Zero drivers with opaque handles do this at every open; what they get is this process's own pid. */
function own(facts: Facts): Check {
  const { self } = facts.answers
  if (self === undefined || self.getfd === null) return notTried(facts, 'pidfd-getfd-self')
  if (self.getfd === '') return check('pidfd-getfd-self', 'ok', 'works', { data: { self: self.getfd } })
  const fix = `${whatBlocks(facts, 'pidfd_getfd', self.getfd).replace(`; or ${CHANNEL}`, '')}. Level Zero drivers with opaque handles open none without it; the sycl backend and newer drivers are not concerned`
  return check('pidfd-getfd-self', 'warning', `refused: ${self.getfd}`, { fix, data: { self: self.getfd } })
}

function nonDumpable(facts: Facts): Check {
  const { nonDumpable: answer, child } = facts.answers
  if (answer === undefined || answer.getfd === null) return notTried(facts, 'pidfd-getfd-non-dumpable')
  const data = { nonDumpable: answer.getfd }
  if (answer.getfd === '') return check('pidfd-getfd-non-dumpable', 'ok', 'works, by a capability', { data })
  if (isBlocked(child?.getfd)) return check('pidfd-getfd-non-dumpable', 'warning', `refused: ${answer.getfd}, as on any process`, { fix: CHANNEL, data })
  return check('pidfd-getfd-non-dumpable', 'ok', `refused (${answer.getfd}), as it should be: exporters that are setuid, have file capabilities or PR_SET_DUMPABLE 0 share over an FdChannel alone`, { data })
}

function scopeFix(scope: number): string {
  const ways = [CHANNEL, 'give the importer CAP_SYS_PTRACE']
  if (scope === 1) ways.push('have the exporter call prctl(PR_SET_PTRACER, the importer)')
  if (scope < 3) ways.push('sysctl kernel.yama.ptrace_scope=0')
  return `Yama's ptrace_scope is ${scope}: ${ways.join('; or ')}${scope === 3 ? '. 3 cannot be undone before the next boot' : ''}`
}

function scope(facts: Facts): Check {
  const { scope, mayPtrace, answers } = facts
  const data = { scope: scope ?? null }
  if (scope === undefined) return check('ptrace-scope', 'absent', 'this kernel has no Yama', { data })
  const says = ['same user', 'ancestors only', 'CAP_SYS_PTRACE only', 'nobody'][scope] ?? 'unknown'
  const detail = `${scope} (${says})`
  const isMatter = scope === 3 || (scope > 0 && mayPtrace !== true && !(answers.sibling?.getfd === ''))
  return isMatter ? check('ptrace-scope', 'warning', detail, { fix: scopeFix(scope), data }) : check('ptrace-scope', 'ok', detail, { data })
}

function seccomp(facts: Facts): Check {
  const { seccomp, filters, answers } = facts
  const data = { mode: seccomp ?? null, filters }
  if (seccomp === undefined) return check('seccomp', 'unknown', '/proc/self/status does not tell', { data })
  if (seccomp === 0) return check('seccomp', 'ok', 'no filter', { data })
  const count = filters === 0 ? 'filtered' : `${filters} filter${filters === 1 ? '' : 's'}`
  const blocked = [['pidfd_open', answers.child?.open], ['pidfd_getfd', answers.self?.getfd]] as const
  const names = blocked.filter(([, answer]) => isBlocked(answer)).map(([name]) => name)
  if (names.length === 0) return check('seccomp', 'ok', `${count}; what is tried here passes`, { data })
  return check('seccomp', 'warning', `${count}; refused: ${names.join(', ')}`, {
    fix: `in Docker: --cap-add=SYS_PTRACE, or --security-opt seccomp=a profile that allows ${names.join(' and ')}; or ${CHANNEL}`, data,
  })
}

function capabilities({ mayPtrace, effective }: Facts): Check {
  const data = { sysPtrace: mayPtrace ?? null, effective }
  if (mayPtrace === undefined) return check('capabilities', 'unknown', '/proc/self/status does not tell', { data })
  return mayPtrace
    ? check('capabilities', 'ok', 'held: other users\' processes and non-dumpable ones are open to pidfd_getfd', { data })
    : check('capabilities', 'absent', 'not held, as is usual', { data })
}
