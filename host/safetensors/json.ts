/** Reads JSON text token by token. A parser that gives objects keeps the last of two equal keys, and says nothing. */
import { FormatError } from '../errors.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

export class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** What comes next that is not white space; '' at the end. */
  peek(): string {
    for (; this.#at < this.#text.length; this.#at++) {
      const c = this.#text.charCodeAt(this.#at)
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return this.#text[this.#at]!
    }
    return ''
  }

  /** Takes the character where it is the next one. */
  take(character: string): boolean {
    if (this.peek() !== character) return false
    this.#at++
    return true
  }

  expect(character: string): void {
    if (!this.take(character)) this.#fail(`'${character}' was expected`)
  }

  end(): void {
    if (this.peek() !== '') this.#fail('there is more after the end of the object')
  }

  /** The keys of an object, in turn; whoever reads them reads each value before the next key. */
  *keys(): Generator<string, void, void> {
    this.expect('{')
    if (this.take('}')) return
    do {
      const key = this.string()
      this.expect(':')
      yield key
    } while (this.take(','))
    this.expect('}')
  }

  string(): string {
    this.expect('"')
    const from = this.#at
    let escaped = false
    for (;;) {
      const c = this.#text.charCodeAt(this.#at)
      if (c === QUOTE) break
      if (Number.isNaN(c)) this.#fail('a string has no end')
      if (c < 0x20) this.#fail('a string has a control character')
      if (c === BACKSLASH) {
        escaped = true
        this.#at++
      }
      this.#at++
    }
    const raw = this.#text.slice(from, this.#at++)
    return escaped ? this.#unescape(raw) : raw
  }

  /** A number that is a plain integer from 0 to 2^53-1; undefined for any other value, of which nothing is taken. */
  size(): number | undefined {
    this.peek()
    const digits = /(?:0|[1-9]\d*)(?![\d.eE])/y
    digits.lastIndex = this.#at
    const found = digits.exec(this.#text)?.[0]
    if (found === undefined || !Number.isSafeInteger(Number(found))) return undefined
    this.#at += found.length
    return Number(found)
  }

  #unescape(raw: string): string {
    let text: string
    try {
      text = JSON.parse(`"${raw}"`) as string
    } catch {
      this.#fail('a string has a wrong escape')
    }
    return text.isWellFormed() ? text : this.#fail('a string has half of a surrogate pair')
  }

  #fail(what: string): never {
    throw new FormatError('header-not-json', `the header is not JSON: ${what}, at character ${this.#at} of it`)
  }
}
