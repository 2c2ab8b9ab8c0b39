/** The doctor's report for people. */
import { styleText } from 'node:util'
import type { Check, Status } from '../doctor/check.ts'
import type { Report } from '../doctor/report.ts'
import { bold, dim } from './output.ts'

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red', unknown: 'yellow', absent: 'gray' } as const satisfies Record<Status, string>
const STATUS_WIDTH = 9

/** How it is to be laid out: of the terminal, or endless for a pipe. */
interface Layout {
  width: number
  colour: boolean
}

export function printReport(report: Report): void {
  const { stdout } = process
  console.log(reportText(report, { width: stdout.isTTY ? Math.max(60, stdout.columns) : Infinity, colour: stdout.isTTY === true && !process.env['NO_COLOR'] }))
}

export function reportText(report: Report, layout: Layout): string {
  const groups = [...new Set(report.checks.map((c) => c.group))]
  const titles = Math.max(...report.checks.map((c) => c.title.length))
  const parts = groups.map((group) => [bold(heading(group)), ...report.checks.filter((c) => c.group === group).map((c) => line(c, titles, layout))].join('\n'))
  return [...parts, summary(report, layout)].join('\n\n')
}

const heading = (group: string): string => group[0]!.toUpperCase() + group.slice(1)

function paint(status: Status, text: string, { colour }: Layout): string {
  return colour ? styleText(COLOURS[status], text, { validateStream: false }) : text
}

function line({ status, title, detail, fix }: Check, titles: number, layout: Layout): string {
  const indent = 2 + STATUS_WIDTH + titles + 2
  const first = `  ${paint(status, status.padEnd(STATUS_WIDTH), layout)}${title.padEnd(titles + 2)}`
  const text = wrapped(printable(detail), indent, layout)
  const shown = first + (status === 'absent' ? text.split('\n').map(dim).join('\n') : text)
  return fix === undefined ? shown : `${shown}\n${' '.repeat(2 + STATUS_WIDTH)}${wrapped(`fix: ${printable(fix)}`, 2 + STATUS_WIDTH + 5, layout)}`
}

// Names and messages of drivers must not reach the terminal as they are.
const printable = (text: string): string => text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '?')

function wrapped(text: string, indent: number, { width }: Layout): string {
  const room = Math.max(30, width - indent)
  const lines: string[] = []
  let current = ''
  for (const word of text.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > room) {
      lines.push(current)
      current = word
    } else {
      current += (current === '' ? '' : ' ') + word
    }
  }
  return [...lines, current].join(`\n${' '.repeat(indent)}`)
}

function summary({ ok, sharing, summary }: Report, layout: Layout): string {
  const counts = (['failed', 'warning', 'unknown'] as const).filter((status) => summary[status] > 0).map((status) => `${summary[status]} ${status}`)
  const rest = counts.length === 0 ? 'nothing to mend' : counts.join(', ')
  const text = ok ? `memory can be shared through: ${sharing.join(', ')}; ${rest}` : `memory can be shared through no backend; ${rest}`
  return bold(paint(ok ? 'ok' : 'failed', text, layout))
}
