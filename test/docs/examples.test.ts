// Every example in the README, in docs/ and in doc comments is type-checked and run, against the built package.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import ts from 'typescript'

interface Example {
  from: string
  code: string
  file: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))
// Inside the package, so that `usm-ipc` resolves to it.
const folder = join(root, '.cache', `examples-${process.pid}`)
// Short, since a socket's path must be.
const scratch = mkdtempSync(join(tmpdir(), 'ue-'))
mkdirSync(folder, { recursive: true })
test.after.always(() => {
  rmSync(folder, { recursive: true, force: true })
  rmSync(scratch, { recursive: true, force: true })
})

const examples = collect()

test('there are examples', (t) => {
  t.true(examples.length >= 10)
  t.true(examples.some((e) => e.from.startsWith('README')))
  t.true(examples.some((e) => e.from.startsWith('host/')))
})

test('every example is well-typed', (t) => {
  const { options } = ts.parseJsonConfigFileContent(
    { compilerOptions: { ...JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).compilerOptions, noUnusedLocals: false } }, ts.sys, root,
  )
  const program = ts.createProgram(examples.map((e) => e.file), options)
  const messages = ts.getPreEmitDiagnostics(program).map((d) => {
    const where = examples.find((e) => e.file === d.file?.fileName)?.from ?? d.file?.fileName
    return `${where}: ${ts.flattenDiagnosticMessageText(d.messageText, '\n')}`
  })
  t.deepEqual(messages, [])
})

// An example that only connects belongs to the one before it, which listens.
const listens = (e: Example): boolean => /\blisten\(/.test(e.code)
const isClient = (e: Example): boolean => /\bconnect\(/.test(e.code) && !listens(e)
// Goes on until it is ended.
const isServer = (e: Example): boolean =>
  (/^for await \(const channel of listener\)/m.test(e.code) && !e.code.includes('break')) || (/await listen\(/.test(e.code) && !/exporter\.close|using exporter/.test(e.code))
examples.forEach((example, i) => {
  if (isClient(example)) return
  const client = examples[i + 1]
  const together = client !== undefined && isClient(client) && listens(example) ? [example, client] : [example]
  test(`runs: ${together.map((e) => e.from).join(' with ')}`, async (t) => {
    const serves = isServer(example)
    const server = serves ? start(example.file) : undefined
    const results = await Promise.all(together.slice(serves ? 1 : 0).map((e, k) => run(e.file, 700 * (k + Number(serves)))))
    if (server !== undefined) {
      t.is(server.child.exitCode, null, 'a server goes on')
      server.child.kill()
      results.push({ ...(await server.ended), code: 0 })
    }
    for (const { code, stderr } of results) {
      t.is(code, 0, stderr)
      t.false(stderr.includes('Assertion failed'), stderr)
    }
  })
})

interface Ended {
  code: number | null
  stderr: string
}

function start(file: string): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, ['--import=tsx', file], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'], timeout: 60_000 })
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  return { child, ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, stderr }))) }
}

async function run(file: string, delayMs: number): Promise<Ended> {
  await new Promise((resolve) => setTimeout(resolve, delayMs))
  return start(file).ended
}

function collect(): Example[] {
  const found: { from: string; code: string }[] = []
  const documents = ['README.md', ...readdirSync(join(root, 'docs')).filter((f) => f.endsWith('.md')).map((f) => `docs/${f}`)]
  for (const path of documents) {
    for (const { code, line } of blocks(readFileSync(join(root, path), 'utf8'))) found.push({ from: `${path}:${line}`, code })
  }
  for (const path of readdirSync(join(root, 'host'), { recursive: true, encoding: 'utf8' }).sort()) {
    if (!path.endsWith('.ts') || path.endsWith('.generated.ts')) continue
    const text = readFileSync(join(root, 'host', path), 'utf8')
    const comments = text.replace(/^.*$/gm, (l) => (/^\s*\*/.test(l) ? l.replace(/^\s*\* ?/, '') : ''))
    for (const { code, line } of blocks(comments)) found.push({ from: `host/${path}:${line}`, code })
  }
  return found.map(({ from, code }, i) => {
    const file = join(folder, `${i}.ts`)
    // Paths of their own for each document: what it listens on, only it connects to.
    const own = join(scratch, from.split(':')[0]!.replaceAll('/', '-'))
    mkdirSync(own, { recursive: true })
    const local = code.replaceAll(/\/run\/user\/1000\/|\/tmp\//g, `${own}/`)
    writeFileSync(file, `${local}\nexport {}\n`)
    return { from, code, file }
  })
}

function blocks(text: string): { code: string; line: number }[] {
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map((m) => ({ code: m[1]!, line: text.slice(0, m.index).split('\n').length }))
}
