import test from 'ava'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DEADLINE } from '../support/child.ts'
import { compileUser } from './support/compile.ts'
import { ADAPTERS, bareEnvironment, HANDLE_SIZE, ROOT } from './support/runtime.ts'
import { syclTest } from './support/sycl_test.ts'

for (const adapter of ADAPTERS) {
  syclTest(`${adapter}: a C program that knows only our header shares memory with another run of itself`, async (t) => {
    const program = compileUser('c_program.c')
    const env = { ...process.env, ...bareEnvironment({ adapter }) }
    const exporter = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'], env, timeout: DEADLINE })
    const exported = once(exporter, 'close')
    const { value: handle } = await createInterface(exporter.stdout)[Symbol.asyncIterator]().next()
    t.is(String(handle).length, 2 * HANDLE_SIZE[adapter])

    const importer = spawn(program, [String(handle)], { stdio: ['ignore', 'pipe', 'inherit'], env, timeout: DEADLINE })
    let output = ''
    importer.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    t.deepEqual(await once(importer, 'close'), [0, null])
    t.is(output, '4096 bytes of 42\n')
    exporter.stdin.end()
    t.deepEqual(await exported, [0, null])
  })
}

test('docs/c-interface.md shows that program, and names no function that the header lacks', (t) => {
  const page = readFileSync(join(ROOT, 'docs/c-interface.md'), 'utf8')
  const header = readFileSync(join(ROOT, 'native/sycl/usm_ipc_sycl.h'), 'utf8')
  t.true(page.includes(readFileSync(join(ROOT, 'test/sycl/c_program.c'), 'utf8')))
  const named = [...new Set([...page.matchAll(/\b((?:DPCTLIPCMem|usm_ipc_sycl)_\w+)\(/g)].map(([, name]) => name!))]
  t.deepEqual(named.filter((name) => !header.includes(`${name}(`)), [])
})

syclTest("the library can send a process's std::cout to stderr", (t) => {
  const { stdout, stderr } = spawnSync(compileUser('redirect.cc'), { encoding: 'utf8' })
  t.deepEqual({ stdout, stderr }, { stdout: 'before\n', stderr: 'after\n' })
})
