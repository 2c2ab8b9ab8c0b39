/** The figures of bench/cuda.ts with their targets, a line each. */
import type { CudaResult } from './cuda.ts'

const us = (value: number): string => `${value.toFixed(value < 10 ? 2 : 1)} us`
const ms = (value: number): string => `${(value / 1000).toFixed(2)} ms`
const gb = (value: number): string => `${value.toFixed(1)} GB/s`
const times = (value: number): string => value.toPrecision(3)
const above = (ours: number, bare: number): string => `${us(ours)}, bare ${us(bare)}, ${us(ours - bare)} above`

export function showCuda({ device, get, opens, copies, session, torch, cudaCore }: CudaResult): void {
  const say = (what: string, figures: string, target = ''): void => console.log(`cuda       ${what}: ${figures}${target && `  target: ${target}`}`)
  const faster = (what: string, theirs: number, ours: number, target = ''): void => say(what, `${ms(theirs)}, ours ${times(theirs / ours)} times as fast`, target)
  say('device', device)
  say('get, without its synchronization', above(get.ours, get.bare), 'at most 3 us above')
  say('the handle object, sealed, made and closed', `with an event ${us(get.handle)}; waiting for an idle device ${us(get.synchronized)}`)
  for (const { ipc, first, open, close, bareOpen, bareClose, cachedOpen, cachedClose, bareReopen } of opens) {
    say(`open, ${ipc}`, `${above(open, bareOpen)}; the first of a process ${ms(first)}`, 'at most 3 us above')
    say(`close, ${ipc}`, above(close, bareClose), 'at most 3 us above')
    say(`open of what is open, ${ipc}`, `${us(cachedOpen)}, closing it ${us(cachedClose)}${bareReopen === undefined ? '' : `; the driver's own ${us(bareReopen)}`}`, 'under 2 us')
  }
  for (const [what, way] of [['to the device', 'toDevice'], ['from the device', 'fromDevice']] as const) {
    const { ours, async, pinned, pageable } = copies
    say(`copy of 1 GB ${what}`, `${gb(ours[way])}, ${times(ours[way] / pinned[way])} of the pinned ${gb(pinned[way])}; the driver alone ${gb(pageable[way])}`, 'at least 0.8')
    say(`  asynchronous`, `${gb(async[way])}, ${times(async[way] / pinned[way])}`, 'at least 0.8')
  }
  say('event loop while asynchronous copies run', `99 % of its turns within ${copies.loopDelay.p99.toFixed(2)} ms, all within ${copies.loopDelay.max.toFixed(2)} ms (idle: 1.1)`)
  say('fill', gb(copies.fill))
  say('device to device', gb(copies.deviceToDevice))
  const than = (ours: number): string => (torch === undefined ? '' : `: ${times(torch.roundTrip / ours)} times faster than PyTorch's queue, put to acknowledgement ${us(torch.roundTrip)}`)
  say('session.open + close', `${us(session.open)} + ${us(session.close)}, both ${us(session.roundTrip)}${than(session.roundTrip)}`, 'at least 4')
  say('  until the exporter has the release', `${us(session.released)}${than(session.released)}`)
  say('session.open of what is open', us(session.cached), 'under 2 us')
  say('1,000 tensors of one arena', `openAll ${ms(session.openAll)}; opened as one and cut ${ms(session.flat)}`)
  if (torch !== undefined) {
    faster("  PyTorch's queue, one by one", torch.each, session.openAll, 'at least 50')
    faster("    without the consumer's waits", torch.apart, session.openAll)
    faster('  a list of 1,000', torch.list, session.openAll, 'at least 10')
    faster('  one flat tensor, cut', torch.flat, session.openAll, 'at least 1')
    faster('    against ours, opened as one and cut', torch.flat, session.flat, 'at least 1')
  }
  const pool = opens.find(({ ipc }) => ipc === 'pool')!
  if (cudaCore !== undefined) say("cuda-core's from_ipc_descriptor, of a pool that is imported", `${us(cudaCore.open)}, closing ${us(cudaCore.close)}; ours with the pool ${us(pool.open)}, closing ${us(pool.close)}`)
}

/** A `FIGURE {json}` line for each part of it, where no --json document is disturbed. */
export function figuresOf({ device, get, opens, copies, session, torch, cudaCore }: CudaResult): void {
  const parts = { get, copies, session, ...(torch && { torch }), ...(cudaCore && { 'cuda-core': cudaCore }), ...Object.fromEntries(opens.map((each) => [`open ${each.ipc}`, each])) }
  for (const [name, values] of Object.entries(parts)) console.error(`FIGURE ${JSON.stringify({ name: `bench cuda: ${name}`, device, ...values })}`)
}
