/** One owner for one file descriptor. */
import { addon } from './addon.ts'
import { StateError, checked, rangeError, typeError } from './errors.ts'

const construct = Symbol('construct')

/**
 * Owns one file descriptor: closes it once, with `close()` or `using`. A descriptor that is forgotten is closed when
 * the object is collected.
 *
 * @example
 * ```ts
 * import { openSync } from 'node:fs'
 * import { Descriptor, FdChannel } from 'usm-ipc'
 *
 * const [here, there] = FdChannel.pair()
 * const file = Descriptor.adopt(openSync('/dev/null', 'r'))
 * await here.send(new Uint8Array([1]), { descriptors: [file] })
 * file.close() // the frame has a duplicate
 * const { descriptors } = await there.receive()
 * descriptors[0]?.number // usable here, in another process as well
 * here.close()
 * there.close() // closes the descriptors that it received, too
 * ```
 */
export class Descriptor {
  #claim: number
  // Its native finalizer ends the claim, so it lives as long as this object.
  #holder: object | undefined
  #released: ((descriptor: Descriptor) => void) | undefined

  /** @internal */
  constructor(key: symbol, claim: number, holder: object, released?: (descriptor: Descriptor) => void) {
    if (key !== construct) throw typeError('not-constructible', 'use Descriptor.adopt() or Descriptor.duplicate()')
    this.#claim = claim
    this.#holder = holder
    this.#released = released
  }

  /** Takes `fd` over: nobody else may close it from here on. It gets the close-on-exec flag. */
  static adopt(fd: number): Descriptor {
    return claimed(fd, false)
  }

  /** Owns a duplicate of `fd`, which stays the caller's. */
  static duplicate(fd: number): Descriptor {
    return claimed(fd, true)
  }

  get isClosed(): boolean {
    return this.#holder === undefined
  }

  /** The file descriptor's number, good until `close()`. */
  get number(): number {
    return checked(() => addon().descriptorNumber(this.#openClaim()))
  }

  /** Closes the descriptor. Idempotent. */
  close(): void {
    if (this.#holder === undefined) return
    this.#holder = undefined
    addon().end(this.#claim)
    this.#released?.(this)
    this.#released = undefined
  }

  [Symbol.dispose](): void {
    this.close()
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Descriptor { ${this.isClosed ? 'closed' : this.number} }`
  }

  #openClaim(): number {
    if (this.#holder === undefined) throw new StateError('closed', 'the descriptor is closed')
    return this.#claim
  }

  /** @internal */
  static claimOf(descriptor: Descriptor): number {
    return descriptor.#openClaim()
  }
}

/** For the host layer: from a claim that `holder`'s finalizer ends. `released` is told of the `close()`. */
export function descriptorFrom(claim: number, holder: object, released?: (descriptor: Descriptor) => void): Descriptor {
  return new Descriptor(construct, claim, holder, released)
}

/** For the host layer: the registry's claim; throws when the descriptor is closed. */
export function claimOf(descriptor: Descriptor): number {
  return Descriptor.claimOf(descriptor)
}

function claimed(fd: number, duplicate: boolean): Descriptor {
  checkFd(fd)
  const holder = {}
  return descriptorFrom(
    checked(() => addon().adoptDescriptor(fd, duplicate, holder)),
    holder,
  )
}

/** For the host layer: throws unless `fd` can be a descriptor's number. */
export function checkFd(fd: unknown): asserts fd is number {
  if (typeof fd !== 'number') {
    const what = Array.isArray(fd) ? 'an array: pass one of it' : typeof fd
    throw typeError('invalid-descriptor', `a file descriptor is a Descriptor or a number, not ${what}`)
  }
  if (!Number.isInteger(fd) || fd < 0 || fd > 0x7fffffff)
    throw rangeError('invalid-descriptor', `${fd} is no file descriptor`)
}
