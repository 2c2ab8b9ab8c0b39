/** More than the device has. */
import test from 'ava'
import { MemoryUSMDevice, MemoryUSMShared, ledger, selectDevice, type DriverError } from '../../host/index.ts'
import { rawDriver } from '../cuda/raw_driver.ts'
import { figure } from './figure.ts'

const device = selectDevice('cuda')
const raw = rawDriver()
const PIECE = 8 * 2 ** 30

for (const ipc of ['legacy', 'fd', 'pool'] as const) {
  test.serial(`out of memory is said by call and result, and nothing is lost: ${ipc}`, (t) => {
    new MemoryUSMDevice(1 << 20, { device, ipc }).close()
    const free = raw.freeMemory()
    const refused = (nbytes: number): DriverError => {
      const error = t.throws(() => new MemoryUSMDevice(nbytes, { device, ipc })) as DriverError
      t.like(error, { code: 'ERR_USM_IPC_DRIVER_CALL_FAILED', backend: 'cuda', result: 'CUDA_ERROR_OUT_OF_MEMORY', resultNumber: 2 })
      t.regex(error.message, /the device has not this much memory free/)
      return error
    }
    const { call } = refused(device.memory * 2)
    const pieces: MemoryUSMDevice[] = []
    for (let left = Math.floor(free / PIECE); left > 0; left--) pieces.push(new MemoryUSMDevice(PIECE, { device, ipc }))
    refused(PIECE)
    for (const piece of pieces) piece.close()
    t.is(ledger().live, 0)
    t.is(raw.freeMemory(), free)
    figure('out of memory', { ipc, call, 'pieces of 8 GiB that fit': pieces.length, 'free bytes before and after': [free, raw.freeMemory()] })
  })
}

test.serial('managed memory that does not fit is refused, not swapped', (t) => {
  const free = raw.freeMemory()
  const error = t.throws(() => new MemoryUSMShared(device.memory * 2, { device })) as DriverError
  t.like(error, { call: 'cuMemAllocManaged', result: 'CUDA_ERROR_OUT_OF_MEMORY' })
  t.is(raw.freeMemory(), free)
})
