/** The importing process of bench/sharing.ts: commands, one a line, and an answer of nanoseconds to each. */
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { built } from './support/built.ts'
import { median } from './support/paired.ts'

const { connect } = await built()
const session = await connect(process.argv[2]!)
let target = new Uint8Array()
const clock = (): number => Number(process.hrtime.bigint())

async function answer([command, name, argument]: string[]): Promise<number[]> {
  const count = Number(argument)
  switch (command) {
    // Medians of opening through the exporter, of closing, and of both.
    case 'cycle': {
      const times: [number[], number[], number[]] = [[], [], []]
      for (let i = 0; i < count; i++) {
        const start = clock()
        const memory = await session.open(name!)
        const opened = clock()
        memory.close()
        const closed = clock()
        times[0].push(opened - start)
        times[1].push(closed - opened)
        times[2].push(closed - start)
      }
      return times.map(median)
    }
    // What is open already: means of opening it again, and of closing that.
    case 'cached': {
      using first = await session.open(name!)
      let [open, close] = [0, 0]
      for (let i = 0; i < count; i++) {
        const start = clock()
        const memory = await session.open(name!)
        const opened = clock()
        memory.close()
        open += opened - start
        close += clock() - opened
        // Weak references keep what they refer to until the event loop has a turn, which programs let it have.
        if (i % 100 === 99) await setImmediate()
      }
      return [open / count, close / count, first.nbytes]
    }
    // Everything that begins with a prefix; then closing it; and how many there were.
    case 'all': {
      const start = clock()
      const all = await session.openAll({ prefix: name! })
      const opened = clock()
      for (const memory of all.values()) memory.close()
      return [opened - start, clock() - opened, all.size]
    }
    // Opening it and copying all of it into memory of this process's own.
    case 'copy': {
      if (target.length !== count) target = new Uint8Array(count).fill(1)
      const start = clock()
      using memory = await session.open(name!)
      memory.copyTo(target)
      return [clock() - start]
    }
    default:
      throw new Error(`no such command: ${command}`)
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log((await answer(line.split(' '))).join(' '))
await session.close()
