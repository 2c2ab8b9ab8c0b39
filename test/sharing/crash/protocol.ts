/** What the tests of crashes and their parties say to each other. */
import type { Task } from './children/holder.ts'
import type { Step } from '../../../host/sharing/steps.ts'

/** What else keeps the sockets of a process that dies: nothing, a program that inherited them, or a copy of the process. */
export type Survivor = 'alone' | 'with a child program' | 'with a forked child'

export type Command =
  | { do: 'allocate'; memory: string; nbytes?: number; byte: number }
  | { do: 'fill'; memory: string; byte: number }
  | { do: 'rename memory'; memory: string; to: string }
  | { do: 'check'; memory: string }
  | { do: 'close memory'; memory: string }
  | { do: 'forget memory'; memory: string }
  | { do: 'view'; memory: string }
  | { do: 'forget views' }
  | { do: 'check views' }
  | { do: 'pointer'; memory: string }
  | { do: 'adopt'; memory: string; of: string; offset?: number; nbytes: number }
  | { do: 'envelope'; memory: string }
  | { do: 'lease'; memory: string }
  | { do: 'listen'; path: string }
  | { do: 'publish'; name: string; memory: string; offset?: number; nbytes?: number; ttl?: number }
  | { do: 'unpublish'; name: string; revoke?: boolean; graceMs?: number; patienceMs?: number }
  | { do: 'leases' }
  | { do: 'close exporter'; graceMs?: number }
  | { do: 'connect'; path: string; session?: string }
  | { do: 'list'; session?: string }
  | { do: 'open'; name: string; memory: string; session?: string; timeoutMs?: number }
  | { do: 'open bytes'; bytes: string; memory: string; session?: string }
  | { do: 'open many'; path: string; sessions: number; name: string }
  | { do: 'session leases'; session?: string }
  | { do: 'close session'; session?: string }
  | { do: 'session'; session?: string }
  | { do: 'open and abort'; name: string; session?: string }
  | { do: 'ask and close'; name: string; session?: string }
  | { do: 'connect and close exporter'; path: string; sessions: number }
  | { do: 'start worker'; task: Task }
  | { do: 'terminate worker' }
  | { do: 'counts' }
  | { do: 'collect' }
  | { do: 'die at'; step: Step; count: number; survivor: Survivor; forker?: string }
  | { do: 'exit'; code: number }
  | { do: 'finish' }

export interface Held {
  descriptors: number
  /** Descriptors and mappings of memory files of ours. */
  memfds: number
  mappings: number
  live: number
  claims: number
  resources: number
  /** Of the exporter. */
  leases: number
  /** Of all sessions. */
  sessionLeases: number
}

export interface Failure {
  name: string
  code: string
  verdict?: string | undefined
  message: string
}

/** `at`: the monotonic clock in nanoseconds, which processes have in common. */
export type Event = { at: string } & (
  | { event: 'exporterGone'; session: string }
  | { event: 'revoked'; session: string; name: string | undefined; graceMs: number }
  | { event: 'close'; session: string }
  | { event: 'connect'; pid: number }
  | { event: 'disconnect'; pid: number }
  | { event: 'lease'; pid: number; id: number }
  | { event: 'release'; pid: number; id: number }
)

export type Message = { id: number; value: unknown } | { id: number; failure: Failure } | Event

/** The last line of a process that dies by `die at`: the step, when, and who was left behind. */
export const lastWords = (step: Step, pid: number): string => `reached ${step} ${process.hrtime.bigint()} ${pid}\n`

export const now = (): string => String(process.hrtime.bigint())
