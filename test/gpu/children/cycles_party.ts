/** Opens, reads a byte and closes again and again; tells what it held after the first hundred and at the end. */
import { readdirSync } from 'node:fs'
import { FdChannel, IPCMemoryHandle, ledger } from '../../../host/index.ts'
import { rawDriver } from '../../cuda/raw_driver.ts'
import { decode, parse, say } from '../../support/child.ts'

export interface Held {
  free: number
  descriptors: number
  live: number
  resources: number
}

export interface Answer {
  first: Held
  last: Held
  seconds: number
}

const WARM = 100
const channel = FdChannel.adopt(3)
const frame = await channel.receive()
const { bytes, cycles } = parse<{ bytes: string; cycles: number }>(frame)
const envelope = decode(bytes)
const [descriptor] = frame.descriptors
const raw = rawDriver()
const target = new Uint8Array(1)

function cycle(): void {
  const memory = IPCMemoryHandle.open(envelope, 'cuda', undefined, descriptor === undefined ? {} : { descriptor })
  memory.copyTo(target, 4096)
  memory.close()
}

const held = (): Held => ({
  free: raw.freeMemory(), descriptors: readdirSync('/proc/self/fd').length, live: ledger().live,
  resources: ledger({ process: true }).resources.filter(({ kind }) => kind !== 'descriptor').length,
})

for (let i = 0; i < WARM; i++) cycle()
const first = held()
const started = performance.now()
for (let i = 0; i < cycles; i++) cycle()
await say(channel, { first, last: held(), seconds: Math.round((performance.now() - started) / 10) / 100 })
