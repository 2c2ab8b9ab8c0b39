/** Inputs by the million against one core: no trap, no verdict out of range, no field out of bounds. */
import { Core, VERDICTS, type VerdictName } from '../../../host/core/index.ts'
import { LONGEST, Mutator } from './mutate.ts'

const RECORD = 24
/** Verdicts that validate and validateHandle can give. */
export const REACHABLE: readonly VerdictName[] = [
  ...VERDICTS.slice(0, VERDICTS.indexOf('buffer-too-small')), 'unknown-key', 'bad-tag', 'authentication-without-key',
]
const CODES = new Set(REACHABLE.map((name) => VERDICTS.indexOf(name)))
const BAD_SPAN = VERDICTS.indexOf('bad-span')
const CANARY = 0xa5

export class Fuzzer {
  /** How often each verdict was given. */
  readonly reached = Array.from({ length: VERDICTS.length }, () => 0)
  /** Inputs that had the right CRC32C. */
  checksummed = 0
  readonly #core = new Core()
  readonly #mutator: Mutator
  readonly #listView: DataView

  constructor(seed: number) {
    const core = this.#core
    this.#mutator = new Mutator(core, seed)
    this.#listView = new DataView(core.u8.buffer, core.listAt, core.listSize)
  }

  /** @throws where the core breaks a promise; the input is in the message */
  run(count: number): void {
    for (let i = 0; i < count; i++) {
      let code: number
      try {
        code = this.#one(i)
      } catch (error) {
        throw new Error(`${(error as Error).message}; the input was ${this.#input()}`, { cause: error })
      }
      if (!CODES.has(code)) throw new Error(`verdict ${code}; the input was ${this.#input()}`)
      this.reached[code]!++
    }
  }

  #one(i: number): number {
    const { exports, inputAt, policyAt } = this.#core
    const m = this.#mutator
    const { random } = m
    const kind = random.below(16)
    if (kind < 3) {
      m.handle()
      const code = exports.validateHandle(m.layout, inputAt, m.length)
      if ((i & 3) === 0) this.#describeVendor(code)
      return code
    }
    if (kind === 3) m.noise()
    else m.envelope()
    if (m.hasRightCrc) this.checksummed++
    const policy = random.below(2) === 0 ? policyAt : 0
    if (policy !== 0) m.policy()
    if (random.below(1024) === 0) return this.#badSpan()
    const keys = policy === 0 ? undefined : m.keySpan
    const code = exports.validate(inputAt, m.length, policy)
    if (keys !== undefined && !this.#isZero(keys)) throw new Error('keys were not wiped')
    if ((i & 3) === 0) this.#describe(m.length)
    return code
  }

  #isZero([at, end]: [number, number]): boolean {
    const { u8 } = this.#core
    for (let i = at; i < end; i++) if (u8[i] !== 0) return false
    return true
  }

  #badSpan(): number {
    const { random } = this.#mutator
    const { exports, inputAt } = this.#core
    const end = exports.ioAddress() + exports.ioSize()
    const code = exports.validate(end - random.below(100), 100 + random.u32(), random.below(2) === 0 ? inputAt : 0)
    if (code !== BAD_SPAN) throw new Error(`a span beyond the I/O region: verdict ${code}`)
    return code
  }

  #describe(length: number): void {
    const { exports, inputAt, listAt, listSize } = this.#core
    const { random } = this.#mutator
    if (random.below(4) === 0) return this.#overlapping(length)
    const capacity = random.below(8) === 0 ? random.below(4000) : listSize
    this.#guard(capacity)
    const count = exports.describe(inputAt, length, listAt, capacity)
    this.#cover(count, capacity, length)
  }

  #describeVendor(code: number): void {
    const { exports, inputAt, listAt, listSize } = this.#core
    const m = this.#mutator
    const capacity = m.random.below(4) === 0 ? m.random.below(600) : listSize
    this.#guard(capacity)
    const count = exports.describeVendor(m.layout, inputAt, m.length, listAt, capacity)
    if (count >= 0) this.#cover(count, capacity, m.length)
    else if (code === 0 || (VERDICTS[-count] !== 'bad-handle-length' && VERDICTS[-count] !== 'unknown-layout')) throw new Error(`describeVendor: ${count}`)
  }

  // The description over what is described, or over the policy: any result, but no trap.
  #overlapping(length: number): void {
    const { exports, inputAt } = this.#core
    const { random } = this.#mutator
    const count = exports.describe(inputAt, length, inputAt + 4 * random.below(length / 4 + 1), random.below(LONGEST))
    if (count < 0 || count > length) throw new Error(`describe: ${count}`)
  }

  #guard(capacity: number): void {
    if (capacity < this.#listView.byteLength) this.#listView.setUint8(Math.floor(capacity / RECORD) * RECORD, CANARY)
  }

  #cover(count: number, capacity: number, length: number): void {
    const fit = Math.min(count, Math.floor(capacity / RECORD))
    let at = 0
    for (let i = 0; i < fit; i++) {
      if (this.#listView.getUint32(i * RECORD, true) !== at) throw new Error(`field ${i} is not at ${at}`)
      const size = this.#listView.getUint32(i * RECORD + 4, true)
      if (size === 0 || size > length) throw new Error(`field ${i} has ${size} bytes`)
      at += size
    }
    if (at > length || (fit === count && at !== length)) throw new Error(`fields end at ${at} of ${length}`)
    if (capacity < this.#listView.byteLength && this.#listView.getUint8(Math.floor(capacity / RECORD) * RECORD) !== CANARY) {
      throw new Error(`describe wrote behind its ${capacity} bytes`)
    }
  }

  #input(): string {
    const { inputAt, u8 } = this.#core
    const hex = Buffer.from(u8.subarray(inputAt, inputAt + this.#mutator.length)).toString('hex')
    return `${hex} (layout ${this.#mutator.layout}, policy ${Buffer.from(u8.subarray(this.#core.policyAt, this.#core.policyAt + 64)).toString('hex')})`
  }
}
