/** A file with one tensor of each dtype, written in pieces, with the digest of each. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { SAFETENSORS_DTYPES } from '../../host/safetensors/dtypes.ts'
import { DTYPE_BITS } from './dtypes.ts'
import { headerOf } from './make.ts'

export interface BigTensor {
  name: string
  dtype: string
  shape: number[]
  nbytes: number
  sha256: string
}

/** A multiple of every element's size, 3 bytes for four F6 included. */
const UNIT = 3 << 20

/** At least `nbytes` bytes of data. Every tensor begins with bytes of its own and goes on with some that no shift leaves alone. */
export async function writeBigFile(path: string, nbytes: number): Promise<{ tensors: BigTensor[]; nbytes: number }> {
  const units = Math.max(1, Math.ceil(nbytes / SAFETENSORS_DTYPES.length / UNIT))
  const tensors = SAFETENSORS_DTYPES.map((dtype) => ({ name: `weights.${dtype}`, dtype, shape: [units, (UNIT * 8) / DTYPE_BITS[dtype]!] }))
  const { text, nbytes: size } = headerOf(tensors, { format: 'test' })
  const header = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8))
  const file = await open(path, 'w')
  const made: BigTensor[] = []
  try {
    await file.write(new Uint8Array(new BigUint64Array([BigInt(header.length)]).buffer))
    await file.write(header)
    const words = new Uint32Array(UNIT / 4)
    for (let i = 0, x = 1; i < words.length; i++) words[i] = x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0
    for (const [t, tensor] of tensors.entries()) {
      const hash = createHash('sha256')
      for (let unit = 0; unit < units; unit++) {
        words[0] = t
        words[1] = unit
        const bytes = new Uint8Array(words.buffer)
        hash.update(bytes)
        for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten
      }
      made.push({ ...tensor, nbytes: units * UNIT, sha256: hash.digest('hex') })
    }
  } finally {
    await file.close()
  }
  return { tensors: made, nbytes: size }
}
