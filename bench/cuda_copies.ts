/** Copies of 1 GB between ordinary memory and the device, in GB a second. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Device } from '../host/index.ts'
import type { RawDriver } from '../test/cuda/raw_driver.ts'
import { built } from './support/built.ts'
import { median } from './support/paired.ts'

const NBYTES = 1e9
const TIMES = 7

interface Rates {
  toDevice: number
  fromDevice: number
}

export interface Copies {
  ours: Rates
  async: Rates
  /** Pinned host memory, and ordinary memory by the driver alone. */
  pinned: Rates
  pageable: Rates
  /** Milliseconds: the event loop's longest pauses while asynchronous copies ran. */
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
  const rate = (nanoseconds: number): number => NBYTES / nanoseconds
  const ours: Record<keyof Rates, number[]> = { toDevice: [], fromDevice: [] }
  const asynchronous: Record<keyof Rates, number[]> = { toDevice: [], fromDevice: [] }
  const bare: Record<'pinned' | 'pageable', Record<keyof Rates, number[]>> = { pinned: { toDevice: [], fromDevice: [] }, pageable: { toDevice: [], fromDevice: [] } }
  const [fills, within]: [number[], number[]] = [[], []]
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const time = async (step: () => unknown): Promise<number> => {
    const started = performance.now()
    await step()
    return (performance.now() - started) * 1e6
  }
  for (let i = 0; i < TIMES; i++) {
    bare.pinned.toDevice.push(raw.timeCopy(pointer, pinned, NBYTES, 1, 1)[0]!)
    ours.toDevice.push(await time(() => memory.copyFrom(bytes)))
    bare.pinned.fromDevice.push(raw.timeCopy(pointer, pinned, NBYTES, 0, 1)[0]!)
    ours.fromDevice.push(await time(() => memory.copyTo(bytes)))
    if (i > 0) delay.enable()
    asynchronous.toDevice.push(await time(() => memory.copyFromAsync(bytes)))
    asynchronous.fromDevice.push(await time(() => memory.copyToAsync(bytes)))
    delay.disable()
    bare.pageable.toDevice.push(raw.timePageableCopy(bytes, pointer, 1, 1)[0]!)
    bare.pageable.fromDevice.push(raw.timePageableCopy(bytes, pointer, 0, 1)[0]!)
    fills.push(await time(() => memory.fill(i)))
    within.push(await time(() => other.copyFrom(memory)))
  }
  raw.free(pointer)
  raw.freePinned(pinned)
  const rates = (times: Record<keyof Rates, number[]>): Rates => ({ toDevice: rate(median(times.toDevice)), fromDevice: rate(median(times.fromDevice)) })
  return {
    ours: rates(ours), async: rates(asynchronous), pinned: rates(bare.pinned), pageable: rates(bare.pageable),
    loopDelay: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 }, fill: rate(median(fills)), deviceToDevice: rate(median(within)),
  }
}
