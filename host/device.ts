import { addon, type NativeUnavailable } from './addon.ts'
import { quote } from './arguments.ts'
import { toUuid } from './core/bytes.ts'
import { BACKENDS, type BackendName } from './core/names.generated.ts'
import { DriverError, checked, typeError } from './errors.ts'

/** SYCL's words for what a device is. */
export type DeviceType = 'gpu' | 'cpu' | 'accelerator' | 'host'

/** A device of a backend. Devices are compared by UUID, never by index. */
export class Device {
  readonly backend: BackendName
  /** Position among the backend's devices, as the selector counts. */
  readonly index: number
  readonly name: string
  readonly type: DeviceType
  /** 8-4-4-4-12 hexadecimal digits. The host's is derived from its boot id. */
  readonly uuid: string
  /** Bytes. */
  readonly memory: number
  /** No hardware of that kind is behind it. */
  readonly software: boolean
  /** @internal */
  readonly uuidBytes: Uint8Array
  /** @internal the backend's number in the addon */
  readonly backendIndex: number

  /** @internal */
  constructor(backend: BackendName, backendIndex: number, index: number, d: ReturnType<ReturnType<typeof addon>['devices']>[number]) {
    this.backend = backend
    this.backendIndex = backendIndex
    this.index = index
    this.name = d.name
    this.type = d.type as DeviceType
    this.uuidBytes = d.uuid
    this.uuid = toUuid(d.uuid)
    this.memory = d.memory
    this.software = d.software
  }

  /** A selector that names this device: `host:0`. */
  get selector(): string {
    return `${this.backend}:${this.index}`
  }

  toString(): string {
    return `${this.selector} ${this.name}`
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Device { ${this} }`
  }

  toJSON(): object {
    const { backend, index, name, type, uuid, memory, software, selector } = this
    return { selector, backend, index, type, name, uuid, memory, software }
  }
}

/** A backend of this version, and why it cannot be used here if it cannot. */
export interface BackendStatus {
  backend: BackendName
  available: boolean
  /** '' where it is available. */
  reason: string
}

/** Every backend that the package knows by name. Loads their drivers to find out. */
export function listBackends(): BackendStatus[] {
  return NAMES.map((backend) => {
    const { reason } = unavailable(backend)
    return { backend, available: reason === '', reason }
  })
}

const NAMES = Object.keys(BACKENDS) as BackendName[]

// What is missing may be brought, so only success is kept.
function unavailable(backend: BackendName): NativeUnavailable {
  const index = addon().backends().indexOf(backend)
  if (index < 0) return { reason: `this version of usm-ipc has no ${backend} backend`, call: '', result: '', number: 0 }
  return found.has(backend) ? { reason: '', call: '', result: '', number: 0 } : addon().unavailable(index)
}

const found = new Map<BackendName, readonly Device[]>()

// Each backend is loaded when it is first asked for: a GPU's runtime is not started by who uses the host's memory.
function devicesOf(backend: BackendName): readonly Device[] {
  const known = found.get(backend)
  if (known !== undefined) return known
  if (unavailable(backend).reason !== '') return []
  const index = addon().backends().indexOf(backend)
  const devices = checked(() => addon().devices(index)).map((d, i) => new Device(backend, index, i, d))
  found.set(backend, devices)
  return devices
}

/**
 * All devices of the backends that can be used here.
 *
 * @example
 * ```ts
 * import { listDevices } from 'usm-ipc'
 *
 * for (const device of listDevices()) console.log(`${device.selector}  ${device.uuid}  ${device.name}`)
 * ```
 */
export function listDevices(): Device[] {
  return NAMES.flatMap(devicesOf)
}

/** @internal The device of that UUID, of a backend of this machine. Loads the backend. */
export function deviceOf(backend: string, uuid: string): Device | undefined {
  return Object.hasOwn(BACKENDS, backend) ? devicesOf(backend as BackendName).find((d) => d.uuid === uuid) : undefined
}

/** By selectors that name a backend, whose devices stay what they are; for others one may come that is preferred. */
const selected = new Map<string, Device>()

/** Preferred first, where no backend is named: what has memory of its own before the host. */
const PREFERENCE: readonly BackendName[] = ['cuda', 'sycl', 'level_zero', 'host']
const TYPES: readonly string[] = ['gpu', 'cpu', 'accelerator', 'host']

/**
 * The device that a SYCL filter string names: `backend`, `backend:type`, `backend:number`, `backend:type:number`,
 * or with `*` for any backend. Without an argument: the first device of the preferred backend (cuda, sycl, level_zero,
 * host); the device that is returned says which it is.
 *
 * @throws TypeError for a string of another form; DriverError where the backend cannot be used here or has no such device
 * @example
 * ```ts
 * import { selectDevice } from 'usm-ipc'
 *
 * const device = selectDevice('host')
 * console.assert(device.backend === 'host')
 * ```
 */
export function selectDevice(selector: string | Device = '*'): Device {
  if (selector instanceof Device) return selector
  if (typeof selector !== 'string') throw typeError('invalid-selector', `a device selector is a string like 'host' or 'level_zero:gpu', not ${typeof selector}`)
  const chosen = selected.get(selector)
  if (chosen !== undefined) return chosen
  const { backend, type, number } = parse(selector)
  if (backend !== undefined) {
    const { reason, call, result, number: resultNumber } = unavailable(backend)
    if (reason !== '') {
      throw new DriverError('backend-unavailable', `the ${backend} backend cannot be used here: ${reason}`, {
        backend, call: call || 'selectDevice', result: result || 'unavailable', resultNumber,
      })
    }
  }
  let left = number
  for (const name of backend === undefined ? PREFERENCE : [backend]) {
    for (const device of devicesOf(name)) {
      if ((type !== undefined && device.type !== type) || left-- > 0) continue
      if (backend !== undefined) selected.set(selector, device)
      return device
    }
  }
  const known = (backend === undefined ? listDevices() : devicesOf(backend)).map((d) => d.selector).join(', ')
  throw new DriverError('no-such-device', `no device matches ${quote(selector)}; there are: ${known}`, {
    backend: backend ?? '*', call: 'selectDevice', result: 'no-such-device', resultNumber: 0,
  })
}

function parse(selector: string): { backend: BackendName | undefined; type: string | undefined; number: number } {
  const bad = (): never => {
    throw typeError(
      'invalid-selector',
      `${quote(selector)} is not a device selector: use backend[:type][:number], with backend ${Object.keys(BACKENDS).join(', ')} or *, and type ${TYPES.join(', ')}`,
    )
  }
  const [first = '', ...rest] = selector.split(':')
  if (TYPES.includes(first) && first !== 'host') {
    throw typeError('invalid-selector', `${quote(selector)} names no backend: '*:${first}' is a ${first} of any`)
  }
  if (first !== '*' && !Object.hasOwn(BACKENDS, first)) bad()
  const type = rest[0] !== undefined && TYPES.includes(rest[0]) ? rest.shift() : undefined
  const number = rest.shift()
  if (rest.length > 0 || (number !== undefined && !/^\d{1,6}$/.test(number))) bad()
  return { backend: first === '*' ? undefined : (first as BackendName), type, number: Number(number ?? 0) }
}

