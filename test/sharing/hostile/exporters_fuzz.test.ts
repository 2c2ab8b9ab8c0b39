// Answers mutated at random, on a fixed seed: a session works or says why not, and leaves nothing behind.
import { encode } from '@msgpack/msgpack'
import test from 'ava'
import { connect, isUsmIpcError, type Session } from '../../../host/index.ts'
import { startChannelThread } from '../../support/child.ts'
import { mangled, randomOf } from './fuzz/frames.ts'
import { NBYTES } from './fake_exporter.ts'
import { held, withFake } from './sessions.ts'

const SEED = Number(process.env['USM_IPC_FUZZ_SEED'] ?? 20_261_130)
const SESSIONS = Number(process.env['USM_IPC_FUZZ_SESSIONS'] ?? 1500)

test.before(startChannelThread)

test.serial('mutated answers', async (t) => {
  t.log(`seed ${SEED}, ${SESSIONS} sessions`)
  const codes: Record<string, number> = {}
  await withFake(t, async (fake) => {
    const before = held()
    for (let number = 0; number < SESSIONS; number++) {
      const random = randomOf(SEED, number)
      const entry = fake.entry({ metadata: encode({ step: 1 }) })
      // Half of the sessions get one mutated answer, the others several.
      const mutate = (message: object): Uint8Array => {
        const frame = encode(message, { ignoreUndefined: true })
        return random(3) === 0 ? frame : mangled(random, frame, encode({ t: 'withdrawn', lease: 1, names: ['weights'], revoked: true, graceMs: 5 }))
      }
      const pick = <T>(...from: T[]): T => from[random(from.length)]!
      const others = (): object[] => ['x', 'y', 'z'].slice(random(4)).map((name) => fake.entry({
        name, offset: pick(0, 1, 4096, NBYTES - 1, NBYTES, 2 ** 40), nbytes: pick(1, 4096, NBYTES, NBYTES + 1, 2 ** 40), export: pick(1, 1, 1, 2), revision: pick(1, 1, 1, 2),
        ...(random(8) === 0 ? { allocation: new Uint8Array(16).fill(random(256)) } : {}),
      }))
      const some = (): typeof fake.handle.descriptors | number[] => (random(6) === 0 ? Array<number>(random(17)).fill(2) : fake.handle.descriptors)
      fake.answers = {
        hello: (_, send) => send(random(10) === 0 ? mutate({ t: 'welcome', version: 1 }) : { t: 'welcome', version: 1 }),
        list: ({ id }, send) => send(mutate({ t: 'listed', id, entries: [entry, ...others()], more: false }), random(6) === 0 ? some() : undefined),
        open: ({ id, name }, send) => send(mutate(fake.opened(id, { entry: { ...entry, name } })), some()),
      }
      const trying = async (action: () => Promise<void>): Promise<void> => {
        try {
          await action()
          codes['worked'] = (codes['worked'] ?? 0) + 1
        } catch (error) {
          t.true(isUsmIpcError(error), `seed ${SEED}, session ${number}: ${(error as Error).stack}`)
          const { code } = error as { code: string }
          codes[code] = (codes[code] ?? 0) + 1
        }
      }
      let session: Session | undefined
      await trying(async () => void (session = await connect(fake.path, { timeoutMs: 300 })))
      if (session === undefined) continue
      await trying(async () => {
        const memory = await session!.open('weights', { timeoutMs: 50 })
        memory.copyTo(new Uint8Array(memory.nbytes))
        memory.describe()
      })
      await trying(async () => {
        for (const memory of (await session!.openAll({ timeoutMs: 50 })).values()) {
          const { nbytes, offset } = memory.baseAllocation!
          t.true(offset + memory.nbytes <= nbytes, 'what is opened lies in what is mapped')
          memory.copyTo(new Uint8Array(memory.nbytes))
        }
      })
      await session.close()
    }
    fake.answers = {}
    t.deepEqual((held() as { mappings: number }).mappings, (before as { mappings: number }).mappings)
  })
  t.log(JSON.stringify(codes))
  t.true(codes['worked']! > SESSIONS / 2 && Object.keys(codes).length >= 8)
})
