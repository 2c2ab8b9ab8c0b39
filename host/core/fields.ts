import { toHex, fromUtf8, toUuid } from './bytes.ts'
import type { Core } from './core.ts'
import { BACKENDS, DESCRIPTOR_KINDS, FIELDS, FURTHER_ROLES, KINDS, LAYOUTS, SECTIONS } from './names.generated.ts'

/** One field of an envelope or a vendor handle. Fields follow each other without gap or overlap. */
export interface Field {
  /** As in docs/envelope.ksy. */
  name: string
  /** Bytes from the start. */
  offset: number
  /** Bytes. */
  length: number
  /** Which section, descriptor entry or dimension. */
  index: number
  /** Integers as numbers (bigint above 2^53-1); bytes in hexadecimal; UUIDs and text as text; pointers as `0x...`. */
  value: number | bigint | string
  /** The name of a coded value ('host' for backend 1), or a time in ISO 8601. */
  meaning?: string
}

const RECORD = 24
const VALUE = { unsigned: 1, signed: 2, pointer: 3, bytes: 4, uuid: 5, text: 6, time: 7, named: 8, flags: 9 } as const
const CODED: Record<string, Readonly<Record<string, number>>> = {
  kind: KINDS, backend: BACKENDS, layout: LAYOUTS, section_type: SECTIONS, entry_kind: DESCRIPTOR_KINDS,
  further_role: FURTHER_ROLES,
}

/** The fields of the envelope that lies at `at`. */
export function envelopeFields(core: Core, at: number, length: number): Field[] {
  const count = core.exports.describe(at, length, core.listAt, core.listSize)
  return read(core, at, count)
}

/** The fields of the vendor handle that lies at `at`; none where its length is not the layout's. */
export function vendorFields(core: Core, layout: number, at: number, length: number): Field[] {
  const count = core.exports.describeVendor(layout, at, length, core.listAt, core.listSize)
  return count < 0 ? [] : read(core, at, count)
}

function read(core: Core, bytesAt: number, count: number): Field[] {
  const u8 = core.u8
  const view = new DataView(u8.buffer, core.listAt, core.listSize)
  const fields: Field[] = []
  for (let i = 0; i < Math.min(count, Math.floor(core.listSize / RECORD)); i++) {
    const record = i * RECORD
    const offset = view.getUint32(record, true)
    const length = view.getUint32(record + 4, true)
    const field: Field = {
      name: FIELDS[view.getUint16(record + 8, true)]!,
      offset,
      length,
      index: view.getUint32(record + 12, true),
      value: 0,
    }
    const bytes = u8.subarray(bytesAt + offset, bytesAt + offset + length)
    setValue(field, view.getUint8(record + 10), view.getBigUint64(record + 16, true), bytes)
    fields.push(field)
  }
  return fields
}

function setValue(field: Field, kind: number, integer: bigint, bytes: Uint8Array): void {
  switch (kind) {
    case VALUE.bytes:
      field.value = toHex(bytes)
      break
    case VALUE.uuid:
      field.value = toUuid(bytes)
      break
    case VALUE.text:
      field.value = fromUtf8(bytes)
      break
    case VALUE.pointer:
      field.value = '0x' + integer.toString(16)
      break
    case VALUE.signed:
      field.value = exact(BigInt.asIntN(64, integer))
      break
    default:
      field.value = exact(integer)
  }
  if (kind === VALUE.named) {
    const name = Object.entries(CODED[field.name] ?? {}).find(([, code]) => code === field.value)?.[0]
    if (name !== undefined) field.meaning = name
  } else if (kind === VALUE.time && field.value !== 0) {
    const time = new Date(Number(integer))
    if (!Number.isNaN(time.getTime())) field.meaning = time.toISOString()
  }
}

function exact(integer: bigint): number | bigint {
  return integer >= -9007199254740991n && integer <= 9007199254740991n ? Number(integer) : integer
}
