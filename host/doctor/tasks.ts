/** What runs in the doctor's child processes. */
import { addon } from '../addon.ts'
import { toUuid } from '../core/bytes.ts'
import { selectDevice } from '../device.ts'
import { checked } from '../errors.ts'
import { teller, type Teller } from './child.ts'
import { probe } from './native.ts'
import type { BackendAnswers, KernelAnswers, LevelZeroAnswers, LibraryAnswers } from './probe.ts'
import { exportToChild, importOnce } from './round_trip.ts'
import { SYCL_SYMBOLS } from './sycl.ts'

export const CUDA_SYMBOLS = ['cuInit', 'cuIpcGetMemHandle', 'cuIpcOpenMemHandle_v2', 'cuMemExportToShareableHandle']
const LOADER_SYMBOLS = ['zeInit', 'zeInitDrivers', 'zeMemGetIpcHandle', 'zeMemPutIpcHandle', 'zelLoaderGetVersions']

type Task = (tell: Teller<never>, args: readonly string[]) => void | Promise<void>

const TASKS: Record<string, Task> = {
  'kernel': kernel as Task,
  'libraries': libraries as Task,
  'level-zero': levelZero as Task,
  'backend': backend as Task,
}

/** The hidden command: `doctor-task <name> <seconds> ...`. */
export async function runDoctorTask(name: string, seconds: string, args: readonly string[]): Promise<void> {
  if (name === 'import') {
    probe.deadline(Number(seconds))
    return importOnce()
  }
  const { error, done, ...tell } = teller()
  try {
    const task = TASKS[name]
    if (task === undefined) throw new Error(`there is no task ${name}`)
    probe.deadline(Number(seconds))
    await task(tell as Teller<never>, args)
    done()
  } catch (caught) {
    const { message, code } = caught as { message?: string; code?: string }
    error(`${message ?? String(caught)}${code === undefined ? '' : ` [${code}]`}`)
  }
}

function kernel({ step, answer }: Teller<KernelAnswers>): void {
  answer('build', addon().build)
  answer('glibc', probe.glibc())
  step('memfd_create')
  answer('memfd', probe.memfd())
  step('socketpair')
  answer('sockets', probe.sockets())
  step('pidfd_getfd')
  answer('pidfd', probe.pidfd())
}

function libraries({ step, answer }: Teller<LibraryAnswers>, [sycl = '']: readonly string[]): void {
  step('loading libsycl')
  answer('sycl', probe.library(sycl, SYCL_SYMBOLS))
  step('loading libcuda')
  answer('cuda', probe.library('libcuda.so.1', CUDA_SYMBOLS))
}

function levelZero({ step, answer }: Teller<LevelZeroAnswers>, [path = '']: readonly string[]): void {
  step('loading the loader')
  const loader = probe.library(path, LOADER_SYMBOLS)
  answer('loader', loader)
  if (loader.path === '') return
  step(loader.missing.includes('zeInitDrivers') ? 'zeInit' : 'zeInitDrivers')
  const init = probe.levelZeroInit(path)
  answer('init', init)
  step('zelLoaderGetVersions')
  answer('versions', probe.levelZeroVersions(path))
  if (init.result !== '') return
  step('asking the drivers')
  answer('drivers', probe.levelZeroDrivers(path))
}

async function backend({ step, answer }: Teller<BackendAnswers>, [name = '', seconds = '']: readonly string[]): Promise<void> {
  const native = addon()
  step('loading the backend')
  const index = native.backends().indexOf(name)
  const unavailable = index < 0 ? null : checked(() => native.unavailable(index).reason)
  answer('unavailable', unavailable)
  if (unavailable !== '') return
  step('listing its devices')
  const devices = checked(() => native.devices(index))
  answer('devices', devices.map((d, i) => ({ ...d, uuid: toUuid(d.uuid), selector: `${name}:${i}` })))
  answer('roundTrip', await exportToChild(selectDevice(`${name}:0`), Number(seconds), step))
  // The runtime's own end can crash or print, too.
  step('the end of the process')
}
