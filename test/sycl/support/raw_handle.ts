/** Fields of a raw SYCL handle, read and changed in place (docs/wire-format.md). */
import { HANDLE_SIZE } from './runtime.ts'

export class RawHandle {
  readonly bytes: Buffer
  constructor(hex: string) {
    this.bytes = Buffer.from(hex, 'hex')
  }
  get #levelZero(): number {
    return this.bytes.length === HANDLE_SIZE.v2 ? 56 : 44
  }
  get base(): bigint {
    return this.bytes.readBigUInt64LE(8)
  }
  get nbytes(): number {
    return Number(this.bytes.readBigUInt64LE(24))
  }
  get offset(): number {
    return Number(this.bytes.readBigUInt64LE(32))
  }
  get fd(): number {
    return this.bytes.readInt32LE(this.#levelZero)
  }
  get pid(): number {
    return this.bytes.readInt32LE(16)
  }
  set pid(pid: number) {
    for (const at of [16, 40, this.#levelZero + 16]) this.bytes.writeInt32LE(pid, at)
  }
  set fd(fd: number) {
    this.bytes.writeInt32LE(fd, this.#levelZero)
    this.bytes.writeInt32LE(fd, this.#levelZero + 22) // the newest driver's mirror
  }
  get hex(): string {
    return this.bytes.toString('hex')
  }
}
