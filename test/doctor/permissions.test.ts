// Machines on which one process may not take another's descriptors.
import test from 'ava'
import { KERNEL, finding, says, statusWith, type Machine } from './machine.ts'

const blocked = { open: '', getfd: 'EPERM' }
const worked = { open: '', getfd: '' }
const pidfd = (answers: Partial<typeof KERNEL.pidfd>): Partial<Machine> => ({ kernel: { answers: { ...KERNEL, pidfd: { ...KERNEL.pidfd, ...answers } } } })

test('on a good machine all of it works', (t) => {
  for (const id of ['pidfd-open', 'pidfd-getfd', 'pidfd-getfd-self', 'pidfd-getfd-non-dumpable', 'ptrace-scope', 'seccomp'] as const) {
    const { status, fix } = finding({}, id)
    t.is(status, 'ok', id)
    t.is(fix, undefined, id)
  }
  t.is(finding({}, 'capabilities').status, 'absent')
})

test("Docker's default seccomp profile without CAP_SYS_PTRACE", (t) => {
  const machine: Partial<Machine> = {
    files: { '/proc/self/status': statusWith({ Seccomp: '2', Seccomp_filters: '1', CapEff: '00000000a80425fb' }) },
    ...pidfd({ self: blocked, child: blocked, sibling: blocked, nonDumpable: blocked }),
  }
  const getfd = finding(machine, 'pidfd-getfd')
  t.is(getfd.status, 'warning')
  t.regex(getfd.detail, /refused.*EPERM/)
  t.regex(getfd.fix!, /seccomp.*--cap-add=SYS_PTRACE.*FdChannel/)
  const self = finding(machine, 'pidfd-getfd-self')
  t.is(self.status, 'warning')
  t.regex(self.fix!, /--cap-add=SYS_PTRACE.*opaque handles/)
  t.notRegex(self.fix!, /FdChannel/, 'a channel does not help the driver')
  says(t, finding(machine, 'seccomp'), { status: 'warning', data: { mode: 2, filters: 1 } })
  t.regex(finding(machine, 'seccomp').fix!, /allows pidfd_getfd/)
  t.is(finding(machine, 'pidfd-open').status, 'ok')
  t.regex(finding(machine, 'pidfd-getfd-non-dumpable').fix!, /FdChannel/)
  t.is(finding(machine, 'capabilities').status, 'absent')
})

test('a filter that lets this pass is no finding', (t) => {
  const { status, detail } = finding({ files: { '/proc/self/status': statusWith({ Seccomp: '2', Seccomp_filters: '3' }) } }, 'seccomp')
  t.is(status, 'ok')
  t.regex(detail, /3 filters/)
})

test('a filter that hides pidfd_open', (t) => {
  const none = { open: 'ENOSYS', getfd: null }
  const machine: Partial<Machine> = {
    files: { '/proc/self/status': statusWith({ Seccomp: '2' }) }, ...pidfd({ self: none, child: none, sibling: none, nonDumpable: none }),
  }
  t.regex(finding(machine, 'pidfd-open').fix!, /seccomp filter answers ENOSYS/)
  for (const id of ['pidfd-getfd', 'pidfd-getfd-self', 'pidfd-getfd-non-dumpable'] as const) t.is(finding(machine, id).status, 'unknown')
})

test('a kernel without pidfds', (t) => {
  const none = { open: 'ENOSYS', getfd: null }
  t.regex(finding(pidfd({ self: none, child: none, sibling: none, nonDumpable: none }), 'pidfd-open').fix!, /Linux 5\.6.*FdChannel/)
  t.regex(finding(pidfd({ child: { open: '', getfd: 'ENOSYS' } }), 'pidfd-getfd').fix!, /Linux 5\.6/)
})

test('Yama lets ancestors alone', (t) => {
  const machine: Partial<Machine> = { files: { '/proc/sys/kernel/yama/ptrace_scope': '1\n' }, ...pidfd({ child: worked, sibling: blocked }) }
  const getfd = finding(machine, 'pidfd-getfd')
  t.is(getfd.status, 'warning')
  t.regex(getfd.detail, /works on a child process, refused between two children/)
  for (const way of [/FdChannel/, /CAP_SYS_PTRACE/, /PR_SET_PTRACER/, /ptrace_scope=0/]) t.regex(getfd.fix!, way)
  t.is(finding(machine, 'ptrace-scope').status, 'warning')
  t.is(finding(machine, 'pidfd-getfd-self').status, 'ok')
})

test('Yama lets nobody, until the next boot', (t) => {
  const { status, fix } = finding({ files: { '/proc/sys/kernel/yama/ptrace_scope': '3\n' }, ...pidfd({ child: blocked, sibling: blocked }) }, 'ptrace-scope')
  t.is(status, 'warning')
  t.regex(fix!, /next boot/)
  t.notRegex(fix!, /ptrace_scope=0/, 'which would not work')
})

test('Yama matters to nobody with the capability', (t) => {
  const machine: Partial<Machine> = {
    files: { '/proc/sys/kernel/yama/ptrace_scope': '2\n', '/proc/self/status': statusWith({ CapEff: '000001ffffffffff' }) },
    ...pidfd({ nonDumpable: worked }),
  }
  t.is(finding(machine, 'ptrace-scope').status, 'ok')
  t.is(finding(machine, 'capabilities').status, 'ok')
  t.regex(finding(machine, 'pidfd-getfd-non-dumpable').detail, /capability/)
})

test('a kernel without Yama', (t) => {
  t.is(finding({ files: { '/proc/sys/kernel/yama/ptrace_scope': undefined } }, 'ptrace-scope').status, 'absent')
})

test('another security module refuses', (t) => {
  t.regex(finding(pidfd({ child: blocked, sibling: blocked, self: worked }), 'pidfd-getfd').fix!, /security module.*FdChannel/)
})

test('what was not tried is unknown, and says why', (t) => {
  const machine: Partial<Machine> = { kernel: { answers: { build: KERNEL.build }, end: 'crashed', step: 'pidfd_getfd', problem: 'SIGSYS' } }
  for (const id of ['pidfd-open', 'pidfd-getfd', 'pidfd-getfd-self', 'pidfd-getfd-non-dumpable'] as const) {
    const { status, detail } = finding(machine, id)
    t.is(status, 'unknown')
    t.regex(detail, /SIGSYS in pidfd_getfd/)
  }
  const mute: Partial<Machine> = { files: { '/proc/self/status': undefined } }
  t.is(finding(mute, 'seccomp').status, 'unknown')
  t.is(finding(mute, 'capabilities').status, 'unknown')
})
