import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Beside the addon that is tested. */
export function softwareDriverFolder(): string {
  const addon = process.env['USM_IPC_ADDON'] ?? fileURLToPath(new URL('../../build/Release/usm_ipc.node', import.meta.url))
  return join(dirname(addon), 'software-driver')
}
