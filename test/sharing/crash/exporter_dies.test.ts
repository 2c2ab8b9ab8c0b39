import type { Survivor } from './protocol.ts'
import { everyExporterStep, exporterDies } from './exporter_dies.ts'

const survivors: Survivor[] = ['alone', 'with a forked child']
exporterDies('host', [
  ...everyExporterStep.flatMap((victim) => survivors.map((survivor) => ({ ...victim, survivor }))),
  { step: 'exporter:listening', count: 1, survivor: 'with a child program' },
  { step: 'exporter:opened', count: 2, survivor: 'with a child program' },
])
