import test from 'ava'
import fc from 'fast-check'
import { Descriptor } from '../../host/descriptor.ts'
import { FdChannel, type Frame } from '../../host/sharing/fd_channel.ts'
import { alive, bytes, drain, fill, numberOf, numbered, tick } from './fd_channel_helpers.ts'

const timeout = { code: 'ERR_USM_IPC_TIMEOUT', name: 'PeerError' }
const closed = { code: 'ERR_USM_IPC_CLOSED', name: 'StateError' }
const gone = { code: 'ERR_USM_IPC_PEER_GONE', name: 'PeerError' }

test('a receive that ran out of time read nothing', async (t) => {
  const [here, there] = FdChannel.pair()
  await t.throwsAsync(there.receive({ timeoutMs: 0 }), timeout)
  await t.throwsAsync(there.receive({ timeoutMs: 5 }), timeout)
  const late = there.receive({ timeoutMs: 5 })
  const patient = there.receive()
  await t.throwsAsync(late, timeout)
  await here.send(bytes(1))
  t.deepEqual((await patient).bytes, bytes(1))
  await here.send(bytes(2))
  t.deepEqual((await there.receive({ timeoutMs: 0 })).bytes, bytes(2), '0 still tries once')
  here.close()
  there.close()
})

test('deadlines pass in their own order, whatever the order of the requests', async (t) => {
  const [here, there] = FdChannel.pair()
  const order: number[] = []
  const waits = [60, 20, 40, 1].map((timeoutMs) => there.receive({ timeoutMs }).catch(() => order.push(timeoutMs)))
  await Promise.all(waits)
  t.deepEqual(order, [1, 20, 40, 60])
  here.close()
  there.close()
})

test('a send that ran out of time was not sent; those around it were, in order', async (t) => {
  const [here, there] = FdChannel.pair()
  const { sent, waiting, next } = await fill(here)
  await t.throwsAsync(here.send(numbered(next), { timeoutMs: 0 }), timeout)
  const late = here.send(numbered(next), { timeoutMs: 5 })
  const last = here.send(numbered(next + 1))
  await t.throwsAsync(late, timeout)
  const numbers = drain(t, there)
  await Promise.all([waiting, last])
  here.close()
  t.deepEqual(await numbers, [...sent, next - 1, next + 1])
  there.close()
})

test('a signal that is aborted already stops the request; one that aborts later cancels it', async (t) => {
  const [here, there] = FdChannel.pair()
  const reason = new Error('enough')
  t.is(await there.receive({ signal: AbortSignal.abort(reason) }).catch((error) => error), reason)
  t.is(await here.send(bytes(1), { signal: AbortSignal.abort(reason) }).catch((error) => error), reason)
  await t.throwsAsync(there.receive({ timeoutMs: 0 }), timeout)
  const controller = new AbortController()
  const pending = there.receive({ signal: controller.signal })
  controller.abort(reason)
  t.is(await pending.catch((error) => error), reason)
  here.close()
  there.close()
})

test('a result that is there already wins over the signal', async (t) => {
  const [here, there] = FdChannel.pair()
  await here.send(bytes(1))
  const controller = new AbortController()
  const receiving = there.receive({ signal: controller.signal })
  const sending = there.send(bytes(2), { signal: controller.signal })
  controller.abort()
  t.deepEqual((await receiving).bytes, bytes(1))
  await sending
  t.deepEqual((await here.receive()).bytes, bytes(2))
  here.close()
  there.close()
})

test('a request leaves no listener on its signal', async (t) => {
  const [here, there] = FdChannel.pair()
  const { signal } = new AbortController()
  let listeners = 0
  const add = signal.addEventListener.bind(signal) as (...args: unknown[]) => void
  const remove = signal.removeEventListener.bind(signal) as (...args: unknown[]) => void
  signal.addEventListener = (...args: unknown[]) => {
    listeners++
    add(...args)
  }
  signal.removeEventListener = (...args: unknown[]) => {
    listeners--
    remove(...args)
  }
  const receiving = there.receive({ signal })
  t.is(listeners, 1)
  await here.send(bytes(1), { signal })
  await receiving
  await t.throwsAsync(there.receive({ signal, timeoutMs: 1 }), timeout)
  t.is(listeners, 0)
  here.close()
  there.close()
})

// Receives that are aborted, time out or wait, against sends of every kind: each frame is received exactly once.
test('no frame is lost or doubled, whoever gives up when', async (t) => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('send' as const), large: fc.boolean() }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('receive' as const), timeoutMs: fc.constantFrom(0, 1, undefined) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('abort' as const), ticks: fc.integer({ min: 0, max: 2 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('abort-send' as const), ticks: fc.integer({ min: 0, max: 2 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('tick' as const) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
      const [here, there] = FdChannel.pair()
      const sends: Promise<number | undefined>[] = []
      const receives: Promise<Frame | undefined>[] = []
      const aborts: Promise<void>[] = []
      const abortAfter = (ticks: number): AbortSignal => {
        const controller = new AbortController()
        aborts.push(
          (async () => {
            for (let i = 0; i < ticks; i++) await tick()
            controller.abort()
          })(),
        )
        return controller.signal
      }
      const give = (signal?: AbortSignal, nbytes = 8): void => {
        const number = sends.length
        sends.push(
          here.send(numbered(number, nbytes), { signal }).then(
            () => number,
            () => undefined,
          ),
        )
      }
      for (const step of steps) {
        if (step.do === 'send') give(undefined, step.large ? 65536 : 8)
        if (step.do === 'abort-send') give(abortAfter(step.ticks), 65536)
        if (step.do === 'receive') receives.push(there.receive({ timeoutMs: step.timeoutMs }).catch(() => undefined))
        if (step.do === 'abort') receives.push(there.receive({ signal: abortAfter(step.ticks) }).catch(() => undefined))
        if (step.do === 'tick') await tick()
      }
      await Promise.all(aborts)
      const rest = drain(t, there)
      const sent = (await Promise.all(sends)).filter((number) => number !== undefined)
      here.close()
      const last = await rest
      const received = (await Promise.all(receives))
        .filter((frame) => frame !== undefined)
        .map((frame) => numberOf(t, frame))
      t.deepEqual([...received, ...last], sent)
      there.close()
    }),
    { numRuns: 150 },
  )
})

test('64 receives may be pending, and 64 sends', async (t) => {
  const [here, there] = FdChannel.pair()
  const full = { code: 'ERR_USM_IPC_QUEUE_FULL', name: 'StateError' }
  const receives = Array.from({ length: 64 }, () => there.receive())
  await t.throwsAsync(there.receive(), full)
  for (let i = 0; i < 64; i++) await here.send(numbered(i))
  t.deepEqual(
    (await Promise.all(receives)).map((frame) => numberOf(t, frame)),
    Array.from({ length: 64 }, (_, i) => i),
  )
  const { waiting } = await fill(here)
  const sends = [waiting, ...Array.from({ length: 63 }, (_, i) => here.send(numbered(i, 65536)))]
  await t.throwsAsync(here.send(bytes(1)), full)
  const draining = drain(t, there)
  await Promise.all(sends)
  await here.send(numbered(1))
  here.close()
  await draining
  there.close()
})

test('close fails what is pending, on this end; the other end sees a hang-up', async (t) => {
  const [here, there] = FdChannel.pair()
  const { waiting } = await fill(here)
  const receiving = here.receive()
  const { hangup } = here
  t.false(here.isClosed)
  here.close()
  here.close()
  t.true(here.isClosed)
  await t.throwsAsync(waiting, closed)
  await t.throwsAsync(receiving, closed)
  await t.throwsAsync(here.send(bytes(1)), closed)
  await t.throwsAsync(here.receive(), closed)
  t.throws(() => here.fd, closed)
  await alive(Promise.all([hangup, here.hangup, there.hangup]))
  await t.throwsAsync(there.send(bytes(1)), gone)
  there.close()
})

test('frames that were waiting when the peer closed are received before the end', async (t) => {
  const [here, there] = FdChannel.pair()
  // The peer closes with an unread frame of ours, which makes the kernel report an error first.
  await there.send(bytes(9))
  for (let i = 0; i < 5; i++) await here.send(numbered(i))
  here.close()
  await alive(there.hangup)
  t.deepEqual(await drain(t, there), [0, 1, 2, 3, 4])
  await t.throwsAsync(there.receive(), gone)
  there.close()
})

test('pending receives all learn of the end', async (t) => {
  const [here, there] = FdChannel.pair()
  const receives = Array.from({ length: 5 }, () => there.receive())
  await here.send(bytes(1))
  here.close()
  t.deepEqual((await receives[0]!).bytes, bytes(1))
  for (const receive of receives.slice(1)) await t.throwsAsync(receive, gone)
  there.close()
})

test('time that has passed is no time, and what is no signal is refused before anything is asked for', async (t) => {
  const [here, there] = FdChannel.pair()
  for (const timeoutMs of [-1, -0.001, -Infinity]) await t.throwsAsync(here.receive({ timeoutMs }), { code: 'ERR_USM_IPC_TIMEOUT' })
  await t.throwsAsync(here.receive({ signal: {} as AbortSignal }), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_OPTIONS' })
  await there.send(bytes(5))
  t.is((await alive(here.receive())).bytes[0], 5, 'nobody else took it')
  here.close()
  there.close()
})

test('the bytes of a send cannot be given away while its descriptors are read', async (t) => {
  const [here, there] = FdChannel.pair()
  const data = new Uint8Array(1000).fill(7)
  const descriptors = new Proxy([0, 1], {
    get: (target, key) => {
      if (key === '1') structuredClone(data.buffer, { transfer: [data.buffer] })
      return Reflect.get(target, key) as unknown
    },
  })
  await t.throwsAsync(here.send(data, { descriptors }), { code: 'ERR_USM_IPC_EMPTY_FRAME' })
  await t.throwsAsync(there.receive({ timeoutMs: 0 }), { code: 'ERR_USM_IPC_TIMEOUT' })
  here.close()
  there.close()
})

test('what has an owner is not adopted again', (t) => {
  const [here, there] = FdChannel.pair()
  const owned = { name: 'StateError', code: 'ERR_USM_IPC_DESCRIPTOR_OWNED' }
  const { fd } = here
  t.throws(() => FdChannel.adopt(fd), owned)
  t.throws(() => Descriptor.adopt(fd), owned)
  const descriptor = Descriptor.duplicate(fd)
  t.throws(() => FdChannel.adopt(descriptor.number), owned)
  t.is(here.fd, fd, 'refusing closes nothing')
  here.close()
  const again = FdChannel.adopt(descriptor)
  t.true(descriptor.isClosed)
  again.close()
  there.close()
})
