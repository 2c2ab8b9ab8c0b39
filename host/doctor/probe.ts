/** What child processes found out: each task's answers, and how the process that gave them ended. */

/** '' worked, a name of errno, null: not tried. */
export type Answer = string | null

export interface PidfdAnswer {
  open: Answer
  getfd: Answer
}

/** One task in a process of its own. */
export interface Probe<Answers> {
  /** What was answered before it ended. */
  answers: Partial<Answers>
  /** `done`; `failed` with an error of its own; `crashed` by a signal; `silent` past its deadline. */
  end: 'done' | 'failed' | 'crashed' | 'silent'
  /** What it was about to do last. */
  step: string
  /** '' where it is done: the error's text, or the signal's name. */
  problem: string
  /** The last lines that it, or a library in it, printed. */
  output: string
}

export interface KernelAnswers {
  build: { version: string; faults: boolean; sanitized: boolean }
  /** '' where the C library is another one. */
  glibc: string
  memfd: Record<'create' | 'noexec' | 'executable' | 'map' | 'seal' | 'futureWrite', Answer> & { seals: number }
  sockets: Record<'pair' | 'rights' | 'credentials' | 'peerPidfd', Answer>
  pidfd: Record<'self' | 'child' | 'sibling' | 'nonDumpable', PidfdAnswer>
}

export interface LibraryAnswer {
  /** Of the file that was loaded, '' where none was. */
  path: string
  error: string
  /** Of the symbols asked for. */
  missing: string[]
}

export interface LevelZeroDevice {
  name: string
  type: number
  vendorId: number
  deviceId: number
  subdevices: number
  /** 0 where the driver does not tell. */
  ipVersion: number
  memory: number
  uuid: string
}

export interface LevelZeroDriver {
  apiVersion: number
  driverVersion: number
  ipcFlags: number
  software: boolean
  extensions: string[]
  devices: LevelZeroDevice[]
}

export interface LevelZeroAnswers {
  loader: LibraryAnswer
  init: { call: string; result: string }
  versions: Record<string, string>
  drivers: LevelZeroDriver[]
}

export interface LibraryAnswers {
  cuda: LibraryAnswer
  sycl: LibraryAnswer
}

export interface BackendAnswers {
  /** '' where it is available; null where this build has no such backend. */
  unavailable: string | null
  devices: { selector: string; name: string; type: string; uuid: string; memory: number; software: boolean }[]
  roundTrip: RoundTrip
}

export interface RoundTrip {
  device: string
  software: boolean
  layout: string
  handleBytes: number
  /** How the importer opened it: `mapped`. */
  path: string
  exportMs: number
  openMs: number
  /** The importer read the exporter's bytes. */
  read: boolean
  /** The exporter saw the importer's. */
  written: boolean
  /** Claims and resources left in both processes at the end. */
  left: number
}

/** What all checks are made of, beside the System. */
export interface Probes {
  /** --software */
  software: boolean
  version: string
  addonPath: string
  kernel: Probe<KernelAnswers>
  levelZero: Probe<LevelZeroAnswers>
  libraries: Probe<LibraryAnswers>
  backends: Record<RoundTripName, Probe<BackendAnswers>>
}

/** The step of a round trip in which the importer's driver is asked. */
export const OPENING = 'opening in another process'

export const ROUND_TRIPS = ['host', 'level_zero', 'sycl', 'sycl-v1', 'sycl-v2', 'cuda'] as const
export type RoundTripName = (typeof ROUND_TRIPS)[number]

/** Where nobody but us can do anything. */
export const REPORT = 'please send us this report'

/** `crashed by SIGSEGV in zeInitDrivers`, for a probe that is not done. */
export function ending(probe: Probe<unknown>): string {
  const at = probe.step === '' ? '' : ` in ${probe.step}`
  switch (probe.end) {
    case 'crashed':
      return `the process that tried it was ended by ${probe.problem}${at}`
    case 'silent':
      return `no answer within ${probe.problem}${at}`
    default:
      return probe.problem + (probe.step === '' ? '' : ` (in ${probe.step})`)
  }
}

/** What a library printed before the end, for the detail. */
export function printed(probe: Probe<unknown>): string {
  return probe.output === '' ? '' : `; it printed: ${probe.output.split('\n').slice(-3).join(' | ')}`
}
