/** Connecting to an exporter: who it is, and the first two messages. */
import { resolve } from 'node:path'
import type { PeerCredentials } from '../addon.ts'
import { PeerError, rangeError, typeError } from '../errors.ts'
import { checkKeys, type EnvelopeKey } from '../keys.ts'
import { checkOptions } from '../options.ts'
import { FdChannel } from './fd_channel.ts'
import { PROTOCOL_VERSION, decodeReply, encode } from './protocol.ts'
import { refusal } from './refusal.ts'
import { deadline, type RequestOptions } from './request.ts'
import { Session } from './session.ts'
import { step } from './steps.ts'

export interface ConnectOptions extends RequestOptions {
  /** Whose exporter it must be; this user's where it is left out. */
  serverUid?: number
  /** Envelopes must carry a tag of one of these keys. */
  keys?: readonly EnvelopeKey[]
  /** Refuse envelopes without a tag that was checked. Implied by `keys`. */
  requireAuthentication?: boolean
}

const CONNECT_MS = 10_000

/**
 * Connects to an exporter that `listen()`s on `path`. Nothing is sent before its user is known to be the right one.
 *
 * @param options - timeoutMs: 10,000 where it is left out
 * @throws PeerError `ERR_USM_IPC_WRONG_SERVER_UID`, `ERR_USM_IPC_UNAUTHORIZED`, `ERR_USM_IPC_TIMEOUT`, `ERR_USM_IPC_EXPORTER_GONE`;
 *   DriverError `ERR_USM_IPC_NO_LISTENER`
 */
export async function connect(path: string, options: ConnectOptions = {}): Promise<Session> {
  checkOptions(options, ['serverUid', 'keys', 'requireAuthentication', 'timeoutMs', 'signal'], 'connect')
  if (typeof path !== 'string' || path === '') throw typeError('invalid-path', 'connect: path must be a string that is not empty')
  const { serverUid = process.geteuid!(), keys, requireAuthentication = false, signal, timeoutMs = CONNECT_MS } = options
  if (!Number.isInteger(serverUid) || serverUid < 0) throw rangeError('invalid-uid', 'connect: serverUid must be a user\'s number')
  if (typeof requireAuthentication !== 'boolean') throw typeError('invalid-options', 'connect: requireAuthentication must be true or false')
  deadline(options, 'connect')
  const absolute = resolve(path)
  const until = performance.now() + timeoutMs
  const own = keys === undefined ? undefined : checkKeys(keys, 'connect: keys')
  let channel: FdChannel | undefined
  try {
    channel = await FdChannel.connect(path, { timeoutMs, signal })
    step('importer:connected')
    checkServer(channel.peer, serverUid)
    await greet(channel, until, signal)
    step('importer:welcomed')
    return new Session(channel, absolute, { keys: own, requireAuthentication })
  } catch (error) {
    channel?.shut()
    for (const { key } of own ?? []) key.fill(0)
    throw error
  }
}

function checkServer({ uid, overflow }: PeerCredentials, serverUid: number): void {
  if (overflow) {
    throw new PeerError('overflow-uid', 'the exporter\'s user has no number in this process\'s user namespace, so nobody can tell who it is: both must be mapped into it')
  }
  if (uid !== serverUid) throw new PeerError('wrong-server-uid', `the exporter is a process of user ${uid}, expected was user ${serverUid}`)
}

async function greet(channel: FdChannel, until: number, signal: AbortSignal | undefined): Promise<void> {
  // A dead exporter's socket may be held open by a child that it forked: nobody will answer there.
  const dead = new AbortController()
  void channel.peerExited.then((how) => how === 'exited' && dead.abort(new PeerError('exporter-gone', 'the exporter has ended')), (error: unknown) => dead.abort(error))
  const either = signal === undefined ? dead.signal : AbortSignal.any([signal, dead.signal])
  const left = (): { timeoutMs: number; signal: AbortSignal } => ({ timeoutMs: until - performance.now(), signal: either })
  step('importer:hello')
  try {
    await channel.send(encode({ t: 'hello', versions: [PROTOCOL_VERSION] }), left())
    const { bytes, descriptors } = await channel.receive(left())
    for (const descriptor of descriptors) descriptor.close()
    const reply = decodeReply(bytes)
    if (reply.t === 'refused') throw refusal(reply)
    if (reply.t !== 'welcome' || reply.version !== PROTOCOL_VERSION) throw new PeerError('protocol', 'the exporter did not answer the hello with a welcome')
  } catch (error) {
    if (error instanceof PeerError && error.code === 'ERR_USM_IPC_PEER_GONE') {
      throw new PeerError('exporter-gone', 'the exporter ended the connection before it answered: it is closing, full, or it has ended', { cause: error })
    }
    throw error
  }
}
