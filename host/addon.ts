/**
 * The native addon: loading it, and its typed surface. Only `host/` uses it; users never see it.
 * Claims, sizes and offsets are numbers below 2^53; `core` arguments are views over the whole wasm memory, `...At`
 * arguments byte offsets in it. Nothing here keeps a view after it returns.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { fromNative } from './errors.ts'
import { variable } from './variables.ts'

export interface NativeDevice {
  name: string
  type: string
  /** 16 bytes */
  uuid: Uint8Array
  memory: number
  software: boolean
}

export interface NativeUnavailable {
  reason: string
  call: string
  result: string
  number: number
}

export interface NativeClaimInfo {
  /** 1 allocation, 2 exported, 3 mapping, 5 descriptor, 6 lease, 7 event (4, a view's, belongs to nobody) */
  kind: number
  /** 0 none, 1 mapped, 2 cached, 3 self */
  path: number
  backend: string
  /** Base address of the driver's allocation or mapping. */
  base: bigint
  nbytes: number
  usm: number
  device: number
  readOnly: boolean
  hostAddressable: boolean
  /** 32 hexadecimal digits; '' for none. */
  allocationId: string
  /** Another library's memory. */
  adopted: boolean
  /** What an importer maps has more in it than this memory. */
  hasNeighbours: boolean
  /** Claims on the same resource, this one included. */
  claims: number
}

export interface NativeBook {
  /** `leases` are those of the claims that stand for importers in other processes. */
  resources: { kind: string; backend: string; nbytes: number; allocationId: string; claims: number; leases: number }[]
  claims: number
  leases: number
  environments: number
}

export interface ProcessIdentity {
  pid: number
  /** Clock ticks since boot (field 22 of /proc/self/stat). */
  startTime: bigint
  /** Inode of /proc/self/ns/pid. */
  pidNamespace: bigint
  /** 16 bytes */
  bootId: Uint8Array
}

export interface PeerCredentials {
  pid: number
  uid: number
  gid: number
  /**
   * One of the ids is the kernel's overflow id (65534): this process's user namespace has no number for it, so it may be
   * anybody's.
   */
  overflow: boolean
}

/** `exited`: the process has; `closed`: this end was closed first; `unavailable`: the system does not say which process it is. */
export type PeerExit = 'exited' | 'closed' | 'unavailable'

/** A received descriptor: the claim on it, and the object whose native finalizer ends that claim if nobody did. */
export interface NativeDescriptor {
  readonly claim: number
}

export interface NativeFrame {
  bytes: Uint8Array
  descriptors: NativeDescriptor[]
}

/**
 * One end of a Unix seqpacket socket. Every callback gets (error | null, value) exactly once, after the call has
 * returned; a call that throws (closed, queue full, bad argument), or that is done at once, never calls back.
 */
export interface NativeChannel {
  /** Sends one frame with borrowed descriptor claims. Returns a request number for cancel(), or 0: done. */
  send(bytes: Uint8Array, descriptors: number[], timeoutMs: number, done: (error: Error | null) => void): number
  /**
   * Receives one frame; nothing is read from the socket before it is asked for. With `descriptors` it waits while the
   * channel holds too many for another frame; without, a frame that has some breaks the channel. A frame that is there
   * already is what it returns.
   */
  receive(timeoutMs: number, done: (error: Error | null, frame?: NativeFrame) => void, descriptors: boolean): number | NativeFrame
  /** So many of the received descriptors have been closed. */
  release(descriptors: number): void
  /** True when the request was still pending: its callback will then never run. */
  cancel(request: number): boolean
  /** Pending requests get state/"closed". Idempotent. */
  close(): void
  /** As close, and the connection ends whatever other process has its socket, too. */
  shut(): void
  readonly isClosed: boolean
  readonly peer: PeerCredentials
  /** Called once when the peer has hung up (frames may still be waiting to be received), or this end is closed. */
  onHangup(callback: () => void): void
  /** Called once when the process that made the connection has exited, whoever else holds its socket, or this end is closed. */
  onPeerExit(callback: (error: null, how: PeerExit) => void): void
  /** Keeps the event loop alive while requests are pending (the default); unref() does not. */
  ref(): void
  unref(): void
  /** The channel's own descriptor, borrowed (to hand to a child process before the channel is used). */
  readonly fd: number
}

export interface NativeListener {
  accept(timeoutMs: number, done: (error: Error | null, channel?: NativeChannel) => void): number
  cancel(request: number): boolean
  close(): void
  readonly isClosed: boolean
  ref(): void
  unref(): void
}

export interface NativeAddon {
  readonly build: { version: string; faults: boolean; sanitized: boolean }
  /** Names; loads nothing. */
  backends(): string[]
  /** The reason is '' where the backend can be used here; loads its driver to find out. `call` is '' where no call failed. */
  unavailable(backend: number): NativeUnavailable
  devices(backend: number): NativeDevice[]
  processIdentity(): ProcessIdentity

  /** The allocation id is the 16 bytes at allocationIdAt; `holder`'s native finalizer ends the claim if nobody did. */
  allocate(
    backend: number, device: number, usm: number, nbytes: number, readOnly: boolean,
    core: Uint8Array, allocationIdAt: number, holder: object,
    /** 0 what the backend does without being asked, 1 legacy, 2 fd, 3 pool */
    ipc: number,
  ): number
  /** Memory that another library allocated and keeps; info() then tells the driver's base allocation. */
  adopt(
    backend: number, device: number, pointer: bigint, nbytes: number, core: Uint8Array, allocationIdAt: number, holder: object,
  ): number
  /**
   * The handle of the address `offset` bytes into the driver's base allocation. Writes it at handleAt; at entriesAt a u32
   * count, a u32 layout, and 24 bytes a descriptor entry. Returns the handle's length. With `synchronize` it waits for the
   * device first.
   */
  get(
    claim: number, offset: number, core: Uint8Array, handleAt: number, handleCapacity: number, entriesAt: number, entriesCapacity: number,
    synchronize: boolean,
  ): number
  put(claim: number): void
  /** allocationIdAt < 0, entryAt < 0, descriptor 0: none. Returns the claim. */
  open(
    backend: number, device: number, layout: number, core: Uint8Array, handleAt: number, handleLength: number,
    allocationIdAt: number, allocationNbytes: number, entryAt: number, descriptor: number, holder: object,
  ): number
  /**
   * A further claim: exported (2), mapping (3: of a view, too), descriptor (5) or lease (6: an importer's, held while its connection lasts).
   * One of kind exported owns the handle that get() gave: its end gives that back, and so does a failure of this.
   */
  claim(of: number, kind: number, holder: object): number
  end(claim: number): boolean
  info(claim: number): NativeClaimInfo
  drainEnded(): number[]
  book(): NativeBook

  read(claim: number, offset: number, target: Uint8Array): void
  write(claim: number, offset: number, source: Uint8Array): void
  copy(to: number, toOffset: number, from: number, fromOffset: number, nbytes: number): void
  fill(claim: number, offset: number, nbytes: number, value: number): void
  /** An external ArrayBuffer over the memory, with a claim of its own that ends with the buffer's native finalizer. */
  view(claim: number, offset: number, nbytes: number): { buffer: ArrayBuffer; claim: number }

  /** Events that processes share; a stream is the driver's own handle of one, 0n its default stream. */
  createEvent(backend: number, device: number, core: Uint8Array, idAt: number, holder: object): number
  /** idAt < 0: none. */
  openEvent(backend: number, device: number, core: Uint8Array, handleAt: number, handleLength: number, idAt: number, holder: object): number
  /** Writes the handle at handleAt; its length. */
  getEvent(claim: number, core: Uint8Array, handleAt: number, handleCapacity: number): number
  eventRecord(claim: number, stream: bigint): void
  /** Whether what was recorded last is done. */
  eventQuery(claim: number): boolean
  /** The stream waits, on the device. */
  eventWait(claim: number, stream: bigint): void

  /**
   * What a PyTorch process shared, by the name of the ref-counter file and the counter's number in it: a share, which
   * `holder`'s native finalizer ends if nobody did. Looks at the counter, and leaves it as it is.
   */
  torchTake(backend: number, device: number, name: string, index: number, holder: object): number
  /**
   * Waits for the device, and counts the counter down. 0 counted, 1 the file is gone, 2 it was 0, 3 it cannot be opened now,
   * 4 this process has the share open elsewhere, 5 it was ended before
   */
  torchEnd(share: number): number
  /** Nothing was opened: the counter stays as it is. */
  torchForget(share: number): void

  /** Owns fd from here on when `duplicate` is false. */
  adoptDescriptor(fd: number, duplicate: boolean, holder: object): number
  /** A duplicate of the descriptor that must travel beside the memory's handle. */
  exportDescriptor(claim: number, holder: object): number
  /** pidfd_open, identity check through it, pidfd_getfd. */
  descriptorOf(pid: number, startTime: bigint, pidNamespace: bigint, fd: number, holder: object): number
  /** The same where only the pid is known. */
  descriptorOfPid(pid: number, fd: number, holder: object): number
  descriptorNumber(claim: number): number
  /** st_dev and st_ino of a memfd or dma-buf, both 0 for any other file; here because Deno's fstat refuses received descriptors. */
  descriptorIdentity(claim: number): { stDev: bigint; stIno: bigint }

  channelPair(): [NativeChannel, NativeChannel]
  /** Returns a request number for channelCancel(). */
  channelConnect(path: string, timeoutMs: number, done: (error: Error | null, channel?: NativeChannel) => void): number
  channelCancel(request: number): boolean
  /** Owns fd from here on when `duplicate` is false and this does not throw. */
  channelAdopt(fd: number, duplicate: boolean): NativeChannel
  /** With `replaceDead` it may wait two seconds for a lock on the directory, and replaces a socket that nobody answers on. */
  channelListen(path: string, mode: number, backlog: number, replaceDead: boolean): NativeListener
  /** Stops and joins this environment's channel thread; for process 'exit', where no clean-up hook runs. */
  channelShutdown(): void
  /** This thread's event loop is libuv's, and may do the waiting for channels: a wake-up less for each frame. */
  channelPoll(): void

  /** Fault builds only: the countdown-th passage of the named step fails, or kills this process. countdown 0 clears. */
  setFault?(name: string, countdown: number, kills?: boolean): void
  /** Fault builds only: every name that setFault knows. */
  faultPoints?(): string[]
  /** Fault builds only: how often the host backend has called `mmap` and `munmap`. A second munmap fails silently, so only a count shows it. */
  callCounts?(): { mmap?: number; munmap?: number }
  /** What `usm-ipc doctor` asks (host/doctor/native.ts). Loads libraries for good and forks: for processes made for this. */
  probe(name: string, argument?: unknown): unknown
}

function loadAdvice(message: string): string {
  if (message.includes('--allow-ffi')) return 'Run Deno with --allow-ffi and --allow-read'
  return `It is built for one kind of machine; this is ${process.platform} ${process.arch}. In a clone, \`npm ci\` builds it`
}

let loaded: NativeAddon | undefined

/** The addon, loaded at first use. `USM_IPC_ADDON` names another build of it (tests, sanitizers). */
export function addon(): NativeAddon {
  return (loaded ??= load())
}

function load(): NativeAddon {
  const path = variable('USM_IPC_ADDON') ?? fileURLToPath(new URL('../build/Release/usm_ipc.node', import.meta.url))
  let native: NativeAddon
  try {
    native = createRequire(import.meta.url)(path) as NativeAddon
  } catch (cause) {
    const { message } = cause as Error
    throw fromNative(
      Object.assign(new Error(`the native addon did not load from ${path}: ${message}. ${loadAdvice(message)}`), {
        kind: 'driver', reason: 'addon-missing', backend: 'addon', call: 'dlopen', result: message, number: 0, cause,
      }),
    )
  }
  // Others have an event loop of their own, some with libuv's names for what they do not have.
  // (Tests want to see both ways of waiting on one runtime.)
  const isNode = process.release.name === 'node' && process.versions['bun'] === undefined && process.versions['deno'] === undefined
  if (isNode && variable('USM_IPC_CHANNEL_THREAD') === undefined) native.channelPoll()
  // process.exit() runs no clean-up hook of the main thread, and a thread that polls must be joined before exit.
  process.on('exit', () => native.channelShutdown())
  return native
}
