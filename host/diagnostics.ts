/**
 * What monitoring can subscribe to (`node:diagnostics_channel`): `usm-ipc:export`, `usm-ipc:open`, `usm-ipc:close`,
 * `usm-ipc:lease`, `usm-ipc:revoke`. Messages name allocations, sizes and peers, never handle bytes or keys.
 */
import { channel } from 'node:diagnostics_channel'

const channels = {
  export: channel('usm-ipc:export'),
  open: channel('usm-ipc:open'),
  close: channel('usm-ipc:close'),
  lease: channel('usm-ipc:lease'),
  revoke: channel('usm-ipc:revoke'),
}

/** Publishes where somebody listens; `message` is not made otherwise. */
export function diagnose(event: keyof typeof channels, message: () => object): void {
  if (channels[event].hasSubscribers) channels[event].publish(message())
}
