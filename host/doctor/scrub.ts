/** Takes out of a report what says who its owner is: it is made to be sent. */
import { redact } from '../cli/output.ts'
import type { System } from './system.ts'

/** Names of accounts that say nothing about a person. */
const NOBODYS = ['root', 'nobody', 'node', 'user', 'ubuntu', 'debian', 'runner', 'vscode']

/** The same value with every text in it scrubbed. */
export function scrub<T>(value: T, system: Pick<System, 'home' | 'user'>): T {
  const text = scrubber(system)
  const walk = (part: unknown): unknown => {
    if (typeof part === 'string') return text(part)
    if (Array.isArray(part)) return part.map(walk)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, walk(inner)]))
  }
  return walk(value) as T
}

function scrubber({ home, user }: Pick<System, 'home' | 'user'>): (text: string) => string {
  const escape = (literal: string): string => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const isHome = home.length > 1 && home.startsWith('/')
  const ownHome = new RegExp(`${escape(home.replace(/\/+$/, ''))}(?![\\w.-])`, 'g')
  const name = user.length < 2 || NOBODYS.includes(user) ? undefined : new RegExp(`(?<![\\w-])${escape(user)}(?![\\w-])`, 'g')
  return (text) => {
    let shown = isHome ? text.replace(ownHome, '~') : text
    shown = shown.replace(/\/(home|Users)\/[^/\s:;,'")]+/g, '/$1/(user)')
    if (name !== undefined) shown = shown.replace(name, '(user)')
    return redact(shown)
  }
}
