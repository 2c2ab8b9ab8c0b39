// docs/errors.md and docs/verdicts.md name every code that the sources can throw, and no other.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { VERDICTS } from '../../host/core/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(root + path, 'utf8')
const files = (folder: string, endings: RegExp): string[] =>
  readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).filter((f) => endings.test(f) && !f.endsWith('.generated.ts')).map((f) => `${folder}/${f}`)

function thrown(): Set<string> {
  const reasons = new Set<string>()
  const patterns = [
    /(?:typeError|rangeError|StateError|PeerError|HandleError|DriverError|FormatError)\(\s*'([a-z-]+)'/g,
    /FailureKind::\w+,\s*"([a-z-]+)"/g,
    /(?:descriptor_failure|fail|broken)\(\s*"([a-z-]+)"/g,
    /reason = "([a-z-]+)"/g,
    /reason: '([a-z-]+)'/g,
  ]
  for (const path of [...files('host', /\.ts$/), ...files('native', /\.(cc|h)$/)]) {
    const text = read(path)
    for (const pattern of patterns) for (const [, reason] of text.matchAll(pattern)) reasons.add(reason!)
  }
  for (const name of VERDICTS) reasons.delete(name) // docs/verdicts.md is generated
  for (const name of ['injected', 'unknown-fault-point']) reasons.delete(name) // fault builds alone
  return reasons
}

const codeOf = (reason: string): string => `ERR_USM_IPC_${reason.toUpperCase().replaceAll('-', '_')}`
const documented = new Set(read('docs/errors.md').match(/ERR_USM_IPC_[A-Z_]+[A-Z]/g))

test('every code is documented', (t) => {
  const codes = [...thrown()].map(codeOf)
  t.true(codes.length > 40)
  t.deepEqual(codes.filter((code) => !documented.has(code)).sort(), [])
})

test('every documented code exists', (t) => {
  const codes = new Set([...thrown(), ...VERDICTS].map(codeOf))
  t.deepEqual([...documented].filter((code) => !codes.has(code)).sort(), [])
})
