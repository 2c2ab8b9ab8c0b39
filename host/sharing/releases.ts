/** The leases that a session gives back. */
import type { FdChannel } from './fd_channel.ts'
import { MAX_RELEASED, encode } from './protocol.ts'
import { step } from './steps.ts'

export class Releases {
  readonly #channel: FdChannel
  readonly #failed: (error: unknown) => void
  readonly #ids: number[] = []
  #isFlushing = false

  constructor(channel: FdChannel, failed: (error: unknown) => void) {
    this.#channel = channel
    this.#failed = failed
  }

  add(id: number): void {
    this.#ids.push(id)
    void this.#flush()
  }

  // The first one leaves at once; those that come while it waits for the socket go together.
  async #flush(): Promise<void> {
    if (this.#isFlushing) return
    this.#isFlushing = true
    try {
      while (this.#ids.length > 0 && !this.#channel.isClosed) {
        step('importer:closing')
        await this.#channel.send(encode({ t: 'release', leases: this.#ids.splice(0, MAX_RELEASED) }))
        step('importer:released')
      }
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#isFlushing = false
    }
  }
}
