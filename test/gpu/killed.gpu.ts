/** The exporter is killed while an importer has its memory open through a session. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import test from 'ava'
import { connect, ledger, type PeerError } from '../../host/index.ts'
import { hear, startChild } from '../support/child.ts'
import { figure } from './figure.ts'

for (const ipc of ['legacy', 'fd', 'pool'] as const) {
  test.serial(`the mapping of a dead exporter's memory reads on until it is closed: ${ipc}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-gpu-killed-'))
    const path = join(folder, 'exporter.sock')
    const child = startChild(new URL('children/exporter.ts', import.meta.url), { arguments: [path, ipc, String(64 << 20)], timeoutMs: 60_000 })
    try {
      await hear(child.channel)
      const session = await connect(path)
      const memory = await session.open('x')
      const read = (): Set<number> => {
        const bytes = new Uint8Array(64 << 20)
        memory.copyTo(bytes)
        return new Set(bytes)
      }
      t.deepEqual(read(), new Set([7]))
      const gone = once(session, 'exporterGone') as Promise<[PeerError]>
      const killed = performance.now()
      child.process.kill('SIGKILL')
      const [reason] = await gone
      const told = performance.now() - killed
      t.is(reason.code, 'ERR_USM_IPC_EXPORTER_GONE')
      t.like(memory.lease, { state: 'exporter-gone', mappingStaysValid: ipc === 'fd' })
      await child.exited
      t.deepEqual(read(), new Set([7]))
      memory.close()
      await session.close()
      t.is(ledger().live, 0)
      figure('exporter killed', { ipc, 'exporterGone after ms': Math.round(told * 10) / 10, 'bytes read after': 64 << 20 })
    } finally {
      await child.kill()
      rmSync(folder, { recursive: true })
    }
  })
}
