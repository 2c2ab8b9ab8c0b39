/** What an exporter allows its peers. */
import { rangeError, typeError } from '../errors.ts'
import { MAX_NAMES } from './protocol.ts'

export interface Limits {
  /** Connections at a time. */
  peers: number
  /** Connections of one user at a time, so that one user cannot take all of them. */
  peersPerUser: number
  /** Live leases of one connection, and of all together. */
  leasesPerPeer: number
  leases: number
  /** Names that are published at a time: at most 1,048,576, which is what importers list. */
  names: number
  /** Milliseconds that a new connection has for its first message, and `authorize` for its answer. */
  helloMs: number
  /** Milliseconds that a peer has to take a message off its socket. */
  sendMs: number
  /** Requests a second that a connection may make for long, and how many it may save up. */
  requestsPerSecond: number
  requestBurst: number
}

export const DEFAULT_LIMITS: Readonly<Limits> = Object.freeze({
  peers: 4096, peersPerUser: 2048, leasesPerPeer: 4096, leases: 65_536, names: 65_536, helloMs: 5000, sendMs: 5000,
  requestsPerSecond: 10_000, requestBurst: 100_000,
})

export function checkLimits(limits: unknown): Limits {
  if (limits === undefined) return { ...DEFAULT_LIMITS }
  if (typeof limits !== 'object' || limits === null) throw typeError('invalid-options', 'listen: limits must be an object')
  const all: Limits = { ...DEFAULT_LIMITS }
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) throw typeError('unknown-option', `listen: there is no limit "${name}"; there are ${Object.keys(DEFAULT_LIMITS).join(', ')}`)
    if (value === undefined) continue
    if (typeof value !== 'number') throw typeError('invalid-limit', `listen: limits.${name} must be a number`)
    const most = name === 'names' ? MAX_NAMES : 2 ** 31 - 1
    if (!Number.isSafeInteger(value) || value < 1 || value > most) throw rangeError('invalid-limit', `listen: limits.${name} must be an integer from 1 to ${most}, not ${value}`)
    all[name as keyof Limits] = value
  }
  return all
}

/** Requests that a peer may still make; refilled with time. */
export class Allowance {
  readonly #perMs: number
  readonly #most: number
  #left: number
  #at: number

  constructor({ requestsPerSecond, requestBurst }: Limits, now: number) {
    this.#perMs = requestsPerSecond / 1000
    this.#most = requestBurst
    this.#left = requestBurst
    this.#at = now
  }

  /** False: too many. */
  take(now: number, requests: number): boolean {
    this.#left = Math.min(this.#most, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#left < requests) return false
    this.#left -= requests
    return true
  }
}
