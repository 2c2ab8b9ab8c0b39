/** The figures of bench/cuda.ts with their targets, a line each. */
import type { CudaResult } from './cuda.ts'

const us = (value: number): string => `${value.toFixed(value < 10 ? 2 : 1)} us`
const gb = (value: number): string => `${value.toFixed(1)} GB/s`
const times = (value: number): string => value.toPrecision(3)

export function showCuda({ device, get, opens, copies, session, tensors, cudaCore }: CudaResult): void {
  const say = (what: string, figures: string, target = ''): void => console.log(`cuda       ${what}: ${figures}${target && `  target: ${target}`}`)
  say('device', device)
  say('get, without its synchronization', `${us(get.ours)}, bare ${us(get.bare)}, ${us(get.ours - get.bare)} above`, 'at most 3 us above')
  say('export: the handle object, sealed, with an event', us(get.handle))
  for (const { ipc, first, open, close, bareOpen, bareClose, cachedOpen, cachedClose, bareReopen } of opens) {
    say(`open, ${ipc}`, `${us(open)}, bare ${us(bareOpen)}, ${us(open - bareOpen)} above; the first ${us(first)}`, 'at most 3 us above')
    say(`close, ${ipc}`, `${us(close)}, bare ${us(bareClose)}, ${us(close - bareClose)} above`, 'at most 3 us above')
    say(`open of what is open, ${ipc}`, `${us(cachedOpen)}, closing it ${us(cachedClose)}${bareReopen > 0 ? `; the driver's own ${us(bareReopen)}` : ''}`, 'under 2 us')
  }
  for (const [what, way] of [['to the device', 'toDevice'], ['from the device', 'fromDevice']] as const) {
    const { ours, async, pinned, pageable } = copies
    say(`copy of 1 GB ${what}`, `${gb(ours[way])}, ${times(ours[way] / pinned[way])} of the pinned ${gb(pinned[way])}; asynchronous ${gb(async[way])}, ${times(async[way] / pinned[way])}; the driver alone ${gb(pageable[way])}`, 'at least 0.8')
  }
  say('event loop while asynchronous copies run', `99 % of its pauses within ${copies.loopDelay.p99.toFixed(2)} ms, all within ${copies.loopDelay.max.toFixed(2)} ms`)
  say('fill', gb(copies.fill))
  say('device to device', gb(copies.deviceToDevice))
  say('session.open', `${us(session.open)}, closing ${us(session.close)}, both ${us(session.roundTrip)}; PyTorch's queue, there and back ${us(session.torch)}: ${times(session.torch / session.roundTrip)} times faster`, 'at least 4')
  say('session.open of what is open', us(session.cached))
  const { openAll, torchEach, torchList, torchFlat } = tensors
  say('1,000 tensors of one arena', `${(openAll / 1000).toFixed(2)} ms; PyTorch one by one ${(torchEach / 1000).toFixed(1)} ms, ${times(torchEach / openAll)} times faster`, 'at least 50')
  say('  its list of 1,000', `${(torchList / 1000).toFixed(1)} ms, ${times(torchList / openAll)} times faster`, 'at least 10')
  say('  one flat tensor, cut', `${(torchFlat / 1000).toFixed(2)} ms, ${times(torchFlat / openAll)} times`, 'at least 1')
  say("cuda-core's from_ipc_descriptor", `${us(cudaCore.open)}, closing ${us(cudaCore.close)}; ours of a pool ${us(opens.find(({ ipc }) => ipc === 'pool')!.open)}`)
}
