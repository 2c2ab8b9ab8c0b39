/** Where the descriptor comes from; given: the one that came beside the step, without asking which it is. */
export type Source = 'channel' | 'given' | 'pidfd' | 'nothing'

/** What a party (children/party.ts) is told, and what it answers. Memories and handles are kept by name. */
export type Step =
  | { do: 'allocate'; name: string; value: number }
  /** The answer has the descriptor beside it. */
  | { do: 'export'; name: string }
  | { do: 'free'; name: string }
  | { do: 'open'; name: string; envelope: string; by: Source }
  | { do: 'openVendor'; name: string; raw: string; layout: string; by: Source }
  | { do: 'read'; name: string }
  /** A memory file of the party's own, with a byte in it that nobody else may see. */
  | { do: 'private'; value: number }
  | { do: 'books' }
  | { do: 'end' }

export interface Answer {
  error?: { name: string; code: string; call?: string; result?: string; message: string }
  pointer?: string
  envelope?: string
  raw?: string
  path?: string
  unchecked?: readonly string[]
  value?: number
  fd?: number
  books?: { live: number; claims: number; resources: number; descriptors: number }
}

export const NBYTES = 4096
