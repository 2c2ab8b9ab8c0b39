/** Memory that another library of this process allocated. */
import { checkNbytes, quote } from './arguments.ts'
import { selectDevice, type Device } from './device.ts'
import { environment } from './environment.ts'
import { StateError, checked, rangeError, typeError } from './errors.ts'
import { Held, type Claimed } from './held.ts'
import { checkOptions } from './options.ts'

export interface FromPointerOptions {
  /** A device or a selector; `selectDevice()` chooses where it is left out. */
  device?: Device | string
  /** What keeps the allocation alive: it is held until the memory and its exports are closed. */
  owner?: unknown
  /**
   * Allow memory that is a part of a larger allocation (a pool's slab). An importer maps all of it, so it sees the
   * neighbours too: `baseAllocation` says how much.
   */
  allowNeighbours?: boolean
}

/** @internal */
export class PointerAdoption extends Held {
  readonly device: Device
  readonly nbytes: number
  readonly readOnly = false
  readonly unchecked: readonly string[] = []
  override readonly owner: unknown
  readonly #pointer: bigint
  readonly #allowNeighbours: boolean
  #offset = 0

  constructor(pointer: bigint, nbytes: number, options: FromPointerOptions) {
    super()
    checkOptions(options, ['device', 'owner', 'allowNeighbours'], 'fromPointer')
    const { device, owner, allowNeighbours = false } = options
    if (typeof pointer !== 'bigint') throw typeError('invalid-pointer', `fromPointer: a pointer is a bigint, not ${typeof pointer}`)
    if (pointer <= 0n || BigInt.asUintN(64, pointer) !== pointer) {
      throw rangeError('invalid-pointer', 'fromPointer: a pointer is above 0 and below 2^64')
    }
    if (typeof allowNeighbours !== 'boolean') {
      throw typeError('invalid-options', `fromPointer: allowNeighbours must be true or false, not ${quote(allowNeighbours)}`)
    }
    this.nbytes = checkNbytes(nbytes)
    this.device = selectDevice(device)
    this.owner = owner
    this.#pointer = pointer
    this.#allowNeighbours = allowNeighbours
  }

  get offset(): number {
    return this.#offset
  }

  acquire(holder: object): Claimed {
    const { core, native, books } = environment()
    books.ledger.nextId(core.scratchAt)
    const claim = checked(() => native.adopt(
      this.device.backendIndex, this.device.index, this.#pointer, this.nbytes, core.u8, core.scratchAt, holder,
    ))
    try {
      const { base, nbytes, hasNeighbours } = native.info(claim)
      this.#offset = Number(this.#pointer - base)
      if (nbytes !== this.nbytes && !this.#allowNeighbours) {
        throw new StateError(
          'neighbours',
          `fromPointer: these ${this.nbytes} bytes are a part of an allocation of ${nbytes} bytes, at offset ${this.#offset}; who opens ` +
            'them maps all of it: pass allowNeighbours: true where that is meant',
        )
      }
      if (hasNeighbours && !this.#allowNeighbours) {
        throw new StateError(
          'neighbours',
          'fromPointer: the driver shares more than this allocation: whoever opens it maps the block or pool that it lies in, with its neighbours; ' +
            'allocate in whole blocks (cuMemAlloc: multiples of 2 MiB), or pass allowNeighbours: true where that is meant',
        )
      }
    } catch (error) {
      native.end(claim)
      throw error
    }
    return { claim, record: books.add('allocation', core.scratchAt, this.nbytes, claim) }
  }
}
