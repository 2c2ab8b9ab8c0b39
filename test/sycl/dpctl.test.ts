import { join } from 'node:path'
import { startParty } from './support/party.ts'
import { startProgram, type Program } from './support/program.ts'
import { ADAPTERS, ADDON_FOLDER, HANDLE_SIZE, LAYOUT, ROOT, SYCL, bareEnvironment, type Adapter } from './support/runtime.ts'
import { syclTest } from './support/sycl_test.ts'

const NBYTES = 8192
// AddressSanitizer looks for C++'s throw when the process starts, and Python loads no C++ before dpctl.
const preload = process.env.USM_IPC_SANITIZED ? { LD_PRELOAD: `${process.env.LD_PRELOAD} libstdc++.so.6` } : {}
const startPython = (adapter: Adapter): Program => startProgram(
  join(SYCL, 'bin/python3'), [join(ROOT, 'test/sycl/dpctl_party.py'), join(ADDON_FOLDER, 'libusm_ipc_sycl.so')],
  { ...bareEnvironment({ adapter }), ...preload },
)

for (const adapter of ADAPTERS) {
  syclTest(`${adapter}: memory that dpctl allocated, exported through our C interface from Python, opens in Node`, async (t) => {
    const python = startPython(adapter)
    const node = startParty({ adapter })
    t.is(await python.do('version -'), '0.22.1')
    t.is(await python.do('available -'), '1')
    await python.do(`allocate a ${NBYTES}`)
    await python.do('fill a 11')
    const handle = await python.do('get a')
    t.is(handle.length, 2 * HANDLE_SIZE[adapter])

    await node.do({ do: 'openVendor', name: 'a', bytes: handle, nbytes: NBYTES, layout: LAYOUT[adapter], allowPidfd: true })
    t.is((await node.do({ do: 'read', name: 'a', nbytes: 4, offset: NBYTES - 4 })).bytes, '0b0b0b0b')
    await node.do({ do: 'fill', name: 'a', value: 12 })
    t.is(await python.do('read a'), '0c'.repeat(NBYTES))
    await python.do('put a')

    const exit = await node.end()
    t.deepEqual([exit.code, exit.stdout], [0, ''], exit.stderr)
    t.is((await python.end()).code, 0)
  })

  syclTest(`${adapter}: memory that Node exports opens in Python, and dpctl uses it`, async (t) => {
    const node = startParty({ adapter })
    const python = startPython(adapter)
    await node.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 21 })
    const { vendor } = await node.do({ do: 'export', name: 'a' })

    t.is(await python.do(`open a ${vendor} ${NBYTES}`), 'device')
    t.is(await python.do('read a'), '15'.repeat(NBYTES))
    await python.do('fill a 22')
    t.is((await node.do({ do: 'read', name: 'a', nbytes: 4 })).bytes, '16161616')
    await python.do('close a')

    t.is((await python.end()).code, 0)
    const exit = await node.end()
    t.deepEqual([exit.code, exit.stdout], [0, ''], exit.stderr)
  })
}
