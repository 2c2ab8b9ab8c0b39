/** Workers that run a TypeScript file: in Node 20 `--import=tsx` does not reach a worker's entry file. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

const loader = `
import('tsx/esm/api').then(({ register }) => {
  register()
  return import(require('node:worker_threads').workerData.script)
})`

export function typescriptWorker(script: URL, options: WorkerOptions = {}): Worker {
  return new Worker(loader, { ...options, eval: true, execArgv: [], workerData: { script: script.href } })
}
