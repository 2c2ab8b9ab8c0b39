// Exporters that lie about memory: what they say is refused by its own code, nothing stays mapped, and the session goes on.
import { openSync, closeSync } from 'node:fs'
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, isUsmIpcError } from '../../../host/index.ts'
import { HEADER } from '../../../host/core/index.ts'
import { naming } from '../../contract/descriptors.ts'
import { startChannelThread } from '../../support/child.ts'
import { asForeign, forged, handleAt } from '../../support/forge.ts'
import { SEAL, SEALED, memfdServer, type Memfd } from '../../support/memfds.ts'
import { until } from '../trust/support.ts'
import { NBYTES, type FakeExporter } from './fake_exporter.ts'
import { against, codeOf, failure, held, withFake, works } from './sessions.ts'

test.before(startChannelThread)

/** Answers that are refused alone: the session lives. */
const REFUSED: [string, (id: number, fake: FakeExporter) => object, string][] = [
  ['a list instead of what was opened', (id, fake) => ({ t: 'listed', id, entries: [fake.entry()], more: false }), 'PROTOCOL'],
  ['an envelope of another allocation', (id, fake) => fake.opened(id, { envelope: asForeign(fake.envelope) }), 'PROTOCOL'],
  ['an allocation that is not the envelope\'s', (id, fake) => fake.opened(id, { entry: fake.entry({ allocation: new Uint8Array(16).fill(9) }) }), 'PROTOCOL'],
  ['another name', (id, fake) => fake.opened(id, { entry: fake.entry({ name: 'other' }) }), 'PROTOCOL'],
  ['a range that ends outside', (id, fake) => fake.opened(id, { entry: fake.entry({ nbytes: NBYTES + 1 }) }), 'PROTOCOL'],
  ['a range that begins outside', (id, fake) => fake.opened(id, { entry: fake.entry({ offset: NBYTES, nbytes: 1 }) }), 'PROTOCOL'],
  ['a range far outside', (id, fake) => fake.opened(id, { entry: fake.entry({ offset: 2 ** 40, nbytes: 2 ** 40 }) }), 'PROTOCOL'],
  ['noise as the envelope', (id, fake) => fake.opened(id, { envelope: new Uint8Array(500).fill(0xc1) }), 'NOT_AN_ENVELOPE'],
  ['half an envelope', (id, fake) => fake.opened(id, { envelope: fake.envelope.slice(0, 100) }), 'TRUNCATED'],
  ['a flipped bit in it', (id, fake) => fake.opened(id, { envelope: fake.envelope.with(200, fake.envelope[200]! ^ 1) }), 'BAD_CHECKSUM'],
  ['an envelope for another backend', (id, fake) => fake.opened(id, { entry: fake.entry({ backend: 'level_zero', device: new Uint8Array(16).fill(1) }) }), 'NO_SUCH_DEVICE'],
  ['a backend that there is none of', (id, fake) => fake.opened(id, { entry: fake.entry({ backend: 'toString' }) }), 'NO_SUCH_DEVICE'],
  ['a device that there is none of', (id, fake) => fake.opened(id, { entry: fake.entry({ device: new Uint8Array(16).fill(1) }) }), 'NO_SUCH_DEVICE'],
  ['an envelope of another device', (id, fake) => fake.opened(id, { envelope: forged(fake.envelope, (view) => view.setUint8(HEADER.device_uuid, 1)) }), 'WRONG_DEVICE'],
  ['a file that the envelope does not name', (id, fake) => fake.opened(id, { envelope: forged(fake.envelope, (view) => {
    for (const at of [handleAt(fake.envelope), handleAt(fake.envelope) + 48]) view.setBigUint64(at + 8, 12345n, true)
  }) }), 'DESCRIPTOR_FOREIGN'],
  ['a code that nobody knows', (id) => ({ t: 'refused', id, code: 'because', message: 'so there' }), 'REFUSED'],
  ['an envelope as stale, by the exporter\'s word', (id) => ({ t: 'refused', id, code: 'stale-handle', message: '' }), 'STALE_HANDLE'],
]

test.serial('answers that lie about the memory are refused alone, and their leases given back', async (t) => {
  await withFake(t, async (fake) => {
    for (const [what, answer, code] of REFUSED) {
      await against(t, fake, {}, async (session) => {
        const before = held()
        fake.asked.length = 0
        fake.answers = { open: ({ id }, send) => send(answer(id, fake), fake.handle.descriptors) }
        const error = await failure(session.open('weights', { timeoutMs: 5000 }))
        t.deepEqual([what, codeOf(error)], [what, code], error.message)
        t.true(isUsmIpcError(error))
        t.deepEqual(session.leases(), [])
        fake.answers = {}
        await works(t, session)
        t.deepEqual(held(), before)
        const isGiven = (answer(1, fake) as { t: string }).t === 'opened'
        if (isGiven) t.true(await until(() => fake.asked.filter((t) => t === 'release').length === 2), `${what}: released`)
      })
    }
  })
})

test.serial('descriptors that are missing, wrong or too many', async (t) => {
  const server = memfdServer()
  const files: Memfd[] = []
  const make = async (size: number, seals: number): Promise<Memfd> => {
    const file = await server.make(size, seals)
    files.push(file)
    return file
  }
  try {
    const unsealed = await make(NBYTES, 0)
    const halfSealed = await make(NBYTES, SEAL.shrink | SEAL.seal)
    const small = await make(NBYTES / 2, SEALED)
    const other = await make(NBYTES, SEALED)
    const device = openSync('/dev/zero', 'r')
    await withFake(t, async (fake) => {
      const cases: [string, number[], Uint8Array, string][] = [
        ['none', [], fake.envelope, 'DESCRIPTOR_MISSING'],
        ['not a memory file', [device], fake.envelope, 'DESCRIPTOR_WRONG_KIND'],
        ['the socket itself', [2], fake.envelope, 'DESCRIPTOR_WRONG_KIND'],
        ['another memory file', [other.fd], fake.envelope, 'DESCRIPTOR_FOREIGN'],
        ['two others', [other.fd, device], fake.envelope, 'DESCRIPTOR_MISSING'],
        ['16 others', Array<number>(16).fill(other.fd), fake.envelope, 'DESCRIPTOR_MISSING'],
        ['one that can be shrunk under the importer', [unsealed.fd], naming(fake.handle.toBytes(), unsealed), 'DESCRIPTOR_UNSEALED'],
        ['one that can be grown', [halfSealed.fd], naming(fake.handle.toBytes(), halfSealed), 'DESCRIPTOR_UNSEALED'],
        ['one that is too small', [small.fd], naming(fake.handle.toBytes(), small), 'DESCRIPTOR_TOO_SMALL'],
      ]
      for (const [what, descriptors, envelope, code] of cases) {
        await against(t, fake, {}, async (session) => {
          const before = held()
          const allocation = envelope.slice(HEADER.allocation_random, HEADER.allocation_random + 16)
          fake.answers = { open: ({ id }, send) => send(fake.opened(id, { envelope, entry: fake.entry({ allocation }) }), descriptors) }
          const error = await failure(session.open('weights', { timeoutMs: 5000 }))
          t.deepEqual([what, codeOf(error)], [what, code], error.message)
          fake.answers = {}
          await works(t, session)
          t.deepEqual(held(), before, what)
        })
      }
      // The right one among others is found; the others are closed.
      await against(t, fake, { open: ({ id }, send) => send(fake.opened(id), [device, ...fake.handle.descriptors.map((d) => d.number), other.fd]) }, (session) => works(t, session))
    })
    closeSync(device)
  } finally {
    await server.close()
  }
})

test.serial('descriptors with what needs none are closed, however many there are', async (t) => {
  await withFake(t, async (fake) => {
    await against(t, fake, {}, async (session) => {
      await works(t, session)
      const before = held()
      fake.answers = {
        list: async ({ id }, send) => {
          for (let i = 0; i < 200; i++) await send({ t: 'withdrawn', lease: 999, names: ['x'], revoked: false, graceMs: 0 }, Array<number>(16).fill(2))
          await send({ t: 'listed', id, entries: [], more: false }, Array<number>(16).fill(2))
        },
      }
      t.deepEqual(await session.list(), [])
      t.deepEqual(held(), before)
    })
  })
})

test.serial('a lease that is given without an envelope, for ever, is asked for again only so often', async (t) => {
  await withFake(t, async (fake) => {
    await against(t, fake, { open: ({ id }, send) => send(fake.opened(id, { envelope: undefined })) }, async (session) => {
      t.is(codeOf(await failure(session.open('weights'))), 'PROTOCOL')
      fake.answers = {}
      await works(t, session)
    })
  })
})

test.serial('what it says of a lease that is held', async (t) => {
  await withFake(t, async (fake) => {
    const lies: [string, (lease: number) => object][] = [
      ['the same lease with an envelope again', (lease) => ({ lease })],
      ['a range outside of it', (lease) => ({ lease, envelope: undefined, entry: fake.entry({ name: 'b', offset: 1 }) })],
      ['another allocation', (lease) => ({ lease, envelope: undefined, entry: fake.entry({ name: 'b', allocation: new Uint8Array(16) }) })],
    ]
    for (const [what, lie] of lies) {
      await against(t, fake, {}, async (session) => {
        using weights = await session.open('weights')
        const { lease } = weights
        fake.answers = { open: ({ id }, send) => send(fake.opened(id, lie(lease!.id)), 'envelope' in lie(1) ? [] : fake.handle.descriptors) }
        const error = await failure(session.open('b', { timeoutMs: 5000 }))
        t.deepEqual([what, codeOf(error), codeOf(error.cause)], [what, 'EXPORTER_GONE', 'PROTOCOL'])
        // What was mapped honestly stays, and says what became of the exporter.
        t.is(lease!.state, 'exporter-gone')
        const first = new Uint8Array(1)
        weights.copyTo(first)
        t.is(first[0], 7)
      })
    }
  })
})

test.serial('kept bytes: it cannot give another allocation for them', async (t) => {
  await withFake(t, async (fake) => {
    using memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
    using handle = new IPCMemoryHandle(memory)
    const kept = asForeign(handle.toBytes())
    await against(t, fake, { open: ({ id }, send) => send(fake.opened(id), fake.handle.descriptors) }, async (session) => {
      t.is(codeOf(await failure(session.open(kept))), 'PROTOCOL')
    })
    // Nor a name for them that would be cut from outside later on, without asking.
    const beyond = fake.entry({ offset: NBYTES - 4, nbytes: 8 })
    await against(t, fake, { open: ({ id }, send) => send(fake.opened(id, { entry: beyond }), fake.handle.descriptors) }, async (session) => {
      t.is(codeOf(await failure(session.open(fake.envelope))), 'PROTOCOL')
      t.is(codeOf(await failure(session.open('weights', { timeoutMs: 1000 }))), 'PROTOCOL')
    })
  })
})
