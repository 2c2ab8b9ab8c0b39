/** The exporting process of bench/sharing.ts. Publishes `size-N` for each size; commands publish more. */
import { createInterface } from 'node:readline'
import { built } from './support/built.ts'

const [path, ...sizes] = process.argv.slice(2)
const { MemoryUSMDevice, listen } = await built()
const held: Disposable[] = []
const exporter = await listen({ path: path!, limits: { requestsPerSecond: 1e9 } })
for (const size of sizes) {
  const memory = new MemoryUSMDevice(Number(size), { device: 'host' })
  held.push(memory)
  exporter.publish(`size-${size}`, memory)
}

async function answer([command, argument]: string[]): Promise<string> {
  const count = Number(argument)
  switch (command) {
    case 'arena': {
      const arena = new MemoryUSMDevice(count * 4096, { device: 'host' })
      held.push(arena)
      for (let i = 0; i < count; i++) {
        exporter.publish(`arena/layer.${i}.weight`, arena, { offset: i * 4096, nbytes: 4096, array: { code: 2, bits: 32, lanes: 1, shape: [32, 32] } })
      }
      return String(count)
    }
    // Its pages are there before anybody opens it.
    case 'filled': {
      const memory = new MemoryUSMDevice(count, { device: 'host' })
      memory.fill(1)
      held.push(memory)
      exporter.publish(`filled-${count}`, memory)
      return String(count)
    }
    case 'drop':
      await exporter.unpublish(`filled-${count}`)
      held.pop()![Symbol.dispose]()
      return String(count)
    default:
      throw new Error(`no such command: ${command}`)
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(await answer(line.split(' ')))
await exporter.close()
