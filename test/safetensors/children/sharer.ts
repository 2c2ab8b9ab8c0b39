/** Loads a file and shares it; says how much memory that took beside the memory that is shared. Runs until SIGTERM. */
import { readFileSync } from 'node:fs'
import { listen, loadSafetensors, publishTensors } from '../../../host/index.ts'

const [path, socket, device] = process.argv.slice(2) as [string, string, string]

/** Anonymous memory: what is shared is a file in memory, and counts elsewhere. Bytes. */
function anonymous(): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024
}

const before = anonymous()
let peak = before
const start = performance.now()
const file = await loadSafetensors(path, device, { onProgress: () => (peak = Math.max(peak, anonymous())) })
const milliseconds = performance.now() - start
const exporter = await listen({ path: socket })
publishTensors(exporter, file)
console.log(JSON.stringify({ extra: peak - before, milliseconds, nbytes: file.memory.nbytes }))
process.once('SIGTERM', () => {
  void exporter.close().then(() => file.close())
})
