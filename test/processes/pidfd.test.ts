import test, { type ExecutionContext } from 'ava'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DriverError, IPCMemoryHandle, MemoryUSMDevice, getMemHandle } from '../../host/index.ts'
import { HEADER } from '../../host/core/index.ts'
import { addon } from '../../host/addon.ts'
import { DEADLINE, decode, encode, hear, say, startChild } from '../support/child.ts'
import { asForeign, forged, handleAt } from '../support/forge.ts'
import { collectUntil } from '../support/gc.ts'
import { refused } from '../support/refused.ts'
import { unchanged } from '../support/unchanged.ts'
import { party } from './party.ts'

const NOBODY = 65534
const allowPidfd = { allowPidfd: true }
const open = (bytes: Uint8Array) => () => IPCMemoryHandle.open(bytes, 'host', undefined, allowPidfd)

async function withExporter(action: (bytes: Uint8Array, kill: () => Promise<unknown>, pid: number) => void | Promise<void>): Promise<void> {
  const exporter = await party()
  try {
    await exporter.do('export')
    const { bytes } = await exporter.do('bytes')
    await action(decode(bytes!), () => exporter.kill(), exporter.pid)
  } finally {
    await exporter.kill()
    exporter.data.close()
  }
}

test.serial('a live exporter: the bytes are enough where allowPidfd is given', async (t) => {
  await withExporter((bytes, _, pid) => {
    t.is(Number(new DataView(bytes.buffer).getUint32(HEADER.pid, true)), pid)
    unchanged(() => refused(() => IPCMemoryHandle.open(bytes, 'host'), 'HandleError', 'DESCRIPTOR_MISSING', /or allow `allowPidfd`/))
    unchanged(() => refused(() => IPCMemoryHandle.open(bytes, 'host', undefined, { allowPidfd: false }), 'HandleError', 'DESCRIPTOR_MISSING', /FdChannel/))
    unchanged(() => {
      using mapped = open(bytes)()
      t.is(mapped.path, 'mapped')
      const first = new Uint8Array(1)
      mapped.copyTo(first)
      t.is(first[0], 1)
    })
  })
})

test.serial('a mapping that was collected is fetched anew, before anybody has looked into the books', async (t) => {
  await withExporter(async (bytes) => {
    ;(() => void open(bytes)())()
    // Not ledger(): that would take out of the books what is meant to be in them still.
    t.true(await collectUntil(() => addon().book().resources.length === 0))
    using again = open(bytes)()
    t.is(again.path, 'mapped')
  })
})

test.serial('who opens other memory under an honest id first does not keep the honest handle out', async (t) => {
  await withExporter(async (bytes) => {
    await withExporter((others) => {
      // Another exporter's envelope under the first one's allocation id.
      const at = HEADER.allocation_random
      const lying = forged(others, (_, changed) => changed.set(bytes.subarray(at, at + 16), at))
      using first = open(lying)()
      t.is(first.path, 'mapped')
      using honest = open(bytes)()
      t.is(honest.path, 'mapped')
      t.not(honest.pointer, first.pointer)
    })
  })
})

test.serial('a killed exporter: gone, while a mapping from before goes on', async (t) => {
  await withExporter(async (bytes, kill) => {
    const mapped = open(bytes)()
    await kill()
    // A live claim needs neither the exporter nor its descriptor.
    using cached = open(bytes)()
    t.is(cached.path, 'cached')
    mapped.close()
    cached.close()
    unchanged(() => refused(open(bytes), 'PeerError', 'EXPORTER_GONE', /which exported this, is gone/))
  })
})

test.serial('a pid that was reused is another process: the start time differs', async (t) => {
  await withExporter((bytes) => {
    const other = (change: (view: DataView) => void): Uint8Array => forged(bytes, change)
    const start = new DataView(bytes.buffer).getBigUint64(HEADER.start_time, true)
    for (const time of [start - 1n, start + 1n, 0n]) {
      unchanged(() => refused(open(other((view) => view.setBigUint64(HEADER.start_time, time, true))), 'PeerError', 'EXPORTER_GONE', /may have been reused/))
    }
    for (const pid of [process.ppid, 1]) {
      unchanged(() => refused(open(other((view) => view.setUint32(HEADER.pid, pid, true))), 'PeerError', 'EXPORTER_GONE', /may have been reused/))
    }
    const highest = Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1'))
    unchanged(() => refused(open(other((view) => view.setUint32(HEADER.pid, highest, true))), 'PeerError', 'EXPORTER_GONE', /is gone/))
    unchanged(() => refused(open(other((view) => view.setUint32(HEADER.pid, 0x7fff_ffff, true))), 'PeerError', 'EXPORTER_GONE', /is gone/))
    t.pass()
  })
})

test.serial('a thread\'s id is no process', async (t) => {
  await withExporter((bytes, _, pid) => {
    const thread = readdirSync(`/proc/${pid}/task`).map(Number).find((id) => id !== pid)!
    unchanged(() => refused(open(forged(bytes, (view) => view.setUint32(HEADER.pid, thread, true))), 'PeerError', 'EXPORTER_GONE', /is gone/))
    t.pass()
  })
})

test.serial('another pid namespace and another boot are refused before any process is asked', async (t) => {
  await withExporter((bytes) => {
    const namespace = forged(bytes, (view) => view.setBigUint64(HEADER.pid_namespace, 1n, true))
    unchanged(() => refused(open(namespace), 'PeerError', 'OTHER_PID_NAMESPACE', /have the descriptor sent over an FdChannel instead/))
    const boot = forged(bytes, (view) => view.setBigUint64(HEADER.boot_id, 1n, true))
    unchanged(() => refused(open(boot), 'PeerError', 'OTHER_BOOT', /before this machine was started, or on another one/))
    t.pass()
  })
})

test.serial('a forged descriptor number brings some other file of the exporter\'s, and it is refused', async (t) => {
  await withExporter((bytes) => {
    const number = (fd: number): Uint8Array => forged(bytes, (view) => view.setInt32(handleAt(bytes) + 24, fd, true))
    for (const fd of [0, 1, 3]) {
      unchanged(() => refused(open(number(fd)), 'HandleError', 'DESCRIPTOR_WRONG_KIND', /wants the exporter's memfd/))
    }
    const error = unchanged(() => refused(open(number(100_000)), 'DriverError', 'SYSTEM_CALL_FAILED', /the exporter has closed that descriptor/))
    t.like(error, { call: 'pidfd_getfd', result: 'EBADF' })
  })
})

test.serial('a handle that names this process gets nothing of it: a duplicate that is closed would drop its file locks', (t) => {
  using memory = new MemoryUSMDevice(4096, { device: 'host' })
  const forgedOwn = asForeign(getMemHandle(memory))
  unchanged(() => refused(open(forgedOwn), 'HandleError', 'DESCRIPTOR_MISSING', /FdChannel/))
  using self = open(getMemHandle(memory))()
  t.is(self.path, 'self')
})

interface Opened {
  first?: number
  path?: string
  code?: string
  name?: string
  message?: string
  call?: string
  result?: string
}

async function openAsNobody(bytes: Uint8Array): Promise<Opened> {
  const child = startChild(new URL('children/pidfd_opener.ts', import.meta.url), { uid: NOBODY, env: { TSX_DISABLE_CACHE: '1', TMPDIR: '/tmp' } })
  try {
    await say(child.channel, { bytes: encode(bytes) })
    return await hear<Opened>(child.channel)
  } catch (error) {
    throw new Error((await child.kill()).stderr, { cause: error })
  } finally {
    await child.exited
    child.channel.close()
  }
}

function isRoot(t: ExecutionContext): boolean {
  if (process.getuid!() === 0) return true
  console.log(`skipped: ${t.title}: needs to be root, to start processes as another user`)
  t.pass()
  return false
}

test.serial('another user\'s process: refused by the kernel, and the error says why and what to do', async (t) => {
  if (!isRoot(t)) return
  await withExporter(async (bytes) => {
    const opened = await openAsNobody(bytes)
    t.like(opened, { code: 'ERR_USM_IPC_SYSTEM_CALL_FAILED', name: DriverError.name })
    t.regex(opened.result!, /EPERM|EACCES/)
    t.regex(opened.message!, /ptrace permission .*another user's.*have the descriptor sent over an FdChannel instead/)
  })
})

// A process of that user's which holds a memory file, and may say that it is not to be looked into.
const HOLDER = `
import ctypes, fcntl, json, os, sys
fd = os.memfd_create("usm-ipc-test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
os.ftruncate(fd, 65536)
os.pwrite(fd, b"\\x2a", 0)
fcntl.fcntl(fd, 1033, 7)
if ctypes.CDLL(None).prctl(4, int(sys.argv[1]), 0, 0, 0) != 0: sys.exit("prctl(PR_SET_DUMPABLE) failed")
stat = os.fstat(fd)
start = open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]
print(json.dumps({"fd": fd, "dev": str(stat.st_dev), "ino": str(stat.st_ino), "start": start}), flush=True)
sys.stdin.read()
`

async function holder(dumpable: boolean): Promise<{ process: ChildProcess; naming(bytes: Uint8Array): Uint8Array }> {
  const child = spawn('python3', ['-c', HOLDER, dumpable ? '1' : '0'], {
    stdio: ['pipe', 'pipe', 'inherit'], cwd: '/', uid: NOBODY, gid: NOBODY, timeout: DEADLINE, killSignal: 'SIGKILL',
  })
  const { value, done } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  if (done) throw new Error('the holder has ended: is python3 (>= 3.8) there?')
  const { fd, dev, ino, start } = JSON.parse(value as string) as { fd: number; dev: string; ino: string; start: string }
  return {
    process: child,
    naming: (bytes) => forged(asForeign(bytes), (view) => {
      const at = handleAt(bytes)
      for (const identity of [at, at + 48]) {
        view.setBigUint64(identity, BigInt(dev), true)
        view.setBigUint64(identity + 8, BigInt(ino), true)
      }
      view.setInt32(at + 24, fd, true)
      view.setUint32(HEADER.pid, child.pid!, true)
      view.setBigUint64(HEADER.start_time, BigInt(start), true)
    }),
  }
}

for (const dumpable of [true, false]) {
  test.serial(`a process of the same user's that is ${dumpable ? '' : 'not '}dumpable: ${dumpable ? 'opened' : 'EPERM, with the way out'}`, async (t) => {
    if (!isRoot(t)) return
    using memory = new MemoryUSMDevice(65536, { device: 'host' })
    const holding = await holder(dumpable)
    try {
      const opened = await openAsNobody(holding.naming(getMemHandle(memory)))
      if (dumpable) {
        t.deepEqual(opened, { first: 0x2a, path: 'mapped' })
      } else {
        t.like(opened, { code: 'ERR_USM_IPC_SYSTEM_CALL_FAILED', name: DriverError.name })
        t.regex(opened.result!, /EPERM|EACCES/)
        t.regex(opened.message!, /non-dumpable process.*have the descriptor sent over an FdChannel instead/)
      }
    } finally {
      const exit = once(holding.process, 'exit')
      holding.process.stdin!.end()
      await exit
    }
  })
}
