// Kernels, runtimes, containers, namespaces, descriptors and limits that are not as they should be.
import test from 'ava'
import { KERNEL, LIMITS, finding, says, statusWith, type Machine } from './machine.ts'

const memfd = (changes: Partial<typeof KERNEL.memfd>): Partial<Machine> => ({ kernel: { answers: { ...KERNEL, memfd: { ...KERNEL.memfd, ...changes } } } })
const sockets = (changes: Partial<typeof KERNEL.sockets>): Partial<Machine> => ({ kernel: { answers: { ...KERNEL, sockets: { ...KERNEL.sockets, ...changes } } } })
const file = (path: string, text: string | undefined): Partial<Machine> => ({ files: { [path]: text } })

test('the addon of another version, and special builds', (t) => {
  const build = (changes: Partial<typeof KERNEL.build>): Partial<Machine> => ({ kernel: { answers: { ...KERNEL, build: { ...KERNEL.build, ...changes } } } })
  says(t, finding({}, 'addon'), { status: 'ok', detail: '1.0.0' })
  says(t, finding(build({ version: '0.9.0' }), 'addon'), { status: 'failed', detail: /0\.9\.0, but the package is 1\.0\.0/, fix: /npm ci/ })
  says(t, finding(build({ sanitized: true, faults: true }), 'addon'), { status: 'ok', detail: /with fault points, sanitized/ })
})

test('old kernels say what they lack', (t) => {
  says(t, finding({ system: { kernel: '5.4.0-42-generic' } }, 'kernel'), { status: 'warning', detail: /pidfd_getfd/, fix: /5\.6/ })
  const recent = finding({ system: { kernel: '6.1.0' } }, 'kernel')
  says(t, recent, { status: 'ok', detail: /MFD_NOEXEC_SEAL.*SO_PEERPIDFD/ })
  t.notRegex(recent.detail, /pidfd_getfd/)
  says(t, finding({}, 'kernel'), { status: 'ok', detail: '6.12.0-generic' })
  t.is(finding({ system: { kernel: '' } }, 'kernel').status, 'unknown')
})

test('platforms, architectures and C libraries', (t) => {
  says(t, finding({ system: { platform: 'darwin', arch: 'arm64' } }, 'platform'), { status: 'failed', fix: /Linux.*core/ })
  t.is(finding({ system: { arch: 'arm64' } }, 'platform').status, 'ok')
  says(t, finding({ system: { arch: 'riscv64' } }, 'platform'), { status: 'warning', fix: /report/ })
  const musl: Partial<Machine> = { kernel: { answers: { ...KERNEL, glibc: '' } }, files: { '/lib/ld-musl-x86_64.so.1': '' } }
  says(t, finding(musl, 'libc'), { status: 'warning', detail: 'musl', fix: /glibc/ })
  says(t, finding({}, 'libc'), { status: 'ok', detail: 'glibc 2.39' })
})

test('runtimes that are too old', (t) => {
  const runs = (name: 'node' | 'deno' | 'bun', version: string): string => finding({ system: { runtime: { name, version, napi: '9' } } }, 'runtime').status
  t.is(runs('node', '20.18.1'), 'failed')
  t.is(runs('node', '20.19.0'), 'ok')
  t.is(runs('node', '18.20.0'), 'failed')
  t.is(runs('deno', '1.46.3'), 'failed')
  t.is(runs('deno', '2.0.0'), 'ok')
  t.is(runs('bun', '1.3.9'), 'failed')
  t.is(runs('bun', '1.4.0'), 'ok')
  t.regex(finding({ system: { runtime: { name: 'node', version: '18.0.0', napi: '8' } } }, 'runtime').fix!, /Node 20\.19 or newer/)
})

test('containers by their marks', (t) => {
  const kinds = (machine: Partial<Machine>): unknown => finding(machine, 'container').data!['kinds']
  t.deepEqual(kinds({}), [])
  t.is(finding({}, 'container').status, 'absent')
  t.deepEqual(kinds(file('/.dockerenv', '')), ['Docker'])
  t.deepEqual(kinds(file('/run/.containerenv', '')), ['Podman'])
  t.deepEqual(kinds(file('/proc/self/cgroup', '0::/kubepods/burstable/pod1\n')), ['Kubernetes'])
  t.deepEqual(kinds(file('/proc/1/cgroup', '0::/lxc.payload.x\n')), ['LXC'])
  t.deepEqual(kinds({ variables: { container: 'systemd-nspawn' } }), ['systemd-nspawn'])
  t.deepEqual(kinds({ variables: { container: 'pass word;1' } }), [], 'not what a container manager sets')
  t.deepEqual(kinds({ system: { kernel: '5.15.167.4-microsoft-standard-WSL2' } }), ['WSL'])
})

test('pid namespaces', (t) => {
  t.is(finding({}, 'pid-namespace').detail, 'the first one')
  says(t, finding({ links: { '/proc/self/ns/pid': 'pid:[4026532001]' } }, 'pid-namespace'), { status: 'ok', detail: /FdChannel/ })
  const outer: Partial<Machine> = { links: { '/proc/self/ns/pid': 'pid:[4026532001]' }, ...file('/proc/self/status', statusWith({ NSpid: '4711\t7' })) }
  says(t, finding(outer, 'pid-namespace'), { status: 'warning', fix: /--mount-proc/ })
  says(t, finding({ links: { '/proc/self/ns/pid': undefined } }, 'pid-namespace'), { status: 'failed', fix: /mount \/proc/ })
})

test('user namespaces', (t) => {
  const own = { links: { '/proc/self/ns/user': 'user:[4026532002]' } }
  t.is(finding({}, 'user-namespace').detail, 'the first one')
  const unmapped: Partial<Machine> = { ...own, ...file('/proc/self/uid_map', ''), system: { uid: 65534 } }
  says(t, finding(unmapped, 'user-namespace'), { status: 'failed', detail: /not mapped.*65534/, fix: /--map-current-user.*keep-id/ })
  const single: Partial<Machine> = { ...own, ...file('/proc/self/uid_map', '         0       1000          1\n'), system: { uid: 0 } }
  says(t, finding(single, 'user-namespace'), { status: 'ok', detail: /one user mapped.*65534/ })
  says(t, finding({ ...single, system: { uid: 5 } }, 'user-namespace'), { status: 'failed' })
  t.is(finding(file('/proc/self/uid_map', undefined), 'user-namespace').status, 'unknown')
})

test('memfds that are refused', (t) => {
  const none = { map: null, seal: null, futureWrite: null }
  says(t, finding({}, 'memfd'), { status: 'ok', detail: /with MFD_NOEXEC_SEAL/ })
  says(t, finding(memfd({ noexec: 'EINVAL' }), 'memfd'), { status: 'ok', detail: /without MFD_NOEXEC_SEAL/ })
  says(t, finding(memfd({ create: 'EPERM', ...none }), 'memfd'), { status: 'failed', fix: /seccomp/ })
  says(t, finding(memfd({ create: 'EMFILE', ...none }), 'memfd'), { status: 'failed', fix: /ulimit -n/ })
  says(t, finding(memfd({ map: 'ENOMEM' }), 'memfd'), { status: 'failed', fix: /address space/ })
  t.is(finding(memfd({ create: 'EPERM', ...none }), 'memfd-seals').status, 'unknown')
  says(t, finding(memfd({ seal: 'EPERM', seals: 0 }), 'memfd-seals'), { status: 'failed', fix: /F_ADD_SEALS/ })
  says(t, finding(memfd({ futureWrite: 'EINVAL', seals: 7 }), 'memfd-seals'), { status: 'warning', detail: /^SEAL, SHRINK, GROW, but/, fix: /5\.1/ })
})

test('vm.memfd_noexec', (t) => {
  const set = (text: string | undefined): string => finding(file('/proc/sys/vm/memfd_noexec', text), 'memfd-noexec').status
  t.deepEqual(['0', '1', '2', undefined].map(set), ['ok', 'ok', 'warning', 'absent'])
  t.regex(finding(file('/proc/sys/vm/memfd_noexec', '2\n'), 'memfd-noexec').fix!, /memfd_noexec=1/)
})

test('sockets that a sandbox cuts', (t) => {
  says(t, finding(sockets({ pair: 'EPERM', rights: null, credentials: null, peerPidfd: null }), 'scm-rights'), { status: 'failed', fix: /AF_UNIX/ })
  says(t, finding(sockets({ rights: 'EBADF' }), 'scm-rights'), { status: 'failed', detail: /did not arrive/ })
  says(t, finding(sockets({ credentials: 'ENOPROTOOPT' }), 'scm-rights'), { status: 'failed', detail: /credentials/ })
  says(t, finding(sockets({ peerPidfd: 'ENOPROTOOPT' }), 'peer-pidfd'), { status: 'absent', detail: /6\.5/ })
})

test('limits that are too low', (t) => {
  const limits = (openFiles: string, addressSpace = 'unlimited'): Partial<Machine> => file('/proc/self/limits', LIMITS(openFiles, addressSpace))
  says(t, finding(limits('256'), 'open-files'), { status: 'warning', fix: /ulimit -n/, data: { soft: 256 } })
  t.is(finding(limits('1024'), 'open-files').status, 'ok')
  says(t, finding(limits('1024', '8589934592'), 'address-space'), { status: 'warning', detail: '8.0 GiB', fix: /ulimit -v unlimited/ })
  t.is(finding(file('/proc/self/limits', undefined), 'open-files').status, 'unknown')
  says(t, finding(file('/proc/sys/vm/max_map_count', '1000\n'), 'max-map-count'), { status: 'warning', fix: /max_map_count=65530/ })
  says(t, finding(file('/proc/sys/vm/overcommit_memory', '2\n'), 'overcommit'), { status: 'warning', fix: /overcommit_memory=0/ })
})

test('the memory of the cgroup, in both versions and seen from inside', (t) => {
  const v1 = '9:cpu:/\n4:memory:/docker/abc\n0::/\n'
  const none = { '/sys/fs/cgroup/user.slice/memory.max': undefined }
  says(t, finding({}, 'cgroup-memory'), { status: 'ok', detail: 'unlimited (cgroup 2)' })
  says(t, finding({ files: { '/sys/fs/cgroup/user.slice/memory.max': '268435456\n', '/sys/fs/cgroup/user.slice/memory.current': '1048576\n' } }, 'cgroup-memory'), {
    status: 'warning', detail: '256.0 MiB, 1.0 MiB in use', fix: /docker run --memory/,
  })
  t.is(finding({ files: { '/sys/fs/cgroup/user.slice/memory.max': '8589934592\n', '/sys/fs/cgroup/user.slice/memory.current': '8580000000\n' } }, 'cgroup-memory').status, 'warning', 'nearly used up')
  says(t, finding({ files: { ...none, '/proc/self/cgroup': v1, '/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes': '9223372036854771712\n' } }, 'cgroup-memory'), { status: 'ok', detail: 'unlimited (cgroup 1)' })
  says(t, finding({ files: { ...none, '/proc/self/cgroup': v1, '/sys/fs/cgroup/memory/memory.limit_in_bytes': '536870912\n' } }, 'cgroup-memory'), { status: 'warning', detail: '512.0 MiB' })
  t.is(finding({ files: none }, 'cgroup-memory').status, 'absent')
})
