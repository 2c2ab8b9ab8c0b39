/** The addon's probes, typed. They load libraries for good and fork: only for processes made for that. */
import { addon } from '../addon.ts'
import { toUuid } from '../core/bytes.ts'
import { checked } from '../errors.ts'
import type { KernelAnswers, LevelZeroAnswers, LevelZeroDevice, LevelZeroDriver, LibraryAnswer } from './probe.ts'

type Raw = Omit<LevelZeroDriver, 'devices'> & { devices: (Omit<LevelZeroDevice, 'uuid'> & { uuid: Uint8Array })[] }

function ask<T>(name: string, argument?: unknown): T {
  return checked(() => addon().probe(name, argument)) as T
}

export const probe = {
  glibc: () => ask<string>('libc'),
  memfd: () => ask<KernelAnswers['memfd']>('memfd'),
  sockets: () => ask<KernelAnswers['sockets']>('sockets'),
  pidfd: () => ask<KernelAnswers['pidfd']>('pidfd'),
  library: (name: string, symbols: readonly string[]) => ask<LibraryAnswer>('library', [name, ...symbols]),
  /** The kernel ends this process then, also inside a driver that does not return. */
  deadline: (seconds: number) => ask<null>('deadline', seconds),
  levelZeroInit: (path: string) => ask<LevelZeroAnswers['init']>('level-zero-init', path),
  levelZeroVersions: (path: string) => ask<LevelZeroAnswers['versions']>('level-zero-versions', path),
  levelZeroDrivers: (path: string): LevelZeroDriver[] =>
    ask<Raw[]>('level-zero-drivers', path).map((driver) => ({
      ...driver, devices: driver.devices.map((device) => ({ ...device, uuid: toUuid(device.uuid) })),
    })),
}
