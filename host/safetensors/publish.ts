/** A loaded file's tensors under their names. */
import { checkOptions } from '../options.ts'
import type { Exporter } from '../sharing/exporter.ts'
import { fileMetadata } from './file_metadata.ts'
import type { LoadedFile } from './load.ts'

export interface PublishTensorsOptions {
  /** What the published names begin with. */
  prefix?: string
  /** Milliseconds from now after which the names are no longer served. */
  ttl?: number
}

/**
 * Publishes every tensor that has data: one export, so one handle, one lease and one mapping for all of them. All are
 * published or, with an error, none. The first one's metadata has the file's own as `safetensors`, where that is not too long.
 *
 * @returns the names, in the order of the data
 */
export function publishTensors(exporter: Exporter, file: LoadedFile, options: PublishTensorsOptions = {}): string[] {
  checkOptions(options, ['prefix', 'ttl'], 'publishTensors')
  const { prefix = '', ttl } = options
  const names: string[] = []
  let metadata = fileMetadata(file)
  try {
    for (const { name, offset, nbytes, array } of file.tensors) {
      if (nbytes === 0) continue
      exporter.publish(prefix + name, file.memory, {
        offset, nbytes, array, ...(metadata === undefined ? {} : { metadata }), ...(ttl === undefined ? {} : { ttl }),
      })
      names.push(prefix + name)
      metadata = undefined
    }
  } catch (error) {
    // Nobody can have a lease yet: this function has not yet returned to the event loop.
    for (const name of names) void exporter.unpublish(name)
    throw error
  }
  return names
}
