/** party.ts in a pid namespace of its own. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const party = fileURLToPath(new URL('party.ts', import.meta.url))
// Whoever kills this process kills that one.
const command = ['--pdeathsig', 'KILL', 'unshare', '--pid', '--fork', '--kill-child', process.execPath, '--import=tsx', party]
const { status } = spawnSync('setpriv', command, { stdio: ['ignore', 'inherit', 'inherit', 3] })
process.exitCode = status ?? 1
