/** One fuzzed connection: frames until one of them has to end it, and what comes back. */
import assert from 'node:assert/strict'
import { FdChannel } from '../../../../host/index.ts'
import { decodeReply, decodeRequest, encode } from '../../../../host/sharing/protocol.ts'
import { fuzzedFrame, outcomeOf, randomOf } from './frames.ts'

const deadline = { timeoutMs: 60_000 }
const MOST = 48
const LAST = { t: 'list', id: 0xfedc_ba98, prefix: '\uffff', after: '' } as const

export interface Tally {
  frames: number
  connections: number
  /** Connections that a frame ended, those that lived to the last one, and those that left without reading the answers. */
  ended: number
  survived: number
  left: number
}

async function reply(channel: FdChannel): Promise<ReturnType<typeof decodeReply> | undefined> {
  try {
    const { bytes, descriptors } = await channel.receive(deadline)
    for (const descriptor of descriptors) descriptor.close()
    return decodeReply(bytes)
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_USM_IPC_PEER_GONE') return undefined
    throw error
  }
}

/** Sends the frames that seed and number stand for, and checks the exporter's answers. Counts into `tally`. */
export async function fuzzConnection(path: string, seed: number, number: number, tally: Tally): Promise<void> {
  const random = randomOf(seed, number)
  const sent: string[] = []
  using channel = await FdChannel.connect(path, deadline)
  // A send that finds the connection gone is no failure of its own: the answers say whether it had to go.
  const send = (frame: Uint8Array, descriptors?: number[]): Promise<void> => {
    sent.push(`${Buffer.from(frame.subarray(0, 512)).toString('hex')}${descriptors ? ` with ${descriptors.length} descriptors` : ''}`)
    return channel.send(frame, { ...deadline, descriptors }).catch(() => {})
  }
  try {
    tally.connections++
    const held = new Set<number>()
    if (random(12) === 0) {
      const first = fuzzedFrame(random, [])
      tally.frames++
      await send(first)
      const answer = await reply(channel)
      if (isHello(first)) {
        assert.equal(answer?.t, 'welcome')
      } else {
        assert.ok(answer === undefined || (answer.t === 'refused' && answer.id === 0), `instead of a refusal: ${JSON.stringify(answer)}`)
        if (answer !== undefined) assert.equal(await reply(channel), undefined)
        tally.ended++
        return
      }
    } else {
      await send(encode({ t: 'hello', versions: [1] }))
      assert.equal((await reply(channel))?.t, 'welcome')
    }
    let expected = 0
    let ends = false
    if (random(3) === 0) {
      await send(encode({ t: 'open', id: 1, name: 'weights' }))
      const opened = await reply(channel)
      assert.ok(opened?.t === 'opened' && opened.envelope !== undefined)
      held.add(opened.lease)
    }
    const most = 1 + random(MOST)
    for (let i = 0; i < most && !ends; i++) {
      const frame = fuzzedFrame(random, [...held])
      const descriptors = random(64) === 0 ? Array<number>(1 + random(16)).fill(2) : undefined
      const outcome = descriptors === undefined ? outcomeOf(frame, held) : 'ends'
      tally.frames++
      ends = outcome === 'ends'
      if (outcome === 'answered') expected++
      await send(frame, descriptors)
    }
    if (random(8) === 0) {
      tally.left++
      return
    }
    if (!ends) await send(encode(LAST))
    for (let i = 0; i < expected; i++) {
      const answer = await reply(channel)
      assert.ok(answer?.t === 'listed' || answer?.t === 'opened' || answer?.t === 'refused', `answer ${i} of ${expected}: ${JSON.stringify(answer)}`)
    }
    const last = await reply(channel)
    if (ends) assert.equal(last, undefined, `instead of being dropped: ${JSON.stringify(last)}`)
    else assert.ok(last?.t === 'listed' && last.id === LAST.id, `instead of the last answer: ${JSON.stringify(last)}`)
    if (ends) tally.ended++
    else tally.survived++
  } catch (cause) {
    throw new Error(`seed ${seed}, connection ${number}: ${(cause as Error).message}\nframes:\n${sent.join('\n')}`, { cause })
  }
}

function isHello(frame: Uint8Array): boolean {
  try {
    const request = decodeRequest(frame)
    return request.t === 'hello' && request.versions.includes(1)
  } catch {
    return false
  }
}
