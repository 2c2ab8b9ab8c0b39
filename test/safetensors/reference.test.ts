// What the format's reference implementation says of the same files, recorded by reference.py.
import { readFileSync } from 'node:fs'
import test from 'ava'
import { FormatError } from '../../host/errors.ts'
import { numbersOf } from '../../host/safetensors/dtypes.ts'
import { headerLength, parseHeader, type SafetensorsHeader } from '../../host/safetensors/header.ts'
import { malformed } from './malformed.ts'

interface Recorded {
  source: string
  files: { file: string; reference: string }[]
  written: { file: string; tensors: Record<string, { dtype: string; shape: number[]; data: string }> }[]
}

const recorded = JSON.parse(readFileSync(new URL('../data/safetensors.json', import.meta.url), 'utf8')) as Recorded
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'))

function read(file: Uint8Array): SafetensorsHeader {
  const length = headerLength(file.subarray(0, 8), file.length)
  return parseHeader(file.subarray(8, 8 + length), file.length)
}

/** Where this reader is stricter, and why. */
const STRICTER: Record<string, string> = {
  'header-not-an-object: a space first': 'the document says that the header begins with {',
  'duplicate-key: a metadata key twice': 'the document disallows duplicate keys',
  'duplicate-key: a tensor twice': 'the same',
  'duplicate-key: a tensor twice, once escaped': 'the same',
  'bad-metadata: null': 'the document says that it is a map',
  'bad-tensor: a field too many': 'the document has three fields',
  'bad-tensor-name: empty': 'it could not be published',
  'bad-tensor-name: a control character': 'the same',
  'bad-tensor-name: 256 bytes': 'the same',
  'bad-shape: 33 dimensions': 'more than an envelope describes',
}

test('every file that the reference refuses is refused, and every one that it takes is taken, but for what is listed', (t) => {
  const names = new Map(malformed.map(([code, what, file]) => [Buffer.from(file).toString('base64'), `${code}: ${what}`]))
  const stricter = new Set<string>()
  let taken = 0
  for (const { file, reference } of recorded.files) {
    const name = names.get(file)
    let ours = 'ok'
    try {
      read(bytesOf(file))
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      ours = error.code
    }
    if (ours === 'ok') taken++
    if ((ours === 'ok') === (reference === 'ok')) continue
    t.is(reference, 'ok', `${name}: the reference says ${reference}`)
    stricter.add(name ?? file)
  }
  t.deepEqual([...stricter].sort(), Object.keys(STRICTER).sort())
  t.true(taken >= 20)
  t.is(recorded.files.filter(({ file }) => names.has(file)).length, new Set(names.keys()).size, 'recorded files are those of malformed.ts: run reference.py again')
})

test('what the reference writes is read as it reads it', (t) => {
  t.true(recorded.written.length >= 60)
  for (const { file, tensors } of recorded.written) {
    const bytes = bytesOf(file)
    const header = read(bytes)
    t.deepEqual({ ...header.metadata }, { format: 'np' })
    t.deepEqual(header.tensors.map((x) => x.name).sort(), Object.keys(tensors).sort())
    for (const { name, offset, nbytes, array } of header.tensors) {
      const { dtype, shape, data } = tensors[name]!
      t.deepEqual(array, { ...numbersOf(dtype)!, shape })
      t.deepEqual(bytes.slice(header.dataOffset + offset, header.dataOffset + offset + nbytes), bytesOf(data))
    }
  }
})
