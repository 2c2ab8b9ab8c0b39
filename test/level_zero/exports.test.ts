/** An export holds a descriptor of the driver's from its beginning to its end, and no longer. */
import { readdirSync, readlinkSync } from 'node:fs'
import test from 'ava'
import { addon } from '../../host/addon.ts'
import { IPCMemoryHandle, MemoryUSMDevice } from '../../host/index.ts'
import { asForeign } from '../support/forge.ts'
import { faultsAreThere } from '../support/faults.ts'
import { refused } from '../support/refused.ts'

Object.assign(process.env, { USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_HANDLES: 'opaque' })
const device = 'level_zero'

/** The driver's: one for each allocation, and one more for each that is exported. */
function memoryFiles(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // the descriptor of the listing itself
    }
  })
  return links.filter((link) => link.startsWith('/memfd:usm-ipc')).length
}

test.serial('exports of one memory share a handle, which ends with the last of them', (t) => {
  using memory = new MemoryUSMDevice(4096, { device })
  t.is(memoryFiles(), 1)
  const handles = [new IPCMemoryHandle(memory), new IPCMemoryHandle(memory), new IPCMemoryHandle(memory)]
  t.is(memoryFiles(), 2)
  t.is(new Set(handles.map((handle) => String(handle.toBytes({ format: 'vendor' })))).size, 1)
  handles[0]!.close()
  handles[2]!.close()
  t.is(memoryFiles(), 2)
  handles[1]!.close()
  t.is(memoryFiles(), 1)
})

test.serial('many exports and opens, one after the other: descriptors stay as many', (t) => {
  using memory = new MemoryUSMDevice(4096, { device })
  for (let i = 0; i < 2000; i++) {
    using handle = new IPCMemoryHandle(memory)
    using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), device, undefined, { descriptor: handle.descriptors[0]! })
    if (i === 0) mapped.fill(1)
  }
  t.is(memoryFiles(), 1)
})

test.serial('memory that is freed before its export ends with it', (t) => {
  const memory = new MemoryUSMDevice(4096, { device })
  const handle = new IPCMemoryHandle(memory)
  memory.close()
  t.is(memoryFiles(), 2)
  handle.close()
  t.is(memoryFiles(), 0)
})

test.serial('an export whose descriptor cannot be told is given back', (t) => {
  if (!faultsAreThere(t)) return
  using memory = new MemoryUSMDevice(4096, { device })
  for (const point of ['open.seals', 'open.stat']) {
    addon().setFault!(point, 1)
    refused(() => new IPCMemoryHandle(memory), 'DriverError', 'INJECTED', new RegExp(point))
    t.is(memoryFiles(), 1)
  }
  using handle = new IPCMemoryHandle(memory)
  t.false(handle.isClosed)
})
