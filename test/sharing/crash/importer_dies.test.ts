import type { Survivor } from './protocol.ts'
import { everyImporterStep, importerDies } from './importer_dies.ts'

const survivors: Survivor[] = ['alone', 'with a forked child']
importerDies('host', [
  ...everyImporterStep.flatMap((victim) => survivors.map((survivor) => ({ ...victim, survivor }))),
  { step: 'importer:welcomed', count: 1, survivor: 'with a child program' },
  { step: 'importer:mapped', count: 1, survivor: 'with a child program' },
])
