/** The rules as docs/wire-format.md has them, in its order. */
import { readFileSync } from 'node:fs'

export interface Rule {
  id: string
  verdict: string
}

const text = readFileSync(new URL('../../../docs/wire-format.md', import.meta.url), 'utf8')

const ROW = /^\| ([A-Z]\d+) \|.*\| `([a-z-]+)` \|[^|]*\|$/gm

export const RULES: Rule[] = [...text.matchAll(ROW)].map(([, id, verdict]) => ({ id: id!, verdict: verdict! }))
