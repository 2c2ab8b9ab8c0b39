/** Memory of each GPU, opened by a process that lists them in the opposite order and copies it to its first one. */
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, ledger, listDevices } from '../../host/index.ts'
import type { Answer, Request } from '../cuda/children/device_party.ts'
import { decode, encode, hear, say, startChild } from '../support/child.ts'
import { figure } from './figure.ts'

const NBYTES = 64 << 20
const devices = listDevices().filter(({ backend }) => backend === 'cuda')
const reversed = devices.map((_, i) => devices.length - 1 - i).join(',')

test.serial('memory of every GPU is found by UUID, whatever the order, and copied to another', async (t) => {
  if (devices.length < 2) {
    figure('two GPUs', { note: 'needs two GPUs: this machine has one' })
    t.is(devices.length, 1)
    return
  }
  let copies = 0
  for (const [number, device] of devices.entries()) {
    for (const ipc of ['legacy', 'fd', 'pool'] as const) {
      using memory = new MemoryUSMDevice(NBYTES, { device, ipc })
      memory.fill(number + 1)
      using handle = new IPCMemoryHandle(memory)
      const child = startChild(new URL('../cuda/children/device_party.ts', import.meta.url), { env: { CUDA_VISIBLE_DEVICES: reversed } })
      await say(child.channel, { bytes: encode(handle.toBytes()), uuid: device.uuid } satisfies Request, handle)
      const { first, bytes, copied, error, message } = await hear<Answer>(child.channel)
      await child.kill()
      t.is(error, undefined, message)
      t.is(first, devices.at(-1)!.uuid)
      t.deepEqual(decode(bytes!), new Uint8Array(16).fill(number + 1))
      t.true(copied)
      if (first !== device.uuid) copies++
    }
  }
  t.is(ledger().live, 0)
  figure('two GPUs', { devices: devices.length, 'opened and copied to another': copies })
})
