/** The protocol by hand: an importer that sends what it likes, for tests of what an exporter makes of it. */
import { FdChannel, type Frame } from '../../host/index.ts'
import { encode, decodeReply, type Opened, type Reply, type Request } from '../../host/sharing/protocol.ts'

const deadline = { timeoutMs: 10_000 }

export class RawImporter {
  readonly channel: FdChannel

  private constructor(channel: FdChannel) {
    this.channel = channel
  }

  static async connect(path: string): Promise<RawImporter> {
    return new RawImporter(await FdChannel.connect(path, deadline))
  }

  /** Connected and welcomed. */
  static async welcomed(path: string): Promise<RawImporter> {
    const importer = await RawImporter.connect(path)
    await importer.send({ t: 'hello', versions: [1] })
    const { t } = (await importer.hear()).message
    if (t !== 'welcome') throw new Error(`not welcomed: ${t}`)
    return importer
  }

  send(message: Request): Promise<void> {
    return this.channel.send(encode(message), deadline)
  }

  async hear(): Promise<{ message: Reply; frame: Frame }> {
    const frame = await this.channel.receive(deadline)
    return { message: decodeReply(frame.bytes), frame }
  }

  async open(name: string): Promise<{ message: Opened; frame: Frame }> {
    await this.send({ t: 'open', id: 1, name })
    const { message, frame } = await this.hear()
    if (message.t !== 'opened') throw new Error(`not opened: ${JSON.stringify(message)}`)
    return { message, frame }
  }

  [Symbol.dispose](): void {
    this.channel.close()
  }
}
