/** The compiled package, as users have it: what runs TypeScript directly makes closures slower than they are. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const dist = new URL('../../dist/', import.meta.url)
const host = fileURLToPath(new URL('../../host/', import.meta.url))

/** Why there is none that is of these sources; undefined: there is. */
export function notBuilt(): string | undefined {
  const index = fileURLToPath(new URL('index.js', dist))
  const built = existsSync(index) ? statSync(index).mtimeMs : 0
  const isNewer = (name: string): boolean => name.endsWith('.ts') && statSync(host + name).mtimeMs > built
  return (readdirSync(host, { recursive: true }) as string[]).some(isNewer) ? 'dist is older than host: run `npm run build` first' : undefined
}

export function built(): Promise<typeof import('../../host/index.ts')> {
  return import(new URL('index.js', dist).href) as Promise<typeof import('../../host/index.ts')>
}

export function builtProtocol(): Promise<typeof import('../../host/sharing/protocol.ts')> {
  return import(new URL('sharing/protocol.js', dist).href) as Promise<typeof import('../../host/sharing/protocol.ts')>
}
