/** How far a long step is: a bar on a terminal, otherwise a line every few seconds. On stderr: stdout is for results. */
import { SingleBar } from 'cli-progress'
import { size } from './output.ts'

export interface Progress {
  update: (done: number, total: number) => void
  /** Leaves the terminal as it was. */
  end: () => void
}

const EVERY_MS = 3000
const NONE: Progress = { update: () => {}, end: () => {} }

/** @param isShown - false for scripts: nothing is written */
export function progress(what: string, isShown: boolean, stream: NodeJS.WriteStream = process.stderr, everyMs = EVERY_MS): Progress {
  if (!isShown) return NONE
  return stream.isTTY ? bar(what, stream) : lines(what, stream, everyMs)
}

function bar(what: string, stream: NodeJS.WriteStream): Progress {
  const single = new SingleBar({
    format: `${what} [{bar}] {percentage}% of {size}, {eta_formatted} left`,
    stream, clearOnComplete: true,
    // Leave cursor, line wrapping and signals alone: Ctrl-C while it loads ends the process at once.
    hideCursor: false, linewrap: true, gracefulExit: false,
  })
  return {
    update: (done, total) => {
      if (!single.isActive) single.start(total, done, { size: size(total) })
      single.update(done)
    },
    end: () => single.stop(),
  }
}

function lines(what: string, stream: NodeJS.WriteStream, everyMs: number): Progress {
  let last = performance.now()
  return {
    update: (done, total) => {
      const now = performance.now()
      if (now - last < everyMs) return
      last = now
      stream.write(`${what}: ${Math.floor((done / total) * 100)}% of ${size(total)}\n`)
    },
    end: () => {},
  }
}
