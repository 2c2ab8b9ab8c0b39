/** A worker that holds what it is told to until it is terminated. */
import { parentPort } from 'node:worker_threads'
import { MemoryUSMDevice, connect, listen } from '../../../../host/index.ts'
import { ipcOption } from '../../../support/ipc.ts'

export type Task = { role: 'importer'; path: string; name: string } | { role: 'exporter'; path: string; name: string; device: string }

const kept: unknown[] = []

// Listening keeps it running.
parentPort!.on('message', async (task: Task) => {
  if (task.role === 'importer') {
    const session = await connect(task.path)
    kept.push(session, await session.open(task.name))
  } else {
    const memory = new MemoryUSMDevice(4096, { device: task.device, ...ipcOption() })
    memory.fill(1)
    const exporter = await listen({ path: task.path })
    exporter.publish(task.name, memory)
    kept.push(exporter, memory)
  }
  parentPort!.postMessage('holding')
})
