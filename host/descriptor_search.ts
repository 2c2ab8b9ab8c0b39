/** Where the descriptor that a handle needs comes from. */
import { HEADER } from './core/names.generated.ts'
import { Descriptor, checkFd, claimOf } from './descriptor.ts'
import { environment } from './environment.ts'
import { PeerError, checked, typeError } from './errors.ts'

export interface DescriptorOptions {
  /** The descriptor itself (it stays the caller's), or its number. */
  descriptor?: Descriptor | number
  /** The FdChannel that it came over: the one that the handle names is taken from those received, and closed. */
  channel?: { readonly received: Iterable<Descriptor> }
  /** Fetch it from the exporter by pidfd_getfd(2), after checking that the process is the one that the envelope names. */
  allowPidfd?: boolean
}

export const DESCRIPTOR_OPTIONS = ['descriptor', 'channel', 'allowPidfd']

export interface Found {
  claim: number
  /** To be called once, after the open: closes what was made or taken for it. */
  done(): void
}

const HOST_INODE = 8
const HOST_FD = 24

/** The options as they were when the call began: nothing of the caller's runs between checking the bytes and using them. */
export interface DescriptorSources {
  descriptor: Descriptor | number | undefined
  received: readonly Descriptor[] | undefined
  allowPidfd: boolean
}

export function descriptorSources({ descriptor, channel, allowPidfd }: DescriptorOptions): DescriptorSources {
  if (Number(descriptor !== undefined) + Number(channel !== undefined) + Number(allowPidfd === true) > 1) {
    throw typeError('invalid-options', 'give one of descriptor, channel and allowPidfd')
  }
  if (allowPidfd !== undefined && typeof allowPidfd !== 'boolean') throw typeError('invalid-options', 'allowPidfd must be true or false')
  if (descriptor !== undefined && !(descriptor instanceof Descriptor)) checkFd(descriptor)
  return { descriptor, received: channel === undefined ? undefined : receivedBy(channel), allowPidfd: allowPidfd === true }
}

function receivedBy(channel: { readonly received: Iterable<Descriptor> }): readonly Descriptor[] {
  const received = typeof channel === 'object' && channel !== null ? channel.received : undefined
  const all = typeof received?.[Symbol.iterator] === 'function' ? [...received] : undefined
  if (all === undefined || !all.every((d) => d instanceof Descriptor)) throw typeError('invalid-options', 'channel must be an FdChannel')
  return all
}

/**
 * @param envelopeAt - address of the valid envelope in the core; 0 for a raw handle
 * @param handleAt - address of the vendor handle in the core
 * @param live - this thread has the memory open, so no descriptor is needed; what a channel received with the handle is
 *   taken from it all the same, or it would pile up there
 */
export function findDescriptor(sources: DescriptorSources, envelopeAt: number, handleAt: number, live: boolean): Found | undefined {
  if (sources.received !== undefined) return received(sources.received, handleAt)
  if (sources.descriptor !== undefined) return borrowed(sources.descriptor)
  if (live) return undefined
  return sources.allowPidfd ? fetched(envelopeAt, handleAt) : undefined
}

const nothing = (): void => {}

function borrowed(descriptor: Descriptor | number): Found {
  if (descriptor instanceof Descriptor) return { claim: claimOf(descriptor), done: nothing }
  // A number can be closed and used again by another thread at any time; a duplicate cannot.
  return owned(Descriptor.duplicate(descriptor))
}

function received(descriptors: readonly Descriptor[], handleAt: number): Found | undefined {
  const { core, native } = environment()
  const view = new DataView(core.u8.buffer, handleAt)
  const stDev = view.getBigUint64(0, true)
  const stIno = view.getBigUint64(HOST_INODE, true)
  for (const descriptor of descriptors) {
    const identity = checked(() => native.descriptorIdentity(claimOf(descriptor)))
    if (identity.stDev === stDev && identity.stIno === stIno) return owned(descriptor)
  }
  return undefined
}

function fetched(envelopeAt: number, handleAt: number): Found | undefined {
  const { core, native, process } = environment()
  const u8 = core.u8
  const view = new DataView(u8.buffer, envelopeAt)
  if (process.bootId.some((byte, i) => u8[envelopeAt + HEADER.boot_id + i] !== byte)) {
    throw new PeerError('other-boot', 'the exporter ran before this machine was started, or on another one: its descriptor cannot be fetched')
  }
  const pid = view.getUint32(HEADER.pid, true)
  // Our own memory needs no descriptor. And to close a duplicate of a file of ours, which a forged handle may name, would
  // drop this process's POSIX locks on that file.
  if (pid === process.pid) return undefined
  const holder = {}
  const claim = checked(() => native.descriptorOf(
    pid, view.getBigUint64(HEADER.start_time, true), view.getBigUint64(HEADER.pid_namespace, true),
    new DataView(u8.buffer).getInt32(handleAt + HOST_FD, true), holder,
  ))
  return { claim, done: () => native.end(claim) }
}

function owned(descriptor: Descriptor): Found {
  return { claim: claimOf(descriptor), done: () => descriptor.close() }
}
