/** What a program does in whose driver a call fails, and what came of it. */
export const FAULT_NBYTES = 65_536
export const OWN_VALUE = 1
export const OPENED_VALUE = 2

export interface FaultReport {
  /** The first step that failed, or 'done'. */
  step: string
  error?: { name?: string; code?: string; message?: string; call?: string; result?: string }
}

/** The same steps for the bare program. */
export const bareSteps = (handle: string): [step: string, command: string, expected?: string][] => [
  ['start', 'start'],
  ['allocate', `allocate a ${FAULT_NBYTES}`],
  ['fill', `fill a ${OWN_VALUE} ${FAULT_NBYTES}`],
  ['read', `read a 0 ${FAULT_NBYTES}`, Buffer.alloc(FAULT_NBYTES, OWN_VALUE).toString('hex')],
  ['get', 'get a'],
  ['open', `open b ${handle}`],
  ['read-opened', `read b 0 ${FAULT_NBYTES}`, Buffer.alloc(FAULT_NBYTES, OPENED_VALUE).toString('hex')],
  ['close', 'close b'],
  ['close', 'put a'],
  ['close', 'free a'],
]

/** From the best to the worst. */
export const GRADES = ['works', 'error', 'silent', 'crash'] as const

export interface Outcome {
  grade: (typeof GRADES)[number]
  /** For the table. */
  text: string
  /** What the process wrote to stdout beside what it was asked for. */
  stdout: string
  /** `[FATAL UMF]` on stderr. */
  fatal: boolean
}
