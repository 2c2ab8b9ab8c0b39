/** Attaching with npm's shm-typed-array, in another process than the one that made it. Usage: FOLDER NBYTES [KEY] */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { median } from './support/paired.ts'

interface ShmTypedArray {
  create(nbytes: number): { key: number }
  get(key: number): Uint8Array | null
  detach(key: number): number
  destroy(key: number): boolean
}

const [folder, nbytes, key] = process.argv.slice(2)
const shm = createRequire(`${folder}/`)('shm-typed-array') as ShmTypedArray
if (key === undefined) {
  const memory = shm.create(Number(nbytes))
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, folder!, nbytes!, String(memory.key)], { stdio: 'inherit' })
  process.on('SIGTERM', () => child.kill())
  child.on('exit', () => {
    shm.destroy(memory.key)
    process.exit()
  })
} else {
  const clock = (): number => Number(process.hrtime.bigint())
  for await (const line of createInterface({ input: process.stdin })) {
    const times: [number[], number[]] = [[], []]
    for (let i = 0; i < Number(line); i++) {
      const start = clock()
      if (shm.get(Number(key)) === null) throw new Error('there is no such memory')
      const opened = clock()
      shm.detach(Number(key))
      times[0].push(opened - start)
      times[1].push(clock() - start)
    }
    console.log(times.map(median).join(' '))
  }
}
