/** Graphics hardware, its device files, and who may open them. */
import { check, plural, type Check } from './check.ts'
import { ending, type Probes } from './probe.ts'
import type { FileStatus, System } from './system.ts'

const PCI = '/sys/bus/pci/devices'
const DRI = '/dev/dri'
const VENDORS: Record<string, string> = { '0x8086': 'Intel', '0x10de': 'NVIDIA', '0x1002': 'AMD' }

interface Gpu {
  vendor: string
  device: string
  /** The kernel's driver that has it, '' for none. */
  driver: string
}

function gpus(system: System): Gpu[] | undefined {
  return system.list(PCI)?.flatMap((address): Gpu[] => {
    const value = (name: string): string => system.read(`${PCI}/${address}/${name}`)?.trim() ?? ''
    // Display controllers, and processing accelerators.
    if (!/^0x(03|12)/.test(value('class'))) return []
    const driver = system.link(`${PCI}/${address}/driver`)?.split('/').pop() ?? ''
    return [{ vendor: VENDORS[value('vendor')] ?? value('vendor'), device: value('device'), driver }]
  })
}

export function hasIntelGpu(system: System): boolean {
  return gpus(system)?.some(({ vendor }) => vendor === 'Intel') ?? false
}

export function checkGpu(system: System, probes: Probes): Check[] {
  return [hardware(system), deviceFiles(system), groups(system), cudaLibrary(system, probes)]
}

function hardware(system: System): Check {
  const found = gpus(system)
  if (found === undefined) return check('gpu-hardware', 'unknown', `${PCI} cannot be read`)
  const data = { gpus: found }
  if (found.length === 0) return check('gpu-hardware', 'absent', 'no GPU on the PCI bus', { data })
  const detail = found.map(({ vendor, device, driver }) => `${vendor} ${device} (${driver === '' ? 'no kernel driver' : driver})`).join(', ')
  const orphan = found.find(({ vendor, driver }) => driver === '' && Object.values(VENDORS).includes(vendor))
  if (orphan === undefined) return check('gpu-hardware', 'ok', detail, { data })
  const module = orphan.vendor === 'Intel' ? 'xe or i915' : orphan.vendor === 'NVIDIA' ? 'nvidia' : 'amdgpu'
  return check('gpu-hardware', 'failed', detail, {
    fix: `no kernel driver has taken the ${orphan.vendor} GPU: load ${module} (modprobe), or use a kernel that knows device ${orphan.device}; dmesg says why it was refused`,
    data,
  })
}

interface Node extends FileStatus {
  name: string
  usable: boolean
}

function renderNodes(system: System): Node[] | undefined {
  return system.list(DRI)?.filter((name) => /^(renderD|card)\d+$/.test(name)).flatMap((name) => {
    const path = `${DRI}/${name}`
    const status = system.status(path)
    return status === undefined ? [] : [{ name, ...status, usable: system.usable(path) }]
  })
}

function groupNames(system: System): Map<number, string> {
  const lines = (system.read('/etc/group') ?? '').split('\n').map((line) => line.split(':'))
  return new Map(lines.filter((fields) => fields.length >= 3).map(([name, , gid]) => [Number(gid), name!]))
}

function deviceFiles(system: System): Check {
  const nodes = renderNodes(system)
  const intel = hasIntelGpu(system)
  if (nodes === undefined || nodes.length === 0) {
    const detail = nodes === undefined ? `there is no ${DRI}` : `${DRI} is empty`
    if (system.status('/dev/dxg') !== undefined) return check('dri', 'ok', '/dev/dxg instead, as WSL has it', { data: { nodes: [] } })
    if (!intel) return check('dri', 'absent', detail, { data: { nodes: [] } })
    return check('dri', 'failed', `${detail}, although there is an Intel GPU`, {
      fix: 'in a container, pass it on: docker run --device /dev/dri; otherwise load the kernel driver (modprobe xe, or i915)', data: { nodes: [] },
    })
  }
  const names = groupNames(system)
  const owner = ({ uid, gid }: Node): string => `${uid === 0 ? 'root' : uid}:${names.get(gid) ?? gid}`
  const detail = nodes.map((n) => `${n.name} ${n.mode.toString(8).padStart(4, '0')} ${owner(n)}${n.usable ? '' : ', not for this user'}`).join('; ')
  const data = { nodes: nodes.map((n) => ({ name: n.name, mode: n.mode.toString(8).padStart(4, '0'), uid: n.uid, gid: n.gid, group: names.get(n.gid) ?? null, usable: n.usable })) }
  const render = nodes.filter(({ name }) => name.startsWith('renderD'))
  if (render.length === 0) return check('dri', 'warning', `${detail}: no render node`, { fix: 'compute needs /dev/dri/renderD128 or the like: pass the whole of /dev/dri into the container', data })
  const shut = render.find(({ usable }) => !usable)
  if (shut === undefined) return check('dri', 'ok', detail, { data })
  return check('dri', render.some(({ usable }) => usable) ? 'warning' : 'failed', detail, { fix: accessFix(names, shut), data })
}

function accessFix(names: Map<number, string>, node: Node): string {
  const group = names.get(node.gid)
  if ((node.mode & 0o060) !== 0o060) return `its group may not open it either: give it back its usual mode, chmod 660 ${DRI}/${node.name}`
  const container = `in a container: docker run --group-add ${node.gid}`
  if (group === undefined) return `join the group with the number ${node.gid} (it has no name here); ${container}`
  return `join the group ${group}: sudo usermod -aG ${group} "$USER", then log in again; ${container}`
}

function groups(system: System): Check {
  const names = groupNames(system)
  const wanted = ['render', 'video']
  const known = [...names].filter(([, name]) => wanted.includes(name))
  const member = known.filter(([gid]) => system.groups.includes(gid)).map(([, name]) => name)
  const data = { known: Object.fromEntries(known.map(([gid, name]) => [name, gid])), member }
  const shut = renderNodes(system)?.filter(({ name, usable }) => name.startsWith('renderD') && !usable) ?? []
  const are = known.length === 0 ? 'this system has neither' : `this system has ${known.map(([, name]) => name).join(' and ')}`
  const detail = `${are}; this process is ${member.length === 0 ? 'in none' : `in ${member.join(' and ')}`}`
  if (shut.length > 0) return check('gpu-groups', 'failed', detail, { fix: accessFix(names, shut[0]!), data })
  if (known.length === 0) return check('gpu-groups', 'absent', detail, { data })
  if (member.length > 0 || system.uid === 0) return check('gpu-groups', 'ok', system.uid === 0 ? `${detail} (root needs no group)` : detail, { data })
  return check('gpu-groups', renderNodes(system) === undefined ? 'absent' : 'ok', `${detail}, and needs none for what there is`, { data })
}

function cudaLibrary(system: System, { libraries }: Probes): Check {
  const answer = libraries.answers.cuda
  const nvidia = gpus(system)?.some(({ vendor }) => vendor === 'NVIDIA') ?? false
  const fix = "install NVIDIA's driver; in a container use its container toolkit: docker run --gpus all"
  if (answer === undefined) {
    if (libraries.step === '') return check('cuda-library', 'unknown', ending(libraries))
    return check('cuda-library', 'failed', ending(libraries), { fix })
  }
  if (answer.path === '') {
    const detail = 'no libcuda.so.1'
    return nvidia ? check('cuda-library', 'failed', `${detail}, although there is an NVIDIA GPU`, { fix }) : check('cuda-library', 'absent', detail)
  }
  const path = system.real(answer.path) ?? answer.path
  const version = /libcuda\.so\.(\d{3}[\d.]*)$/.exec(path)?.[1] ?? ''
  const data = { path, version }
  const detail = version === '' ? `found (${path})` : `found, driver ${version} (${path})`
  if (answer.missing.length > 0) return check('cuda-library', 'warning', `${detail}, without ${answer.missing.join(', ')}`, { fix: 'it is a stub or too old: install the driver itself', data })
  const devices = (system.list('/dev') ?? []).filter((name) => /^nvidia\d+$/.test(name))
  return check('cuda-library', 'ok', `${detail}, ${plural(devices.length, 'device file')}`, { data: { ...data, devices } })
}
