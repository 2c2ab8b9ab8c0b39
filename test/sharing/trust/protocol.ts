/** What the tests of trust ask of a process that shares memory. */
import type { ExporterLease } from '../../../host/index.ts'
import type { Limits } from '../../../host/sharing/limits.ts'

/** How `authorize` answers: these users are served, or it misbehaves. */
export type Authorize = { uids: number[] } | 'throws' | 'rejects' | 'hangs' | 'truthy' | 'nothing'

/** A key as it travels over the control channel. */
export interface KeyText {
  id: number
  hex: string
}

export type Request =
  | { do: 'listen'; path: string; mode?: number; authorize?: Authorize; key?: KeyText; limits?: Partial<Limits> }
  | { do: 'publish'; name: string; nbytes: number; fill: number; sharing?: 'readOnly' }
  | { do: 'unpublish'; name: string }
  | { do: 'rotate'; key: KeyText }
  | { do: 'leases' }
  | { do: 'asked' }
  | { do: 'dropped' }
  | { do: 'connect'; path: string; serverUid?: number; keys?: KeyText[]; requireAuthentication?: boolean }
  | { do: 'open'; name: string }
  | { do: 'read' }
  | { do: 'close' }
  | { do: 'setuid'; uid: number }
  | { do: 'held' }
  /** SIGKILL, while a child of its keeps its sockets open. */
  | { do: 'die' }
  | { do: 'end' }

export interface Reply {
  /** What was thrown instead. */
  error?: { name: string; code: string; message: string; result?: string }
  /** listen: this process's view of itself. */
  uid?: number
  /** open, read: the different bytes that the memory holds. */
  values?: number[]
  readOnly?: boolean
  leases?: ExporterLease[]
  /** The users that authorize was asked about. */
  asked?: number[]
  /** How many connections have ended since this was asked last, by the reason's code. */
  dropped?: Record<string, number>
  held?: Held
}

export interface Held {
  descriptors: number
  memfds: number
  mappings: number
  live: number
  claims: number
  resources: number
  leases: number
  peers: number
}
