// The comparison of tags, as compiled: one straight line from its loads to its result. Which of two straight lines a
// processor takes longer for does not depend on the bytes.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The text of a source file of the core, compiled alone with the core's own options. */
async function compiled(source: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'usm-ipc-compiled-'))
  try {
    const { options, targets } = JSON.parse(await readFile(join(root, 'asconfig.json'), 'utf8')) as { options: { use: string[] }; targets: { release: { optimizeLevel: number } } }
    const out = join(folder, 'out.wat')
    await promisify(execFile)(process.execPath, [
      join(root, 'node_modules/assemblyscript/bin/asc.js'), join(root, source), '--config', 'none', '--runtime', 'stub', ...options.use.flatMap((use) => ['--use', use]),
      '--noExportMemory', '-O' + targets.release.optimizeLevel, '--converge', '--noAssert', '--textFile', out,
    ])
    return await readFile(out, 'utf8')
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('the comparison of tags has no branch, no loop and no call, and reads all 64 bytes', async (t) => {
  const text = await compiled('assembly/digest/same.ts')
  t.true(text.includes('same32'))
  const instructions = [...text.matchAll(/\b(if|else|loop|block|br|br_if|br_table|select|call|call_indirect|return)\b(?=[\s()])/g)].map(([, name]) => name)
  t.deepEqual(instructions, [])
  t.is([...text.matchAll(/i64\.load/g)].length, 8)
  t.is([...text.matchAll(/i64\.xor/g)].length, 4)
  t.is([...text.matchAll(/i64\.or/g)].length, 3)
  t.deepEqual([...text.matchAll(/offset=(\d+)/g)].map(([, offset]) => offset).sort(), ['16', '16', '24', '24', '8', '8'])
})

test('nothing else compares a tag', async (t) => {
  const source = await readFile(join(root, 'assembly/authentication.ts'), 'utf8')
  const check = source.slice(source.indexOf('export function checkAuthentication'))
  const afterTag = check.slice(check.indexOf('makeTag('))
  t.is([...afterTag.matchAll(/load</g)].length, 0)
  t.is([...afterTag.matchAll(/same32\(/g)].length, 1)
})
