/** One test on both adapters, and the processes that it starts. */
import type { ExecutionContext } from 'ava'
import { startBare } from './bare.ts'
import { startParty, type Party } from './party.ts'
import type { Program } from './program.ts'
import { ADAPTERS, type Adapter, type Choice } from './runtime.ts'
import { syclTest } from './sycl_test.ts'

/** pidNamespace: in one of its own. */
type More = Omit<Choice, 'adapter'> & { env?: Record<string, string>; pidNamespace?: boolean }

export class Stage {
  readonly adapter: Adapter
  readonly #started: (Party | Program)[] = []
  constructor(adapter: Adapter) {
    this.adapter = adapter
  }

  /** The runtime with nobody before it. */
  bare({ env, pidNamespace, ...choice }: More = {}): Program {
    const program = startBare({ adapter: this.adapter, ...choice }, env, pidNamespace)
    this.#started.push(program)
    return program
  }

  /** A process of ours. */
  party({ env, pidNamespace, ...choice }: More = {}): Party {
    const party = startParty({ adapter: this.adapter, ...choice }, env, pidNamespace)
    this.#started.push(party)
    return party
  }

  /** Those that have not been ended. */
  async clear(): Promise<void> {
    await Promise.all(this.#started.map((child) => child.kill()))
  }
}

export function onBothAdapters(title: string, body: (t: ExecutionContext, stage: Stage) => Promise<void>): void {
  for (const adapter of ADAPTERS) {
    syclTest(`${adapter}: ${title}`, async (t) => {
      const stage = new Stage(adapter)
      try {
        await body(t, stage)
      } finally {
        await stage.clear()
      }
    })
  }
}

/** `count` bytes of one value, in hexadecimal digits. */
export const bytesOf = (value: number, count = 8): string => Buffer.alloc(count, value).toString('hex')
