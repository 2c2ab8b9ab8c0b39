/** Copies of 1 GB between ordinary memory and the device, in GB a second. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Device } from '../host/index.ts'
import type { RawDriver } from '../test/cuda/raw_driver.ts'
import { built } from './support/built.ts'
import { median } from './support/paired.ts'

const NBYTES = 1e9
const TIMES = 7
const WAYS = ['toDevice', 'fromDevice'] as const

type Times = Record<(typeof WAYS)[number], number[]>
type Rates = Record<(typeof WAYS)[number], number>

export interface Copies {
  ours: Rates
  async: Rates
  /** Pinned host memory, and ordinary memory by the driver alone. */
  pinned: Rates
  pageable: Rates
  /** Milliseconds between turns of the event loop while asynchronous copies ran; an idle one has 1 to 1.1. */
  loopDelay: { p99: number; max: number }
  fill: number
  deviceToDevice: number
}

export async function benchCopies(device: Device, raw: RawDriver): Promise<Copies> {
  const { MemoryUSMDevice } = await built()
  using memory = new MemoryUSMDevice(NBYTES, { device })
  using other = new MemoryUSMDevice(NBYTES, { device })
  const bytes = new Uint8Array(NBYTES).fill(1) // every page of it is there
  const pointer = raw.alloc(NBYTES)
  const pinned = raw.allocPinned(NBYTES)
  const ours: Times = { toDevice: [], fromDevice: [] }
  const asynchronous: Times = { toDevice: [], fromDevice: [] }
  const bare: Record<'pinned' | 'pageable', Times> = { pinned: { toDevice: [], fromDevice: [] }, pageable: { toDevice: [], fromDevice: [] } }
  const [fills, within]: [number[], number[]] = [[], []]
  const delays: Copies['loopDelay'][] = []
  const time = async (step: () => unknown): Promise<number> => {
    const started = performance.now()
    await step()
    return (performance.now() - started) * 1e6
  }
  try {
    for (let i = 0; i <= TIMES; i++) {
      for (const way of WAYS) {
        const to = way === 'toDevice'
        bare.pinned[way].push(raw.timeCopy(pointer, pinned, NBYTES, to ? 1 : 0, 1)[0]!)
        ours[way].push(await time(() => (to ? memory.copyFrom(bytes) : memory.copyTo(bytes))))
        // A new one each time: it counts the pause between its uses as well.
        const delay = monitorEventLoopDelay({ resolution: 1 })
        delay.enable()
        asynchronous[way].push(await time(() => (to ? memory.copyFromAsync(bytes) : memory.copyToAsync(bytes))))
        delay.disable()
        if (i > 0) delays.push({ p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 })
        bare.pageable[way].push(raw.timePageableCopy(bytes, pointer, to ? 1 : 0, 1)[0]!)
      }
      fills.push(await time(() => memory.fill(i)))
      within.push(await time(() => other.copyFrom(memory)))
    }
  } finally {
    raw.free(pointer)
    raw.freePinned(pinned)
  }
  // Without the first ones, which touch everything.
  const rate = (nanoseconds: number[]): number => NBYTES / median(nanoseconds.slice(1))
  const rates = ({ toDevice, fromDevice }: Times): Rates => ({ toDevice: rate(toDevice), fromDevice: rate(fromDevice) })
  return {
    ours: rates(ours), async: rates(asynchronous), pinned: rates(bare.pinned), pageable: rates(bare.pageable),
    loopDelay: { p99: median(delays.map(({ p99 }) => p99)), max: Math.max(...delays.map(({ max }) => max)) },
    fill: rate(fills), deviceToDevice: rate(within),
  }
}
