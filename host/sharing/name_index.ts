/** Things by name, listed in the order of their names, a page at a time. */
import { PAGE_BYTES } from './protocol.ts'

/** @typeParam T - `size` is how long its entry can be at most, in bytes */
export class NameIndex<T extends { readonly name: string; readonly size: number }> {
  readonly #byName = new Map<string, T>()
  // In order; made when it is needed.
  #sorted: T[] | undefined

  get size(): number {
    return this.#byName.size
  }

  get(name: string): T | undefined {
    return this.#byName.get(name)
  }

  set(name: string, value: T): void {
    this.#byName.set(name, value)
    this.#sorted = undefined
  }

  delete(name: string): void {
    this.#byName.delete(name)
    this.#sorted = undefined
  }

  values(): T[] {
    return (this.#sorted ??= [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))).slice()
  }

  /** What begins with `prefix` and comes after the name `after`, as much as goes into one frame. */
  page(prefix: string, after: string): { entries: T[]; more: boolean } {
    const sorted = (this.#sorted ??= this.values())
    const entries: T[] = []
    let bytes = 0
    const begin = after < prefix ? firstWhere(sorted, (name) => name >= prefix) : firstWhere(sorted, (name) => name > after)
    for (let i = begin; i < sorted.length; i++) {
      const value = sorted[i]!
      if (!value.name.startsWith(prefix)) break // in order, so none that follows does
      bytes += value.size
      if (bytes > PAGE_BYTES && entries.length > 0) return { entries, more: true }
      entries.push(value)
    }
    return { entries, more: false }
  }
}

// The position of the first name that is great enough; names are compared by UTF-16 code unit, as the sort above does.
function firstWhere(sorted: readonly { readonly name: string }[], isEnough: (name: string) => boolean): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isEnough(sorted[middle]!.name)) high = middle
    else low = middle + 1
  }
  return low
}
