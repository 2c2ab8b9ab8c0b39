import { createRequire } from 'node:module'
import { InvalidArgumentError, type Command } from 'commander'
import { TASK_COMMAND } from '../doctor/child.ts'
import { examine } from '../doctor/report.ts'
import { thisSystem } from '../doctor/system.ts'
import { runDoctorTask } from '../doctor/tasks.ts'
import { printReport } from './doctor_text.ts'
import { printJson } from './output.ts'
import { isSoftwareAsked } from './software.ts'

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

interface Options {
  software?: boolean
  json?: boolean
  timeout: number
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Find out what works on this machine, what does not, and what would mend it.')
    .option('--software', 'with the software Level Zero driver in place of a GPU\'s')
    .option('--timeout <seconds>', 'how long one probe may take', seconds, 40)
    .option('--json', 'print the whole report as JSON, to send it to somebody')
    .addHelpText('after', `
What could crash is tried in child processes. The report has no secrets, no user names, and values of those environment
variables alone that cannot hold any. Every finding is explained in docs/doctor.md.

Exit code: 0 memory can be shared through at least one backend, 1 through none, 2 wrong usage.`)
    .action(async ({ software = false, json, timeout }: Options) => {
      const report = await examine(thisSystem(), { version, software: software || isSoftwareAsked(), seconds: timeout })
      if (json) printJson(report)
      else printReport(report)
      process.exitCode = report.ok ? 0 : 1
    })
  program
    .command(TASK_COMMAND, { hidden: true })
    .argument('<name>')
    .argument('<seconds>')
    .argument('[arguments...]')
    .action(runDoctorTask)
}

function seconds(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('Use 1 to 999.')
  return Number(text)
}
