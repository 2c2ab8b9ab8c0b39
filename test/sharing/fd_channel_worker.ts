// Not a test: a worker that has requests of every kind pending when it ends, by itself or not.
import { openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { Descriptor } from '../../host/descriptor.ts'
import { FdChannel } from '../../host/sharing/fd_channel.ts'

const ignore = (): void => {}
const [here, there] = FdChannel.pair()
const [idle] = FdChannel.pair()
idle.hangup.catch(ignore)
idle.peerExited.catch(ignore)
// Frames whose descriptors nobody has received yet, one that has been received, and sends that wait.
const file = Descriptor.adopt(openSync('/dev/null', 'r'))
for (let i = 0; i < 40; i++) here.send(new Uint8Array(65536), { descriptors: [file, file] }).catch(ignore)
await there.receive()
here.receive().catch(ignore)
const listener = FdChannel.listen(`${workerData.path}-${workerData.number}`)
listener.accept().catch(ignore)
parentPort!.postMessage('ready')
if (workerData.exits) process.exit(0)
if (workerData.busy) {
  // Completions keep arriving while the worker is being ended.
  for (;;) await there.receive().then(() => here.send(new Uint8Array(65536)), ignore)
}
