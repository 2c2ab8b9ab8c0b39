import { asBytes } from '../arguments.ts'
import type { Core } from './core.ts'
import { envelopeFields, type Field } from './fields.ts'
import { toHex, fromUtf8 } from './bytes.ts'
import { FURTHER_ROLES, type BackendName, type DescriptorKindName, type KindName, type LayoutName } from './names.generated.ts'
import type { Policy } from './policy.ts'

/** A valid envelope's contents. Sizes in bytes, times in milliseconds since 1970. */
export interface Envelope {
  version: { major: number; minor: number }
  kind: KindName
  backend: BackendName
  layout: LayoutName
  deviceUuid: string
  allocationSize: number
  offset: number
  nbytes: number
  /** 32 hexadecimal digits, as the bytes stand. */
  allocationId: string
  pid: number
  /** The key that its tag is said to be of; 0: there is no tag. */
  keyId: number
  startTime: number | bigint
  pidNamespace: number | bigint
  bootId: string
  created: number
  /** 0: never */
  expires: number
  nonce: string
  handle: Uint8Array
  /** Every further handle, an event too. */
  further: { role: number; bytes: Uint8Array }[]
  /** Handle of the event that is to be waited for before the memory is read. */
  event: Uint8Array | undefined
  descriptors: { kind: DescriptorKindName; stDev: number | bigint; stIno: number | bigint }[]
  array: { code: number; bits: number; lanes: number; shape: (number | bigint)[]; strides: (number | bigint)[] } | undefined
  name: string | undefined
  /** Optional sections of types that this version does not know. */
  unknown: { type: number; bytes: Uint8Array }[]
}

/**
 * Validates and decodes.
 *
 * @throws HandleError with the verdict where the bytes are not valid under the policy
 */
export function decodeWith(core: Core, bytes: Uint8Array, policy?: Policy): Envelope {
  core.check(bytes, policy)
  // What was checked, not what the caller's memory holds by now.
  bytes = core.u8.slice(core.inputAt, core.inputAt + asBytes(bytes, 'bytes').length)
  const fields = envelopeFields(core, core.inputAt, bytes.length)
  const of = (name: string): Field => fields.find((f) => f.name === name)!
  const number = (name: string): number => Number(of(name).value)
  const text = (name: string): string => String(of(name).value)
  const exact = (name: string): number | bigint => of(name).value as number | bigint
  const random = of('allocation_random')
  const envelope: Envelope = {
    version: { major: number('major'), minor: number('minor') },
    kind: of('kind').meaning as KindName,
    backend: of('backend').meaning as BackendName,
    layout: of('layout').meaning as LayoutName,
    deviceUuid: text('device_uuid'),
    allocationSize: number('allocation_size'),
    offset: number('offset'),
    nbytes: number('nbytes'),
    allocationId: toHex(bytes.subarray(random.offset, random.offset + 16)),
    pid: number('pid'),
    keyId: number('key_id'),
    startTime: exact('start_time'),
    pidNamespace: exact('pid_namespace'),
    bootId: text('boot_id'),
    created: number('created'),
    expires: number('expires'),
    nonce: text('nonce'),
    handle: new Uint8Array(0),
    further: [],
    event: undefined,
    descriptors: [],
    array: undefined,
    name: undefined,
    unknown: [],
  }
  for (const f of fields) if (f.name === 'section_type') readSection(envelope, bytes, f, fields)
  return envelope
}

function readSection(envelope: Envelope, bytes: Uint8Array, type: Field, fields: Field[]): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const at = type.offset + 8
  const length = view.getUint32(type.offset + 4, true)
  const within = fields.filter((f) => f.offset >= at && f.offset < at + length)
  const values = (name: string): (number | bigint)[] => within.filter((f) => f.name === name).map((f) => f.value as number | bigint)
  switch (type.meaning) {
    case 'handle':
      envelope.handle = bytes.slice(at, at + length)
      break
    case 'further-handle': {
      const further = { role: view.getUint32(at, true), bytes: bytes.slice(at + 8, at + length) }
      envelope.further.push(further)
      if (further.role === FURTHER_ROLES.event) envelope.event = further.bytes
      break
    }
    case 'descriptors': {
      const [devices, inodes] = [values('entry_st_dev'), values('entry_st_ino')]
      within.filter((f) => f.name === 'entry_kind').forEach((f, i) => {
        envelope.descriptors.push({ kind: f.meaning as DescriptorKindName, stDev: devices[i]!, stIno: inodes[i]! })
      })
      break
    }
    case 'array':
      envelope.array = {
        code: view.getUint8(at), bits: view.getUint8(at + 1), lanes: view.getUint16(at + 2, true),
        shape: values('shape'), strides: values('stride'),
      }
      break
    case 'name':
      envelope.name = fromUtf8(bytes.subarray(at, at + length))
      break
    default:
      envelope.unknown.push({ type: Number(type.value), bytes: bytes.slice(at, at + length) })
  }
}
