// Takes a view, says what it holds, marks it, and keeps it; says again what it holds when asked. Plain JavaScript: workers
// of every runtime start it.
import { parentPort } from 'node:worker_threads'

let kept
parentPort.on('message', (message) => {
  if (message !== 'again') kept = message
  const seen = [...kept.subarray(0, 2)]
  kept[1] = 77
  parentPort.postMessage({ length: kept.length, seen })
})
