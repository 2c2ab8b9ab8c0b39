// SHA-256 and HMAC-SHA256 against published vectors, and against node:crypto for every length.
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import test from 'ava'
import { Core, VERDICTS, fromHex, toHex } from '../../host/core/index.ts'

const core = new Core()
const { exports } = core
const KEY = core.listAt
const MESSAGE = core.listAt + 4096
const OUT = core.scratchAt

function sha256(bytes: Uint8Array, at = MESSAGE): string {
  core.u8.set(bytes, at)
  if (exports.sha256(at, bytes.length, OUT) !== 0) throw new Error('sha256 was refused')
  return toHex(core.u8.slice(OUT, OUT + 32))
}

function hmac(key: Uint8Array, message: Uint8Array): string {
  core.u8.set(key, KEY)
  core.u8.set(message, MESSAGE)
  if (exports.hmacSha256(KEY, key.length, MESSAGE, message.length, OUT) !== 0) throw new Error('hmacSha256 was refused')
  return toHex(core.u8.slice(OUT, OUT + 32))
}

const data = (name: string): string => readFileSync(new URL(`../data/${name}`, import.meta.url), 'utf8')
const values = (text: string, name: string): string[] => [...text.matchAll(new RegExp(`^${name} = (\\w+)$`, 'gm'))].map(([, value]) => value!)

for (const [file, count] of [['SHA256ShortMsg.rsp', 65], ['SHA256LongMsg.rsp', 64]] as const) {
  test(`NIST CAVS: ${file}`, (t) => {
    const text = data(`sha256/${file}`)
    const [lengths, messages, digests] = [values(text, 'Len'), values(text, 'Msg'), values(text, 'MD')]
    t.is(lengths.length, count)
    t.deepEqual([messages.length, digests.length], [count, count])
    lengths.forEach((bits, i) => t.is(sha256(fromHex(messages[i]!)!.subarray(0, Number(bits) / 8)), digests[i]!, `${bits} bits`))
  })
}

test('NIST CAVS: SHA256Monte.rsp', (t) => {
  const text = data('sha256/SHA256Monte.rsp')
  const digests = values(text, 'MD')
  t.is(digests.length, 100)
  let seed = fromHex(values(text, 'Seed')[0]!)!
  for (const expected of digests) {
    // The three digests before a round are its message.
    const u8 = core.u8
    for (const i of [0, 1, 2]) u8.set(seed, MESSAGE + 32 * i)
    for (let i = 3; i < 1003; i++) {
      exports.sha256(MESSAGE, 96, OUT)
      u8.copyWithin(MESSAGE, MESSAGE + 32, MESSAGE + 96)
      u8.copyWithin(MESSAGE + 64, OUT, OUT + 32)
    }
    seed = u8.slice(OUT, OUT + 32)
    t.is(toHex(seed), expected)
  }
})

interface Vector {
  key: string
  message: string
  tag: string
}

test('RFC 4231: all seven cases', (t) => {
  const { cases } = JSON.parse(data('rfc4231.json')) as { cases: (Vector & { case: string })[] }
  t.is(cases.length, 7)
  for (const c of cases) t.is(hmac(fromHex(c.key)!, fromHex(c.message)!).slice(0, c.tag.length), c.tag, `case ${c.case}`)
})

test('Project Wycheproof: valid tags are right, modified ones are not', (t) => {
  const { cases } = JSON.parse(data('wycheproof_hmac_sha256.json')) as { cases: (Vector & { tcId: number; comment: string; valid: boolean })[] }
  t.is(cases.length, 174)
  t.true(cases.some((c) => c.valid) && cases.some((c) => !c.valid))
  for (const c of cases) {
    t.is(hmac(fromHex(c.key)!, fromHex(c.message)!).slice(0, c.tag.length) === c.tag, c.valid, `${c.tcId}: ${c.comment}`)
  }
})

test('generated vectors: valid tags are those of three implementations, changed ones are of none', (t) => {
  const { cases } = JSON.parse(data('hmac_sha256.json')) as { cases: (Vector & { what: string; valid: boolean })[] }
  t.true(cases.filter((c) => c.valid).length > 200 && cases.filter((c) => !c.valid).length > 150)
  for (const c of cases) {
    const [key, message] = [fromHex(c.key)!, fromHex(c.message)!]
    const tag = hmac(key, message)
    t.is(tag, createHmac('sha256', key).update(message).digest('hex'))
    t.is(tag === c.tag, c.valid, c.what)
  }
})

test('SHA-256 of every length from 0 to 300, at every alignment, is what node:crypto gives', (t) => {
  for (let length = 0; length <= 300; length++) {
    const bytes = randomBytes(length)
    t.is(sha256(bytes, MESSAGE + (length % 17)), createHash('sha256').update(bytes).digest('hex'), `${length} bytes`)
  }
})

test('HMAC-SHA256 of every message length from 0 to 300 and key length from 0 to 140 is what node:crypto gives', (t) => {
  let wrong = 0
  for (let length = 0; length <= 300; length++) {
    for (let i = 0; i <= 140; i += length % 10 === 0 ? 1 : 7) {
      const [key, message] = [randomBytes(i), randomBytes(length)]
      if (hmac(key, message) !== createHmac('sha256', key).update(message).digest('hex')) wrong++
    }
  }
  t.is(wrong, 0)
})

test('the largest span is hashed', (t) => {
  const io = exports.ioAddress()
  const size = exports.ioSize()
  const u8 = core.u8
  for (let i = 0; i < size; i++) u8[io + i] = (i * 2654435761) >>> 24
  const expected = createHash('sha256').update(u8.subarray(io, io + size)).digest('hex')
  t.is(exports.sha256(io, size, OUT), 0)
  t.is(toHex(u8.slice(OUT, OUT + 32)), expected)
})

test('an output over an input is written whole, over a key too', (t) => {
  const key = randomBytes(32)
  const message = randomBytes(100)
  const expected = createHmac('sha256', key).update(message).digest('hex')
  core.u8.set(key, KEY)
  core.u8.set(message, MESSAGE)
  t.is(exports.hmacSha256(KEY, 32, MESSAGE, 100, KEY), 0)
  t.is(toHex(core.u8.slice(KEY, KEY + 32)), expected)
  core.u8.set(key, KEY)
  t.is(exports.hmacSha256(KEY, 32, MESSAGE, 100, MESSAGE + 90), 0)
  t.is(toHex(core.u8.slice(MESSAGE + 90, MESSAGE + 122)), expected)
})

test('a key is wiped whatever the verdict', (t) => {
  const end = exports.ioAddress() + exports.ioSize()
  for (const [at, length, out] of [[MESSAGE, 100, OUT], [end - 10, 100, OUT], [MESSAGE, 100, end - 31]] as const) {
    core.u8.fill(0x77, KEY, KEY + 64)
    const code = exports.hmacSha256(KEY, 64, at, length, out)
    t.is(VERDICTS[code], at + length > end || out + 32 > end ? 'bad-span' : 'ok')
    t.true(core.u8.subarray(KEY, KEY + 64).every((b) => b === 0))
  }
})
