/** What the checks read of the machine, in one place, so that a test can be a machine. */
import { accessSync, constants, readFileSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { arch, homedir, platform, release, userInfo } from 'node:os'
import { variable } from '../variables.ts'

export interface FileStatus {
  /** Permission bits. */
  mode: number
  uid: number
  gid: number
}

/** Nothing throws: what cannot be read is undefined. */
export interface System {
  /** A text file of at most 64 KiB (as those of /proc and /sys are). */
  read(path: string): string | undefined
  /** Names in a folder, sorted. */
  list(path: string): string[] | undefined
  /** What a symbolic link says. */
  link(path: string): string | undefined
  /** Where the path leads, all links followed. */
  real(path: string): string | undefined
  status(path: string): FileStatus | undefined
  /** Whether this process may read and write it. */
  usable(path: string): boolean
  variable(name: string): string | undefined
  variableNames(): string[]
  readonly uid: number
  /** The effective group and the supplementary ones. */
  readonly groups: readonly number[]
  readonly home: string
  /** '' where it has none. */
  readonly user: string
  readonly platform: string
  readonly arch: string
  readonly kernel: string
  readonly runtime: { name: 'node' | 'deno' | 'bun'; version: string; napi: string }
}

const MOST = 65_536

export function thisSystem(): System {
  const groups = orElse(() => process.getgroups?.(), undefined) ?? []
  const gid = orElse(() => process.getegid?.(), undefined)
  return {
    read: (path) => orElse(() => readFileSync(path, 'utf8').slice(0, MOST), undefined),
    list: (path) => orElse(() => readdirSync(path).sort(), undefined),
    link: (path) => orElse(() => readlinkSync(path), undefined),
    real: (path) => orElse(() => realpathSync(path), undefined),
    status: (path) => orElse(() => statusOf(path), undefined),
    usable: (path) => orElse(() => (accessSync(path, constants.R_OK | constants.W_OK), true), false),
    variable,
    variableNames: () => orElse(() => Object.keys(process.env).sort(), []),
    uid: orElse(() => process.getuid?.(), undefined) ?? -1,
    groups: [...new Set([...(gid === undefined ? [] : [gid]), ...groups])],
    home: orElse(homedir, ''),
    user: orElse(() => userInfo().username, ''),
    platform: platform(),
    arch: arch(),
    kernel: orElse(release, ''),
    runtime: runtime(),
  }
}

function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

function statusOf(path: string): FileStatus {
  const { mode, uid, gid } = statSync(path)
  return { mode: mode & 0o7777, uid, gid }
}

function runtime(): System['runtime'] {
  const { deno, bun, node, napi } = process.versions as NodeJS.ProcessVersions & { deno?: string; bun?: string; napi?: string }
  const [name, version] = deno !== undefined ? ['deno' as const, deno] : bun !== undefined ? ['bun' as const, bun] : ['node' as const, node]
  return { name, version, napi: napi ?? '' }
}
