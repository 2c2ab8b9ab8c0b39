/**
 * Shares memory, opens what another program shares, and says on stdout in one line of JSON how far it came: with a driver
 * in which a call fails. Its arguments: a healthy exporter's raw handle, its layout.
 */
import { IPCMemoryHandle, MemoryUSMDevice, selectDevice, type LayoutName } from '../../../host/index.ts'
import { FAULT_NBYTES, OPENED_VALUE, OWN_VALUE, type FaultReport } from '../support/fault_steps.ts'

const [handle, layout] = process.argv.slice(2) as [string, LayoutName]
const report: FaultReport = { step: 'done' }
const open: { close(): void }[] = []
const kept = <T extends { close(): void }>(made: T): T => (open.unshift(made), made)

function expectAll(memory: { copyTo(target: Uint8Array): number }, value: number): void {
  const bytes = new Uint8Array(FAULT_NBYTES)
  memory.copyTo(bytes)
  if (bytes.some((byte) => byte !== value)) throw new Error('wrong bytes')
}

try {
  report.step = 'start'
  const device = selectDevice('sycl:0')
  report.step = 'allocate'
  const memory = kept(new MemoryUSMDevice(FAULT_NBYTES, { device }))
  report.step = 'fill'
  memory.fill(OWN_VALUE)
  report.step = 'read'
  expectAll(memory, OWN_VALUE)
  report.step = 'get'
  const exported = kept(new IPCMemoryHandle(memory))
  report.step = 'open'
  const mapped = kept(IPCMemoryHandle.openVendor(Buffer.from(handle, 'hex'), device, FAULT_NBYTES, { layout, allowPidfd: true }))
  report.step = 'read-opened'
  expectAll(mapped, OPENED_VALUE)
  report.step = 'close'
  for (const made of [mapped, exported, memory]) made.close()
  report.step = 'done'
} catch (error) {
  const { name, code, message, call, result } = error as Record<string, string>
  report.error = JSON.parse(JSON.stringify({ name, code, message, call, result })) as NonNullable<FaultReport['error']>
  for (const made of open) made.close()
}
// Longer than a pipe holds at once, so that a line of somebody else's in between would show.
console.log(JSON.stringify({ ...report, padding: 'x'.repeat(100_000) }))
