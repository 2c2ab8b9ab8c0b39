/** What the tests and their parties agree on. */
export const NBYTES = 1 << 16

export type Step = 'wait' | 'export' | 'send' | 'receive' | 'open' | 'check' | 'read' | 'write' | 'close' | 'bytes' | 'exit'

export interface Reply {
  /** check: the different bytes that the memory holds. */
  values?: number[]
  /** bytes: an envelope, in base64. */
  bytes?: string
}
