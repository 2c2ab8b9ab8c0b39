/** Contents that say whose they are: every 16 bytes hold the seed of their allocation and their own place in it. */
const BLOCK = 16
const MIX = 0x9e37_79b1

/** What was read: one seed throughout, in order, from the block `first` on. Torn: nothing that `patternOf` ever made. */
export type Content = { readonly seed: number; readonly first: number } | 'torn'

/** @param nbytes - a multiple of 16 */
export function patternOf(seed: number, nbytes: number): Uint8Array {
  const words = new Uint32Array(nbytes / 4)
  for (let i = 0, block = 0; i < words.length; i += 4, block++) words.set([seed, block, Math.imul(seed ^ block, MIX), ~seed], i)
  return new Uint8Array(words.buffer)
}

export function contentOf(bytes: Uint8Array): Content {
  const words = new Uint32Array(bytes.slice().buffer)
  const [seed, first] = [words[0]!, words[1]!]
  for (let i = 0, block = first; i < words.length; i += 4, block++) {
    const isRight = words[i] === seed && words[i + 1] === block && words[i + 2] === Math.imul(seed ^ block, MIX) >>> 0 && words[i + 3] === ~seed >>> 0
    if (!isRight) return 'torn'
  }
  return { seed, first: first * BLOCK }
}
