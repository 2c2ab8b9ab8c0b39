/** The steps where most can be left behind, for the backends that have a driver under them. */
import { exporterDies } from './exporter_dies.ts'
import { importerDies } from './importer_dies.ts'

export function keySteps(selector: string, kept: number): void {
  exporterDies(selector, [
    { step: 'exporter:published', count: 2, survivor: 'alone' },
    { step: 'exporter:leased', count: 2, survivor: 'with a forked child' },
    { step: 'exporter:opened', count: 2, survivor: 'alone' },
    { step: 'exporter:withdrawn', count: 1, survivor: 'with a forked child' },
    { step: 'exporter:closing', count: 1, survivor: 'with a child program' },
  ], kept)
  importerDies(selector, [
    { step: 'importer:open', count: 2, survivor: 'with a child program' },
    { step: 'importer:opened', count: 2, survivor: 'with a forked child' },
    { step: 'importer:mapped', count: 1, survivor: 'alone' },
    { step: 'importer:mapped', count: 2, survivor: 'with a forked child' },
    { step: 'importer:closing', count: 1, survivor: 'alone' },
    { step: 'importer:withdrawn', count: 1, survivor: 'with a forked child' },
  ], kept)
}
