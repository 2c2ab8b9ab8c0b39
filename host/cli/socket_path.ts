/** Where a socket is when nobody says: in a folder that is this user's alone. */
import { lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { StateError } from '../errors.ts'
import { variable } from '../variables.ts'

/** Makes the folder where it is missing. */
export function defaultSocket(file: string): string {
  const runtime = variable('XDG_RUNTIME_DIR')
  const folder = runtime ? join(runtime, 'usm-ipc') : join(tmpdir(), `usm-ipc-${process.geteuid!()}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // Whoever may write to the folder could put a socket of theirs where others expect ours.
  const stat = lstatSync(folder)
  if (!stat.isDirectory() || stat.uid !== process.geteuid!() || (stat.mode & 0o077) !== 0) {
    throw new StateError('unsafe-folder', `${folder} is not a folder of this user's alone (mode 0700): remove it, or name a socket with --socket`)
  }
  return join(folder, `${basename(file)}.sock`)
}
