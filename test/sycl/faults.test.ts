/** Each call of the driver failed in turn: what comes of it with the bare runtime, and with this package. docs/faults-sycl.md is the table. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAULT_NBYTES, GRADES, OPENED_VALUE, type Outcome } from './support/fault_steps.ts'
import { driverCalls, runBare, runOurs, type Fault } from './support/faults.ts'
import { ADAPTERS, ROOT, type Adapter } from './support/runtime.ts'
import { startBare } from './support/bare.ts'
import { syclTest } from './support/sycl_test.ts'

const PAGE = join(ROOT, 'docs/faults-sycl.md')
/** Set to write the page's tables anew. */
const update = process.env.USM_IPC_UPDATE_DOCS === '1'
const AT_ONCE = 2

/** We ask more than the bare program does, and wait for the queue where it waits for an event: these failed calls are ours alone. */
const OURS_ALONE = ['zeMemGetAddressRange', 'zeMemGetAllocProperties', 'zeCommandListHostSynchronize']

/** The first call of each function, and every one. */
function faultsOf(calls: Map<string, number>): Fault[] {
  return [...calls.keys()].sort().flatMap((name) => (calls.get(name) === 1 ? ['*'] : ['1', '*']).map((call) => ({ name, call })))
}

const cell = ({ text, fatal }: Outcome): string => `${text}${fatal ? ', `[FATAL UMF]` on stderr' : ''}`
const which = { '1': 'first', '*': 'every' }

/** Rows of one function that say the same are one. */
function rows(results: { fault: Fault; bare: Outcome; ours: Outcome }[]): string {
  const lines = new Map<string, { name: string; calls: string[]; rest: string }>()
  for (const { fault, bare, ours } of results) {
    const rest = `${cell(bare)} | ${cell(ours)}`
    const line = lines.get(`${fault.name} ${rest}`) ?? { name: fault.name, calls: [], rest }
    line.calls.push(which[fault.call as '1' | '*'])
    lines.set(`${fault.name} ${rest}`, line)
  }
  const body = [...lines.values()].map(({ name, calls, rest }) => `| \`${name}\` | ${calls.join(', ')} | ${rest} |`)
  return ['| driver call | which | the bare program | `usm-ipc` |', '|---|---|---|---|', ...body].join('\n')
}

const markers = (adapter: Adapter): [string, string] => [`<!-- ${adapter}: written by the test -->\n\n`, `\n\n<!-- end of ${adapter} -->`]

for (const adapter of ADAPTERS) {
  syclTest(`${adapter}: whatever call of the driver fails, ours is no worse than the bare runtime, and its JSON reaches stdout whole`, async (t) => {
    t.timeout(600_000)
    const exporter = startBare({ adapter })
    await exporter.do(`allocate b ${FAULT_NBYTES}`)
    await exporter.do(`fill b ${OPENED_VALUE} ${FAULT_NBYTES}`)
    const handle = await exporter.do('get b')

    const faults = faultsOf(await driverCalls(adapter, handle))
    t.true(faults.length > 40)
    const results: { fault: Fault; bare: Outcome; ours: Outcome }[] = []
    const next = faults.entries()
    const worker = async (): Promise<void> => {
      for (const [index, fault] of next) {
        const bare = await runBare(adapter, handle, fault)
        const ours = await runOurs(adapter, handle, fault)
        results[index] = { fault, bare, ours }
        const what = `${fault.name} (${fault.call}): bare ${bare.text}; ours ${ours.text}`
        t.is(ours.stdout, '', what)
        t.is(ours.code, 0, what)
        t.not(ours.grade, 'silent', what)
        if (GRADES.indexOf(ours.grade) > GRADES.indexOf(bare.grade)) {
          t.is(ours.grade, 'error', what)
          t.true(OURS_ALONE.includes(fault.name), what)
        }
        if (ours.grade === 'error') {
          t.is(ours.report!.error!.name, 'DriverError', what)
          t.regex(ours.report!.error!.message!, /(sycl::|zeMem)\S* failed: |finds no (Level Zero device|device of the software driver)/, what)
        }
        // A driver's failed open is remembered by the runtime, whoever asked for it.
        t.true(!ours.fatal || bare.fatal, what)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    await exporter.kill()

    const page = readFileSync(PAGE, 'utf8')
    const [begin, end] = markers(adapter)
    const [from, to] = [page.indexOf(begin) + begin.length, page.indexOf(end)]
    if (update) writeFileSync(PAGE, page.slice(0, from) + rows(results) + page.slice(to))
    else t.is(page.slice(from, to), rows(results), 'docs/faults-sycl.md is not what was found: USM_IPC_UPDATE_DOCS=1 writes it anew')
  })
}
