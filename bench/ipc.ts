/** SYCL and Level Zero on the software driver: our API against the bare runtime, each with an exporter and an importer of its own. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FdChannel } from '../host/index.ts'
import { paired, type Paired } from './support/paired.ts'
import { Party } from './support/party.ts'

const GETS = 5000
const OPENS = 5000
const FIRST = 48
const COPY = 256 * 2 ** 20

const root = fileURLToPath(new URL('..', import.meta.url))
const driver = `${root}build/Release/software-driver`

export interface IpcResult {
  /** `sycl v2`, `sycl v1`, `level_zero` */
  backend: string
  get: Paired
  cachedOpen: Paired
  cachedClose: Paired
  firstOpen: Paired
  /** Ours against memcpy: nanoseconds of 256 MiB. */
  copy: Paired
}

/** Undefined, with the reason said, where the parts are missing. */
export async function benchIpc(): Promise<IpcResult[] | undefined> {
  const sycl = execFileSync(process.execPath, [`${root}scripts/setup_sycl.mjs`, '--path'], { encoding: 'utf8' }).trim()
  if (!existsSync(driver) || !existsSync(`${sycl}/lib/libsycl.so.9`)) {
    console.error('bench: SYCL and Level Zero are left out: run `npm run setup:sycl && npm run build` first')
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-bench-'))
  try {
    const bareSycl = join(folder, 'sycl_ipc')
    const bareZero = join(folder, 'level_zero_ipc')
    const raw = (name: string): string => fileURLToPath(new URL(`raw/${name}`, import.meta.url))
    execFileSync('g++', ['-std=c++17', '-O2', '-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING', `-isystem${sycl}/include`, raw('sycl_ipc.cc'), '-o', bareSycl, `-L${sycl}/lib`, '-lsycl', `-Wl,-rpath,${sycl}/lib`])
    execFileSync('g++', ['-std=c++17', '-O2', `-I${root}native`, raw('level_zero_ipc.cc'), '-o', bareZero, '-ldl'])
    return [
      await bench('sycl v2', 'sycl', bareSycl, { SYCL_UR_USE_LEVEL_ZERO_V2: '1' }),
      await bench('sycl v1', 'sycl', bareSycl, { SYCL_UR_USE_LEVEL_ZERO_V2: '0' }),
      await bench('level_zero', 'level_zero', bareZero, {}),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function bench(backend: string, selector: string, program: string, variables: Record<string, string>): Promise<IpcResult> {
  // Both keep no more closed mappings than ours do, and pool nothing.
  const env = { ...process.env, ZEL_LIBRARY_PATH: driver, LD_LIBRARY_PATH: driver, UMF_MAX_OPENED_IPC_HANDLES: '64', UR_L0_DISABLE_USM_ALLOCATOR: '1', ...variables }
  const bare = { exporter: new Party(program, [], env), importer: new Party(program, [], env) }
  const [left, right] = FdChannel.pair()
  const script = fileURLToPath(new URL('ipc_party.ts', import.meta.url))
  const node = (end: FdChannel): Party =>
    new Party(process.execPath, [...process.execArgv, script, selector], { ...process.env, USM_IPC_SOFTWARE_DRIVER: '1', ...variables }, end)
  const ours = { exporter: node(left), importer: node(right) }
  try {
    const get = await paired('get and put', () => ours.exporter.ask(`get ${GETS}`), () => bare.exporter.ask(`get ${GETS}`))
    const cachedOpen = await paired('open what is open', async () => {
      await ours.exporter.say('make 1')
      return ours.importer.ask(`cached ${OPENS}`)
    }, async () => bare.importer.ask(`cached ${OPENS} ${await bare.exporter.say('make 1')}`))
    const cachedClose = await paired('close it', async () => {
      await ours.exporter.say('make 1')
      return (await ours.importer.numbers(`cached ${OPENS}`))[1]!
    }, async () => (await bare.importer.numbers(`cached ${OPENS} ${await bare.exporter.say('make 1')}`))[1]!)
    const firstOpen = await paired('first open', async () => {
      await ours.exporter.say(`make ${FIRST}`)
      return ours.importer.ask(`first ${FIRST}`)
    }, async () => bare.importer.ask(`first ${await bare.exporter.say(`make ${FIRST}`)}`))
    const copy = await paired('copy 256 MiB to the host, against memcpy', () => ours.importer.ask(`read ${COPY}`), () => bare.importer.ask(`memcpy ${COPY}`), 7)
    return { backend, get, cachedOpen, cachedClose, firstOpen, copy }
  } finally {
    for (const party of [bare.exporter, bare.importer, ours.exporter, ours.importer]) party.stop()
  }
}
