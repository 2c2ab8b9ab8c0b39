import type { BackendUnderTest } from '../contract/types.ts'
import { IPCMemoryHandle } from '../../host/index.ts'
import { asForeign } from './forge.ts'
import { openElsewhere } from './importer.ts'

export const hostBackend: BackendUnderTest = {
  name: 'host',
  selector: 'host',
  readOnlySharing: true,
  hostAddressable: true,
  openMapped(handle, nbytes, options) {
    return IPCMemoryHandle.open(asForeign(handle.toBytes()), 'host', nbytes, { descriptor: handle.descriptors[0]!, ...options })
  },
  openElsewhere: (handle, nbytes) => openElsewhere('host', handle, nbytes),
}
