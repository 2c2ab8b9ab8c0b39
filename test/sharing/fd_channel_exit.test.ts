// The ends of threads and processes, in real ones.
import test from 'ava'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { ended, node, openDescriptors, socketPath, startThread, tick } from './fd_channel_helpers.ts'

test.before(startThread)

const program = new URL('./fd_channel_worker.ts', import.meta.url).href
const threads = (): number => readdirSync('/proc/self/task').length

// A worker that exits may be gone before its last message is looked at.
async function worker(data: object): Promise<{ one: Worker; exited: Promise<unknown> }> {
  const source = `import('tsx/esm/api').then(({ register }) => (register(), import(${JSON.stringify(program)})))`
  const worker = new Worker(source, { eval: true, workerData: data })
  const failed = once(worker, 'error').then(([error]) => Promise.reject(error))
  failed.catch(() => {})
  const exited = once(worker, 'exit')
  await Promise.race([once(worker, 'message'), exited, failed])
  return { one: worker, exited }
}

for (const [how, data] of [
  ['terminated with requests pending', {}],
  ['terminated while completions arrive', { busy: true }],
  ['that exits with requests pending', { exits: true }],
] as const) {
  test.serial(`a worker ${how} leaves no descriptor, no thread and no file`, async (t) => {
    const path = socketPath(t)
    const round = async (number: number): Promise<void> => {
      const { one, exited } = await worker({ path, number, ...data })
      if ('exits' in data) {
        await exited
      } else {
        for (let i = 0; i < number; i++) await tick()
        await one.terminate()
      }
    }
    await round(0)
    const [descriptors, running] = [openDescriptors(), threads()]
    for (let number = 1; number <= 8; number++) await round(number)
    t.is(openDescriptors(), descriptors)
    t.is(threads(), running)
    t.deepEqual(readdirSync(dirname(path)), [])
  })
}

test.serial('open channels and listeners do not keep a process alive; pending requests do', async (t) => {
  const path = socketPath(t)
  const { code, stdout } = await ended(
    node(`const [here, there] = FdChannel.pair()
      const listener = FdChannel.listen(${JSON.stringify(path)})
      const watched = FdChannel.pair()
      watched[0].unref().hangup.then(() => {})
      await here.send(new Uint8Array(1))
      await there.receive()
      await there.receive({ timeoutMs: 30 }).catch((error) => console.log(error.code))
      there.unref()
      there.receive().catch(() => {})
      listener.unref().accept().catch(() => {})
      console.log('idle')`),
  )
  t.is(stdout, 'ERR_USM_IPC_TIMEOUT\nidle\n')
  t.is(code, 0)
  t.false(existsSync(path), 'the listener removed its name at exit')
})

test.serial('ref() after unref() keeps the process alive for what is pending already', async (t) => {
  const { code, stdout } = await ended(
    node(`const [here] = FdChannel.pair()
      here.unref()
      here.receive({ timeoutMs: 50 }).catch((error) => console.log(error.code))
      here.ref()`),
  )
  t.is(stdout, 'ERR_USM_IPC_TIMEOUT\n')
  t.is(code, 0)
})

for (const [how, statement, expected] of [
  ['process.exit()', 'process.exit(3)', 3],
  ['an uncaught error', 'throw new Error("on purpose")', 1],
] as const) {
  test.serial(`${how} with requests pending ends cleanly`, async (t) => {
    const path = socketPath(t)
    const { code, signal, stderr } = await ended(
      node(`const [here, there] = FdChannel.pair()
        for (let i = 0; i < 40; i++) here.send(new Uint8Array(65536), { descriptors: [0] }).catch(() => {})
        for (let i = 0; i < 10; i++) here.receive().catch(() => {})
        FdChannel.listen(${JSON.stringify(path)}).accept().catch(() => {})
        await there.receive()
        setImmediate(() => { ${statement} })`),
    )
    t.is(signal, null, stderr)
    t.is(code, expected)
    t.false(existsSync(path))
  })
}

test.serial('after the shutdown at exit every call says closed, and a second one is harmless', async (t) => {
  const { code, stdout, stderr } = await ended(
    node(`const { addon } = await import(${JSON.stringify(new URL('../../host/addon.ts', import.meta.url).href)})
      const [here, there] = FdChannel.pair()
      const pending = here.receive().catch((error) => error.code)
      addon().channelShutdown()
      addon().channelShutdown()
      console.log(await pending, here.isClosed)
      console.log(await here.receive().catch((error) => error.code))
      try { FdChannel.pair() } catch (error) { console.log(error.code) }
      console.log(await FdChannel.connect('/nowhere').catch((error) => error.code))
      await here.hangup`),
  )
  t.is(stdout, 'ERR_USM_IPC_CLOSED true\nERR_USM_IPC_CLOSED\nERR_USM_IPC_CLOSED\nERR_USM_IPC_CLOSED\n', stderr)
  t.is(code, 0)
})

test.serial('a channel that is collected closes; descriptors that nobody took close with their frame', async (t) => {
  const { code, stdout, stderr } = await ended(
    node(`import { readdirSync } from 'node:fs'
      import { setFlagsFromString } from 'node:v8'
      import { runInNewContext } from 'node:vm'
      setFlagsFromString('--expose-gc')
      const gc = runInNewContext('gc')
      const open = () => readdirSync('/proc/self/fd').length
      const warm = FdChannel.pair()
      await warm[0].receive({ timeoutMs: 1 }).catch(() => {})
      const before = open()
      let peer
      await (async () => {
        for (let i = 0; i < 50; i++) {
          const [here, there] = FdChannel.pair()
          await here.send(new Uint8Array(1), { descriptors: [0, 1] })
          await there.receive()
          await here.send(new Uint8Array(1), { descriptors: [0, 1] })
          here.hangup
          Descriptor.duplicate(0)
        }
        peer = FdChannel.pair()[0]
      })()
      for (let i = 0; i < 200 && open() > before + 1; i++) {
        gc()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      console.log(open() - before, warm.length)
      console.log(await peer.receive().catch((error) => error.code))`),
  )
  t.is(stdout, '1 2\nERR_USM_IPC_PEER_GONE\n', stderr)
  t.is(code, 0)
})

test.serial('a pending request keeps its channel from being collected', async (t) => {
  const { code, stdout, stderr } = await ended(
    node(`import { setFlagsFromString } from 'node:v8'
      import { runInNewContext } from 'node:vm'
      setFlagsFromString('--expose-gc')
      const gc = runInNewContext('gc')
      const keep = []
      const receive = () => { const [here, there] = FdChannel.pair(); keep.push(there); return here.receive() }
      const pending = receive()
      for (let i = 0; i < 10; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 2)) }
      await keep[0].send(new Uint8Array([5]))
      console.log((await pending).bytes[0])`),
  )
  t.is(stdout, '5\n', stderr)
  t.is(code, 0)
})
