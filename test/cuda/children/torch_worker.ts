/** A thread that opens what PyTorch shares, and closes it when it is told to. */
import { parentPort } from 'node:worker_threads'
import { openTorchStorage, type MemoryIPCDevice, type TorchStorage } from '../../../host/index.ts'

let memory: MemoryIPCDevice | undefined

parentPort!.on('message', (task: TorchStorage | 'close') => {
  if (task === 'close') memory!.close()
  else memory = openTorchStorage(task, 'cuda')
  parentPort!.postMessage('done')
})
