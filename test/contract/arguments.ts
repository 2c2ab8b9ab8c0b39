/** Devices and options: what is misspelt or of the wrong type is refused by name. */
import assert from 'node:assert/strict'
import {
  IPCMemoryHandle, MemoryIPCDevice, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, getMemHandle, inspect, ledger, listBackends, listDevices,
  openMemHandle, selectDevice, validate,
} from '../../host/index.ts'
import { refused } from '../support/refused.ts'
import { NBYTES, allocate, exported, notHere } from './support.ts'
import type { ContractCase } from './types.ts'

export const argumentCases: ContractCase[] = [
  {
    name: 'misspelt options are refused everywhere, with the names that there are',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const { selector } = backend
      const wrong: [() => unknown, RegExp][] = [
        [() => new MemoryUSMDevice(NBYTES, { Device: selector } as never), /new MemoryUSMDevice has no option "Device"; it has device, sharing/],
        [() => new MemoryUSMHost(NBYTES, { devise: selector } as never), /new MemoryUSMHost has no option "devise"/],
        [() => new MemoryUSMShared(NBYTES, { devise: selector } as never), /new MemoryUSMShared has no option "devise"/],
        [() => new IPCMemoryHandle(shared.memory, { TTL: 5 } as never), /no option "TTL"; it has offset, nbytes, name, array, ttl/],
        [() => getMemHandle(shared.memory, { size: 5 } as never), /no option "size"/],
        [() => IPCMemoryHandle.open(shared.bytes, selector, NBYTES, { fd: 3 } as never), /IPCMemoryHandle\.open has no option "fd"; it has descriptor, channel, allowPidfd/],
        [() => openMemHandle(shared.bytes, selector, undefined, { allowPidFd: true } as never), /no option "allowPidFd"/],
        [() => IPCMemoryHandle.openVendor(new Uint8Array(32), selector, 1, { layout: 'host', lenght: 1 } as never), /openVendor has no option "lenght"/],
        [() => ledger({ Process: true } as never), /ledger has no option "Process"; it has process/],
        [() => validate(shared.bytes, { Now: 1 } as never), /no option .Now./],
        [() => inspect(shared.bytes, { layot: 'cuda' } as never), /no option .layot./],
      ]
      for (const [action, says] of wrong) refused(action, 'TypeError', 'UNKNOWN_OPTION', says)
    },
  },
  {
    name: 'options that are no object, and values of the wrong type, are refused',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const open = (options: unknown) => () => IPCMemoryHandle.open(shared.bytes, backend.selector, undefined, options as never)
      for (const options of [null, 1, 'descriptor', true]) refused(open(options), 'TypeError', 'INVALID_OPTIONS', /the options are an object/)
      refused(() => new MemoryUSMDevice(NBYTES, backend.selector as never), 'TypeError', 'INVALID_OPTIONS', /the device goes into the options: \{ device: '/)
      for (const absent of [undefined, null]) refused(() => IPCMemoryHandle.open(shared.bytes, absent as never), 'TypeError', 'INVALID_SELECTOR', /./)
      refused(open({ descriptor: 0, channel: { received: [] } }), 'TypeError', 'INVALID_OPTIONS', /one of descriptor, channel and allowPidfd/)
      refused(open({ descriptor: 0, allowPidfd: true }), 'TypeError', 'INVALID_OPTIONS', /one of descriptor, channel and allowPidfd/)
      refused(open({ channel: {} }), 'TypeError', 'INVALID_OPTIONS', /channel must be an FdChannel/)
      refused(open({ channel: 5 }), 'TypeError', 'INVALID_OPTIONS', /channel must be an FdChannel/)
      refused(open({ descriptor: 'x' }), 'TypeError', 'INVALID_DESCRIPTOR', /a file descriptor is a Descriptor or a number/)
      refused(open({ descriptor: -1 }), 'RangeError', 'INVALID_DESCRIPTOR', /no file descriptor/)
      refused(open({ requireAuthentication: 'yes' }), 'TypeError', 'INVALID_OPTIONS', /true or false/)
      refused(open({ allowPidfd: 1 }), 'TypeError', 'INVALID_OPTIONS', /true or false/)
      refused(open({ channel: { received: [{}] } }), 'TypeError', 'INVALID_OPTIONS', /channel must be an FdChannel/)
    },
  },
  {
    name: 'devices are selected by SYCL\'s filter strings',
    smoke: true,
    run(backend) {
      const device = selectDevice(backend.selector)
      assert.equal(device.backend, backend.name)
      assert.match(device.uuid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      assert.equal(selectDevice(device), device)
      assert.equal(selectDevice(device.selector).uuid, device.uuid)
      assert.equal(selectDevice(`${device.backend}:${device.type}:${device.index}`).uuid, device.uuid)
      assert(listDevices().some((d) => d.uuid === device.uuid))
      assert(listBackends().some((b) => b.backend === backend.name && b.available && b.reason === ''))
      assert.equal(JSON.parse(JSON.stringify(device)).selector, device.selector)
      assert(String(device).startsWith(device.selector))
      for (const wrong of ['', 'nonsense', `${backend.name}:`, 'host:0:0', 'host:gpu:0:0', 'host:-1', 'HOST', '*:*', 'host:99999999']) {
        refused(() => selectDevice(wrong), 'TypeError', 'INVALID_SELECTOR', /is not a device selector: use backend\[:type\]\[:number\]/)
      }
      refused(() => selectDevice(7 as never), 'TypeError', 'INVALID_SELECTOR', /a string like 'host'/)
      refused(() => selectDevice(null as never), 'TypeError', 'INVALID_SELECTOR', /a string like 'host'/)
      refused(() => selectDevice(`${backend.name}:999999`), 'DriverError', 'NO_SUCH_DEVICE', /no device matches .*there are: /)
      refused(() => allocate(backend, NBYTES, { device: `${backend.name}:999999` }), 'DriverError', 'NO_SUCH_DEVICE', /there are: /)
    },
  },
  {
    name: 'a backend that is not there is refused with the reason',
    smoke: true,
    run() {
      const absent = listBackends().find((b) => !b.available)
      if (absent === undefined) return notHere('every backend is available')
      assert.notEqual(absent.reason, '')
      refused(() => selectDevice(absent.backend), 'DriverError', 'BACKEND_UNAVAILABLE', new RegExp(`the ${absent.backend} backend cannot be used here: `))
      assert.equal(IPCMemoryHandle.isAvailable(absent.backend), false)
      assert.equal(IPCMemoryHandle.isAvailable('nonsense'), false)
      assert.equal(IPCMemoryHandle.isAvailable(), true)
    },
  },
  {
    name: 'a MemoryIPCDevice is not constructed',
    smoke: true,
    run() {
      for (const argument of [undefined, null, NBYTES, {}, { acquire: 1 }]) {
        refused(() => new MemoryIPCDevice(argument as never), 'TypeError', 'NOT_CONSTRUCTIBLE', /made by IPCMemoryHandle\.open/)
      }
    },
  },
]
