import test from 'ava'
import { Core, Ledger, VERDICTS } from '../../host/core/index.ts'
import { LedgerModel, RawLedger } from './support/ledger.ts'
import { Random } from './support/source.ts'

const SEED = Uint8Array.from({ length: 16 }, (_, i) => 17 * i + 1)

function books(limit = 0, seed: Uint8Array = SEED): { core: Core; ledger: Ledger; raw: RawLedger } {
  const core = new Core()
  const ledger = new Ledger(core, seed, limit)
  return { core, ledger, raw: new RawLedger(core, ledger) }
}

test('an empty ledger', (t) => {
  const { ledger, raw } = books()
  t.is(ledger.count(), 0)
  t.deepEqual(ledger.records(), [])
  t.is(raw.status(raw.foreign(1n)), 'unknown-claim')
  t.is(raw.token(raw.foreign(1n)), 0)
  t.is(ledger.end(2 ** 24), 'unknown-claim')
})

test('one claim, from its entry to its second end', (t) => {
  const { core, ledger, raw } = books()
  const id = raw.nextId()
  t.is(raw.status(id), 'stale-handle') // issued, and nobody holds it
  const claim = raw.add('allocation', id, 4096, 7, 1000)
  t.is(raw.status(id), 'ok')
  t.is(raw.token(id), 7)
  t.deepEqual(ledger.records(), [{ claim, kind: 'allocation', allocationId: id, nbytes: 4096, opened: 1000, token: 7 }])
  t.is(ledger.count('allocation'), 1)
  t.is(ledger.count('export'), 0)
  t.is(ledger.end(claim), 'ok')
  t.is(ledger.end(claim), 'double-close')
  t.is(ledger.end(claim), 'double-close')
  t.is(raw.status(id), 'stale-handle')
  t.is(raw.token(id), 0)
  t.is(ledger.count(), 0)
  t.deepEqual(ledger.records(), [])
  t.true(core.exports.ledgerRecordSize() <= 96)
})

test('ids of this ledger: never issued, stale, live; of another one: unknown', (t) => {
  const { raw } = books()
  const [first, second] = [raw.nextId(), raw.nextId()]
  t.not(first, second)
  raw.add('export', second, 1, 1, 1)
  const forged = raw.own(3n)
  t.is(raw.status(first), 'stale-handle')
  t.is(raw.status(second), 'ok')
  t.is(raw.status(forged), 'never-issued')
  t.is(raw.status(raw.own(2n ** 64n - 1n)), 'never-issued')
  t.is(raw.status(raw.own(0n)), 'never-issued')
  t.is(raw.status(raw.foreign(1n)), 'unknown-claim')
  t.is(raw.nextId(), forged)
  t.is(raw.status(forged), 'stale-handle')
})

test('numbers that no claim can be', (t) => {
  const { ledger, raw } = books()
  const claim = raw.add('mapping', raw.foreign(5n), 1, 1, 1)
  const garbage = [
    NaN, -1, 0, -0, 0.5, 1, 2 ** 24 - 1, claim + 0.5, -claim, claim + 1, claim + 2 ** 24, 2 ** 52, 2 ** 53 - 1, 2 ** 53, 2 ** 64, 1e300,
    Infinity, -Infinity, Number.MIN_VALUE,
  ]
  for (const number of garbage) t.is(ledger.end(number), 'unknown-claim', String(number))
  t.is(ledger.count(), 1)
  t.is(ledger.end(claim), 'ok')
})

test('records that are none', (t) => {
  const { core, ledger, raw } = books()
  const id = raw.nextId()
  const bad = VERDICTS.indexOf('bad-record')
  const addRaw = (kind: number, nbytes: number): number => core.exports.ledgerAdd(kind, raw.place(id), nbytes, 1, 1)
  for (const kind of [0, 8, 255, 0xffff_ffff]) t.is(addRaw(kind, 1), -bad)
  for (const nbytes of [-1, NaN, 0.5, 2 ** 53, Infinity, -Infinity]) t.is(addRaw(1, nbytes), -bad)
  for (const nbytes of [0, -0, 2 ** 53 - 1]) t.true(addRaw(1, nbytes) > 0)
  for (const zero of ['0'.repeat(16) + 'ff'.repeat(8), 'ff'.repeat(8) + '0'.repeat(16), '0'.repeat(32)]) {
    t.throws(() => raw.add('view', zero, 1, 1, 1), { code: 'ERR_USM_IPC_BAD_RECORD' })
  }
  t.throws(() => raw.add('nothing' as 'view', id, 1, 1, 1), { code: 'ERR_USM_IPC_BAD_RECORD' })
  t.is(ledger.count(), 3)
})

test('a full ledger takes no more, and does again after an end', (t) => {
  const { ledger, raw } = books(3)
  const claims = [1n, 1n, 2n].map((n) => raw.add('lease', raw.foreign(n), 1, 1, 1))
  t.throws(() => raw.add('lease', raw.foreign(3n), 1, 1, 1), { code: 'ERR_USM_IPC_LEDGER_FULL' })
  t.is(ledger.count(), 3)
  t.is(ledger.end(claims[1]!), 'ok')
  t.true(raw.add('lease', raw.foreign(3n), 1, 1, 1) > 0)
  t.throws(() => raw.add('lease', raw.foreign(4n), 1, 1, 1), { code: 'ERR_USM_IPC_LEDGER_FULL' })
})

test('a seed that is not 16 bytes is refused', (t) => {
  t.throws(() => new Ledger(new Core(), new Uint8Array(15)), { code: 'ERR_USM_IPC_INVALID_SEED' })
})

test('a new ledger of a core is empty, whatever the one before held', (t) => {
  const { core, raw } = books()
  for (let i = 0; i < 1000; i++) raw.add('view', raw.foreign(BigInt(1 + (i % 7))), 1, 1, 1)
  const ledger = new Ledger(core, SEED)
  t.is(ledger.count(), 0)
  t.is(ledger.count('view'), 0)
  t.deepEqual(ledger.records(), [])
  t.is(new RawLedger(core, ledger).status(raw.foreign(1n)), 'unknown-claim')
})

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`against a model, seed ${seed}`, (t) => {
    // Few ids make rings, many make chains; a low limit makes full ledgers.
    const random = new Random(seed)
    const limit = seed % 3 === 0 ? 50 : 0
    const { raw } = books(limit, random.bytes(16))
    const model = new LedgerModel(raw, random, seed % 2 === 0 ? 5 : 400, limit)
    for (let step = 0; step < 20_000; step++) {
      const fault = model.step()
      if (fault !== undefined) return t.fail(`step ${step}: ${fault}`)
      if (step % 1000 === 999) t.is(model.compare(), undefined, `step ${step}`)
    }
    t.is(model.compare(), undefined)
    const all = ['end ok', 'end double-close', 'end unknown-claim', 'status ok', 'status stale-handle', 'status never-issued', 'status unknown-claim']
    t.deepEqual([...model.seen].sort(), (limit ? [...all, 'ledger-full'] : all).sort())
  })
}

const MANY = 100_000

for (const [title, idOf] of [['distinct ids', (i: number) => BigInt(i + 1)], ['one shared id', () => 1n]] as const) {
  test(`${MANY} records with ${title}: at most 96 bytes of memory each, and consistent through any order of ends`, (t) => {
    const { core, ledger, raw } = books()
    const before = core.exports.memory.buffer.byteLength
    const claims: number[] = []
    for (let i = 0; i < MANY; i++) claims.push(raw.add('mapping', raw.foreign(idOf(i)), i, i + 1, i))
    const grown = core.exports.memory.buffer.byteLength - before
    t.true(grown > 0 && grown <= 96 * MANY, `${grown / MANY} bytes a record`)
    t.is(ledger.count(), MANY)
    t.is(new Set(claims).size, MANY)
    const records = ledger.records()
    t.is(records.length, MANY)
    t.deepEqual(records.map((r) => r.claim).sort((a, b) => a - b), claims.slice().sort((a, b) => a - b))

    const random = new Random(3)
    const order = claims.map((claim, i) => ({ claim, i }))
    for (let i = MANY - 1; i > 0; i--) {
      const j = random.below(i + 1)
      ;[order[i], order[j]] = [order[j]!, order[i]!]
    }
    order.forEach(({ claim, i }, done) => {
      const id = raw.foreign(idOf(i))
      if (raw.status(id) !== 'ok' || raw.token(id) === 0) t.fail(`record ${i} is lost`)
      if (ledger.end(claim) !== 'ok') t.fail(`record ${i} cannot be ended`)
      const gone = title === 'distinct ids' || done === MANY - 1
      if (raw.status(id) !== (gone ? 'unknown-claim' : 'ok')) t.fail(`record ${i} is still there`)
    })
    t.is(ledger.count(), 0)
    t.is(raw.status(raw.foreign(1n)), 'unknown-claim')

    const full = core.exports.memory.buffer.byteLength
    for (let i = 0; i < MANY; i++) raw.add('view', raw.foreign(idOf(i)), 1, 1, 1)
    t.is(core.exports.memory.buffer.byteLength, full, 'ended records are used again')
    for (const claim of claims) if (ledger.end(claim) !== 'double-close') t.fail('a claim came back')
  })
}

test('a claim number never comes back, over a million uses of one slot', (t) => {
  const { ledger, raw } = books(1)
  const id = raw.foreign(9n)
  let last = 0
  const sampled: number[] = []
  for (let i = 0; i < 1_000_000; i++) {
    const claim = raw.add('lease', id, 1, 1, 1)
    if (claim <= last) return t.fail(`use ${i} gave ${claim} after ${last}`) // ascending, so none comes twice
    last = claim
    if (i % 9973 === 0) sampled.push(claim)
    if (ledger.end(claim) !== 'ok') return t.fail(`use ${i}`)
  }
  const slots = new Set(sampled.map((claim) => claim % 2 ** 24))
  t.is(slots.size, 1)
  for (const claim of sampled) t.is(ledger.end(claim), 'double-close')
})

// Half a billion uses take too long: the generation, a u32 at byte 40 of the slot's record, is put near its end.
test('a slot whose numbers are used up is never used again', (t) => {
  const { core, ledger, raw } = books()
  const id = raw.foreign(9n)
  ledger.end(raw.add('lease', id, 1, 1, 1))
  const slotAt = core.exports.ioAddress() + core.exports.ioSize()
  new DataView(core.u8.buffer).setUint32(slotAt + 40, 2 ** 29 - 2, true)
  const last = raw.add('lease', id, 1, 1, 1)
  t.is(last, (2 ** 29 - 1) * 2 ** 24)
  t.true(Number.isSafeInteger(last))
  t.is(ledger.end(last), 'ok')
  const next = raw.add('lease', id, 1, 1, 1)
  t.is(next % 2 ** 24, 1)
  t.is(ledger.end(last), 'double-close')
  t.is(ledger.count(), 1)
})

test('two ledgers with different seeds issue different ids and hold the same books', (t) => {
  const [a, b] = [books(0, SEED), books(0, SEED.map((v) => v ^ 0xff))]
  t.not(a.raw.nextId(), b.raw.nextId())
  const order = ({ ledger, raw }: ReturnType<typeof books>): string[] => {
    for (let i = 1n; i <= 5000n; i++) raw.add('mapping', raw.foreign(i * 1000n), 1, Number(i), 1)
    return ledger.records().map((r) => r.allocationId)
  }
  t.deepEqual(order(a), order(b))
  for (let i = 1n; i <= 5000n; i++) t.is(a.raw.token(a.raw.foreign(i * 1000n)), b.raw.token(b.raw.foreign(i * 1000n)))
})

// The chains' order shows the hash: it is the one thing of it that can be seen, in the memory itself.
test('the hash is keyed: chains differ by seed, with the same ids', (t) => {
  const image = (seed: Uint8Array): string => {
    const { core, raw } = books(0, seed)
    for (let i = 1n; i <= 64n; i++) raw.add('mapping', raw.foreign(i), 1, 1, 1)
    const end = core.exports.ioAddress() + core.exports.ioSize()
    return Buffer.from(core.u8.slice(end, end + 64 * core.exports.ledgerRecordSize())).toString('hex')
  }
  const other = SEED.slice()
  other[15]! ^= 1 // of the hash key; the ids' random part stays
  t.is(image(SEED), image(SEED))
  t.not(image(SEED), image(other))
})

test('a seed of zeros still issues ids that envelopes may have', (t) => {
  const { raw } = books(0, new Uint8Array(16))
  t.not(raw.nextId().slice(0, 16), '0'.repeat(16))
})
