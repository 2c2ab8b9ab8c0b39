/** Prints the files that reference.py judges: those that break a rule, and generated ones. */
import fc from 'fast-check'
import { SAFETENSORS_DTYPES } from '../../host/safetensors/dtypes.ts'
import { fileOf, headerOf } from './make.ts'
import { malformed } from './malformed.ts'

const files = malformed.map(([, , file]) => file)
const tensors = fc.array(fc.record({ dtype: fc.constantFrom(...SAFETENSORS_DTYPES), shape: fc.array(fc.nat({ max: 4 }), { maxLength: 3 }) }), { maxLength: 4 })
for (const all of fc.sample(tensors, { numRuns: 60, seed: 5 })) {
  const { text, nbytes } = headerOf(all.map((x, i) => ({ name: `t${i}`, ...x })))
  if (Number.isInteger(nbytes)) files.push(fileOf(text, nbytes))
}
for (const file of files) console.log(Buffer.from(file).toString('base64'))
