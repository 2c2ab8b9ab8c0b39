/** What scripts/generate.mjs makes of the built core, made in another place. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const MADE = ['host/core/names.generated.ts', 'host/core/wasm.generated.ts', 'docs/verdicts.md']

export async function generated(): Promise<Record<string, string>> {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const place = await mkdtemp(join(tmpdir(), 'usm-ipc-generated-'))
  try {
    for (const folder of ['host/core', 'docs', 'build', 'scripts']) await mkdir(join(place, folder), { recursive: true })
    for (const file of ['build/core.wasm', 'scripts/generate.mjs']) await cp(join(root, file), join(place, file))
    await promisify(execFile)(process.execPath, [join(place, 'scripts/generate.mjs')])
    return Object.fromEntries(await Promise.all(MADE.map(async (path) => [path, await readFile(join(place, path), 'utf8')])))
  } finally {
    await rm(place, { recursive: true })
  }
}
