/** What the tests and the processes that they drive agree on. Bytes travel in hexadecimal digits. */
import type { LayoutName } from '../../../host/core/index.ts'

export type Request =
  | { do: 'devices' }
  | { do: 'allocate'; name: string; nbytes: number; fill?: number; usm?: 'device' | 'host' | 'shared'; device?: string }
  | { do: 'adopt'; name: string; pointer: string; nbytes: number; allowNeighbours?: boolean; device?: string }
  | { do: 'fill'; name: string; value: number }
  | { do: 'read'; name: string; nbytes: number; offset?: number }
  | { do: 'write'; name: string; bytes: string; offset?: number }
  | { do: 'export'; name: string }
  | { do: 'closeExport'; name: string }
  /** Descriptors: the one beside the request, or by pidfd. */
  | { do: 'open'; name: string; bytes: string; allowPidfd?: boolean; device?: string }
  | { do: 'openVendor'; name: string; bytes: string; nbytes: number; layout: LayoutName; allowPidfd?: boolean; device?: string }
  | { do: 'close'; name: string }
  | { do: 'counts' }
  | { do: 'setuid'; uid: number }
  | { do: 'end' }

export interface Refusal {
  name: string
  code: string
  message: string
  verdict?: string
  call?: string
  result?: string
  resultNumber?: number
}

export interface Reply {
  error?: Refusal
  devices?: { selector: string; uuid: string; software: boolean; name: string }[]
  pointer?: string
  nbytes?: number
  baseNbytes?: number
  bytes?: string
  envelope?: string
  vendor?: string
  unchecked?: string[]
  live?: number
  resources?: number
  descriptors?: number
  mappings?: number
}
