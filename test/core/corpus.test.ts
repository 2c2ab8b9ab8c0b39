import { readFile } from 'node:fs/promises'
import test from 'ava'
import { LAYOUTS, fromHex, inspect, type LayoutName } from '../../host/core/index.ts'

interface Entry {
  name: string
  layout: LayoutName
  hex: string
  truth: Record<string, number | string>
}

const entries = JSON.parse(await readFile(new URL('../data/handles.json', import.meta.url), 'utf8')) as Entry[]

const UMF: Record<string, string[]> = {
  handleId: ['umf_handle_id'], base: ['umf_base'], pid: ['umf_pid', 'umf_inner_pid'], baseSize: ['umf_base_size', 'umf_inner_size'],
  offset: ['umf_offset'], fd: ['ze_fd', 'cuda_vmm_fd'],
}
const CUDA: Record<string, string[]> = {
  version: ['torch_version'], type: ['torch_type'], observedPid: ['cuda_observed_pid'], observedSize: ['cuda_observed_size'],
  physicalSize: ['cuda_vmm_size'],
}

for (const { name, layout, hex, truth } of entries) {
  test(`${name}: every byte described, every known truth found`, (t) => {
    const bytes = fromHex(hex)!
    const { verdict, fields, unchecked } = inspect(bytes, { layout })
    t.is(verdict, 'ok')
    t.true(unchecked.length > 0)
    let at = 0
    for (const field of fields) {
      t.is(field.offset, at)
      at += field.length
    }
    t.is(at, bytes.length)
    for (const [key, value] of Object.entries(truth)) {
      const names = ({ ...UMF, ...CUDA })[key]
      t.truthy(names, `no field is known for '${key}'`)
      const found = fields.filter((f) => names!.includes(f.name))
      t.true(found.length > 0, key)
      for (const field of found) t.is(field.value, value, field.name)
    }
  })

  test(`${name}: only layouts of its length can take it`, (t) => {
    const bytes = fromHex(hex)!
    const accepted = (Object.keys(LAYOUTS) as LayoutName[]).filter((other) => inspect(bytes, { layout: other }).verdict === 'ok')
    t.true(accepted.includes(layout))
    const lengths = accepted.map((other) => inspect(bytes, { layout: other }).fields.reduce((sum, f) => sum + f.length, 0))
    t.deepEqual(new Set(lengths), new Set([bytes.length]))
  })

  test(`${name}: one byte less or more is refused`, (t) => {
    const bytes = fromHex(hex)!
    t.is(inspect(bytes.subarray(1), { layout }).verdict, 'bad-handle-length')
    t.is(inspect(new Uint8Array([...bytes, 0]), { layout }).verdict, 'bad-handle-length')
  })
}
