import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { variable } from '../../host/variables.ts'

/** The folder of the addon that is tested, which has the software drivers beside it. */
export const addonFolder = dirname(resolve(variable('USM_IPC_ADDON') ?? fileURLToPath(new URL('../../build/Release/usm_ipc.node', import.meta.url))))
