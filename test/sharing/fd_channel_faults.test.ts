// Every step that can fail, made to fail: the request fails, and nothing is lost, left open or out of order.
import test from 'ava'
import { addon } from '../../host/addon.ts'
import { FdChannel } from '../../host/sharing/fd_channel.ts'
import { bytes, drain, fill, numbered, openDescriptors, startThread } from './fd_channel_helpers.ts'

const injected = { code: 'ERR_USM_IPC_INJECTED', name: 'DriverError' }
const { setFault } = addon()
const faulty = setFault === undefined ? test.serial.skip : test.serial
const fault = (name: string, countdown = 1): void => setFault!(name, countdown)

faulty('channel.start: a request that needs the thread fails, the next one works', async (t) => {
  const [here, there] = FdChannel.pair()
  fault('channel.start')
  await t.throwsAsync(there.receive(), injected)
  const receiving = there.receive()
  await here.send(bytes(1))
  t.deepEqual((await receiving).bytes, bytes(1))
  here.close()
  there.close()
})

faulty('channel.send: a send that fails is not sent, at once or after a wait', async (t) => {
  const [here, there] = FdChannel.pair()
  fault('channel.send')
  await t.throwsAsync(here.send(numbered(100)), injected)
  const { sent, waiting, next } = await fill(here)
  const last = here.send(numbered(next))
  fault('channel.send')
  const numbers = drain(t, there)
  await t.throwsAsync(waiting, injected)
  await last
  here.close()
  t.deepEqual(await numbers, [...sent, next])
  there.close()
})

faulty('channel.receive: a receive that fails reads nothing', async (t) => {
  const [here, there] = FdChannel.pair()
  await here.send(bytes(1))
  fault('channel.receive')
  await t.throwsAsync(there.receive(), injected)
  t.deepEqual((await there.receive()).bytes, bytes(1))
  const [first, second] = [there.receive(), there.receive()]
  fault('channel.receive')
  await here.send(bytes(2))
  await t.throwsAsync(first, injected)
  t.deepEqual((await second).bytes, bytes(2))
  here.close()
  there.close()
})

faulty('channel.duplicate: a send that has to wait and cannot duplicate is not sent, and leaves nothing', async (t) => {
  await startThread()
  const [here, there] = FdChannel.pair()
  const { sent, waiting, next } = await fill(here)
  const before = openDescriptors()
  for (const countdown of [1, 2, 3]) {
    fault('channel.duplicate', countdown)
    await t.throwsAsync(here.send(numbered(next), { descriptors: [0, 1, 2] }), injected)
    t.is(openDescriptors(), before)
  }
  const numbers = drain(t, there)
  await waiting
  here.close()
  t.deepEqual(await numbers, [...sent, next - 1])
  there.close()
})

for (const name of ['channel.holder', 'descriptor.register']) {
  faulty(`${name}: a frame whose descriptors cannot be given out fails, and leaves nothing`, async (t) => {
    const [here, there] = FdChannel.pair()
    const before = openDescriptors()
    await here.send(bytes(1), { descriptors: [0] })
    fault(name)
    await t.throwsAsync(there.receive(), injected)
    t.is(openDescriptors(), before)
    await here.send(bytes(2), { descriptors: [0] })
    t.is((await there.receive()).descriptors.length, 1)
    here.close()
    there.close()
  })
}
