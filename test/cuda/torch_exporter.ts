/** A process that has something to share: CUDA opens no handle in the process that made it. */
import { decode, hear, startChild } from '../support/child.ts'

export const NBYTES = 8192
export const byteAt = (offset: number): number => (offset * 3) & 255

export interface Answer {
  handle: string
  event: string
}

export interface TorchExporter {
  handle: Uint8Array
  event: Uint8Array
  stop(): Promise<unknown>
}

export async function startTorchExporter(): Promise<TorchExporter> {
  const child = startChild(new URL('children/torch_exporter.ts', import.meta.url), { timeoutMs: 120_000 })
  const { handle, event } = await hear<Answer>(child.channel)
  return { handle: decode(handle), event: decode(event), stop: () => child.kill() }
}
