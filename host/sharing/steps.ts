/** The steps of the protocol by name, so that tests can stop or kill a process at each of them. */

/** @internal What the exporter's process does, in this order for one importer. */
export const EXPORTER_STEPS = [
  'exporter:listening', 'exporter:published', 'exporter:accepted', 'exporter:hello', 'exporter:authorized', 'exporter:welcomed',
  'exporter:list', 'exporter:listed', 'exporter:open', 'exporter:leased', 'exporter:opened', 'exporter:release', 'exporter:released',
  'exporter:withdraw', 'exporter:withdrawn', 'exporter:unpublished', 'exporter:closing', 'exporter:closed',
] as const

/** @internal What an importer's process does. */
export const IMPORTER_STEPS = [
  'importer:connected', 'importer:hello', 'importer:welcomed', 'importer:list', 'importer:listed', 'importer:open', 'importer:opened',
  'importer:mapped', 'importer:closing', 'importer:released', 'importer:withdrawn', 'importer:disconnected',
] as const

/** @internal */
export type Step = (typeof EXPORTER_STEPS)[number] | (typeof IMPORTER_STEPS)[number]

/** @internal */
export const steps: { at: ((step: Step) => void) | undefined } = { at: undefined }

/** @internal */
export function step(name: Step): void {
  if (steps.at !== undefined) steps.at(name)
}
