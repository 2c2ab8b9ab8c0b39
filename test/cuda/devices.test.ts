/** Several devices, which another process sees in another order, or not at all. The software driver has as many as are asked for. */
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, listDevices } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { decode, encode, hear, say, startChild } from '../support/child.ts'
import { onGpu } from '../support/ipc.ts'
import type { Answer, Request } from './children/device_party.ts'

cudaBackend('legacy')
if (!onGpu) process.env['USM_IPC_CUDA_SW_DEVICES'] = '3'
const devices = listDevices().filter(({ backend }) => backend === 'cuda')

async function ask(visible: string, request: Request, handle?: IPCMemoryHandle): Promise<Answer> {
  const child = startChild(new URL('children/device_party.ts', import.meta.url), { env: { CUDA_VISIBLE_DEVICES: visible } })
  try {
    await say(child.channel, request, handle)
    return await hear<Answer>(child.channel)
  } finally {
    await child.kill()
  }
}

if (devices.length > 1) {
  for (const ipc of ['legacy', 'fd', 'pool'] as const) {
    test.serial(`memory of the second device is opened where the first is another, by UUID: ${ipc}`, async (t) => {
      using memory = new MemoryUSMDevice(8192, { device: devices[1]!, ipc })
      memory.fill(3)
      using handle = new IPCMemoryHandle(memory)
      const reversed = devices.map((_, i) => devices.length - 1 - i).join(',')
      const opened = await ask(reversed, { bytes: encode(handle.toBytes()), uuid: devices[1]!.uuid }, handle)
      t.is(opened.error, undefined)
      t.is(opened.first, devices.at(-1)!.uuid)
      t.deepEqual(decode(opened.bytes!), new Uint8Array(16).fill(3))
      t.true(opened.copied, 'and copied to the first device there')
      const wrong = await ask(reversed, { bytes: encode(handle.toBytes()), uuid: devices[0]!.uuid }, handle)
      t.is(wrong.error, 'ERR_USM_IPC_WRONG_DEVICE')
    })
  }

  test.serial('a device that a process does not see is said to be another', async (t) => {
    using memory = new MemoryUSMDevice(8192, { device: devices[1]! })
    using handle = new IPCMemoryHandle(memory)
    const hidden = await ask('0', { bytes: encode(handle.toBytes()) }, handle)
    t.is(hidden.error, 'ERR_USM_IPC_WRONG_DEVICE')
    t.regex(hidden.message!, new RegExp(`it is for ${devices[1]!.uuid}, cuda:0 is ${devices[0]!.uuid}`))
    const uuid = await ask(`GPU-${devices[1]!.uuid}`, { bytes: encode(handle.toBytes()) }, handle)
    t.is(uuid.error, undefined)
  })
} else {
  test('one device', (t) => {
    t.log('needs two devices: this machine has one')
    t.is(devices.length, 1)
  })
}

test.serial('copies between devices', (t) => {
  const [one, other] = [devices[0]!, devices.at(-1)!]
  using from = new MemoryUSMDevice(3 << 20, { device: one })
  using to = new MemoryUSMDevice(3 << 20, { device: other, ipc: 'fd' })
  const bytes = Uint8Array.from({ length: 3 << 20 }, (_, i) => i * 7)
  from.copyFrom(bytes)
  to.copyFrom(from)
  const back = new Uint8Array(3 << 20)
  to.copyTo(back)
  t.is(Buffer.compare(back, bytes), 0)
})
