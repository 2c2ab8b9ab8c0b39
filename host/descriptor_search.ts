/** Where the descriptor that a handle needs comes from. */
import { HEADER } from './core/names.generated.ts'
import { Descriptor, checkFd, claimOf } from './descriptor.ts'
import { environment } from './environment.ts'
import { HandleError, PeerError, checked, typeError } from './errors.ts'
import type { LayoutTraits } from './layouts.ts'

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

/** A handle in the core, and what is said about its descriptor. */
export interface Wanted {
  traits: LayoutTraits
  /** Address of the vendor handle in the core. */
  handleAt: number
  /** Address of the valid envelope; -1 for a raw handle. */
  envelopeAt: number
  /** Address of its first descriptor entry; -1 where nothing says which file it is. */
  entryAt: number
}

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
 * @param live - this thread has the memory open, so no descriptor is needed; what a channel received with the handle is
 *   taken from it all the same, or it would pile up there
 */
export function findDescriptor(sources: DescriptorSources, wanted: Wanted, live: boolean): Found | undefined {
  if (wanted.traits.descriptor === 'none') return undefined
  if (sources.received !== undefined) return received(sources.received, wanted)
  if (sources.descriptor !== undefined) return borrowed(sources.descriptor)
  if (live) return undefined
  return sources.allowPidfd ? fetched(wanted) : undefined
}

const nothing = (): void => {}

function borrowed(descriptor: Descriptor | number): Found {
  if (descriptor instanceof Descriptor) return { claim: claimOf(descriptor), done: nothing }
  // A number can be closed and used again by another thread at any time; a duplicate cannot.
  return owned(Descriptor.duplicate(descriptor))
}

const ENTRY_DEVICE = 8
const ENTRY_INODE = 16

function received(descriptors: readonly Descriptor[], { traits, handleAt, entryAt }: Wanted): Found | undefined {
  if (traits.descriptor === 'opaque') return onlyOpaque(descriptors)
  const { core, native } = environment()
  const view = new DataView(core.u8.buffer)
  // The host's handle begins with the identity itself.
  const identityAt = entryAt >= 0 ? entryAt + ENTRY_DEVICE : traits.name === 'host' ? handleAt : -1
  if (identityAt < 0) {
    throw typeError('invalid-options', `a raw ${traits.name} handle does not say which file its descriptor is: give \`descriptor\` itself`)
  }
  const stDev = view.getBigUint64(identityAt, true)
  const stIno = view.getBigUint64(identityAt + ENTRY_INODE - ENTRY_DEVICE, true)
  for (const descriptor of descriptors) {
    const identity = checked(() => native.descriptorIdentity(claimOf(descriptor)))
    if (identity.stDev === stDev && identity.stIno === stIno) return owned(descriptor)
  }
  return undefined
}

// CUDA's descriptors are all of one device file: nothing tells two of them apart.
function onlyOpaque(descriptors: readonly Descriptor[]): Found | undefined {
  const { native } = environment()
  const candidates = descriptors.filter((descriptor) => checked(() => native.descriptorIdentity(claimOf(descriptor))).stIno === 0n)
  if (candidates.length > 1) {
    throw new HandleError(
      'descriptor-ambiguous',
      `the channel holds ${candidates.length} descriptors without a file identity, and the handle cannot say which is its own: give \`descriptor\`, ` +
        'the one of the frame that the handle came in',
    )
  }
  return candidates.length === 0 ? undefined : owned(candidates[0]!)
}

function fetched(wanted: Wanted): Found | undefined {
  const { native } = environment()
  const exporter = wanted.envelopeAt >= 0 ? sealedExporter(wanted) : namedExporter(wanted)
  // Our own memory needs no descriptor. And to close a duplicate of a file of ours, which a forged handle may name, would
  // drop this process's POSIX locks on that file. (Our pid in another namespace, or before us, is another process's.)
  if (exporter.isThisProcess) return exporter.own()
  const holder = {}
  const claim = checked(() => exporter.fetch(holder))
  return { claim, done: () => native.end(claim) }
}

interface Exporter {
  isThisProcess: boolean
  own(): undefined
  fetch(holder: object): number
}

function sealedExporter({ traits, handleAt, envelopeAt }: Wanted): Exporter {
  const { core, native, process } = environment()
  if (process.bootId.some((byte, i) => core.u8[envelopeAt + HEADER.boot_id + i] !== byte)) {
    throw new PeerError('other-boot', 'the exporter ran before this machine was started, or on another one: its descriptor cannot be fetched')
  }
  const view = new DataView(core.u8.buffer)
  const pid = view.getUint32(envelopeAt + HEADER.pid, true)
  const startTime = view.getBigUint64(envelopeAt + HEADER.start_time, true)
  const pidNamespace = view.getBigUint64(envelopeAt + HEADER.pid_namespace, true)
  const fd = view.getInt32(handleAt + saidFd(traits), true)
  const isThisProcess = pid === process.pid && startTime === process.startTime && pidNamespace === process.pidNamespace
  return { isThisProcess, own: () => undefined, fetch: (holder) => native.descriptorOf(pid, startTime, pidNamespace, fd, holder) }
}

function namedExporter({ traits, handleAt }: Wanted): Exporter {
  const { core, native, process } = environment()
  const view = new DataView(core.u8.buffer)
  const pid = view.getInt32(handleAt + traits.pid!, true)
  const fd = view.getInt32(handleAt + saidFd(traits), true)
  return {
    isThisProcess: pid === process.pid,
    own() {
      throw new HandleError('names-this-process', 'the raw handle names this very process as its exporter: use the memory itself, or its envelope')
    },
    fetch: (holder) => native.descriptorOfPid(pid, fd, holder),
  }
}

function saidFd({ name, fd }: LayoutTraits): number {
  if (fd !== undefined) return fd
  throw new HandleError('descriptor-missing', `a ${name} handle does not say its descriptor's number, so it cannot be fetched: receive it over an FdChannel`)
}

function owned(descriptor: Descriptor): Found {
  return { claim: claimOf(descriptor), done: () => descriptor.close() }
}
