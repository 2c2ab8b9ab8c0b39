/** A mapping in another process, driven from this one. */
import type { Elsewhere } from '../contract/types.ts'
import type { IPCMemoryHandle } from '../../host/index.ts'
import { decode, encode, hear, say, startChild } from './child.ts'

export type Request =
  | { do: 'open'; selector: string; bytes: string; nbytes?: number }
  | { do: 'read'; offset: number; nbytes: number }
  | { do: 'write'; offset: number; bytes: string }
  | { do: 'try'; bytes: string }
  | { do: 'end' }

export interface Answer {
  error?: string
  nbytes?: number
  readOnly?: boolean
  bytes?: string
  code?: string
  live?: number
  resources?: number
}

export async function openElsewhere(selector: string, handle: IPCMemoryHandle, nbytes?: number): Promise<Elsewhere> {
  const child = startChild(new URL('importer_child.ts', import.meta.url))
  const ask = async (request: Request, descriptors?: IPCMemoryHandle): Promise<Answer> => {
    let answer: Answer
    try {
      await say(child.channel, request, descriptors)
      answer = await hear<Answer>(child.channel)
    } catch (error) {
      const { stderr } = await child.kill()
      throw new Error(`the importer is gone: ${stderr}`, { cause: error })
    }
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }
  const opened = await ask({ do: 'open', selector, bytes: encode(handle.toBytes()), ...(nbytes === undefined ? {} : { nbytes }) }, handle)
  return {
    nbytes: opened.nbytes!,
    readOnly: opened.readOnly!,
    read: async (offset, length) => decode((await ask({ do: 'read', offset, nbytes: length })).bytes!),
    write: async (offset, bytes) => void (await ask({ do: 'write', offset, bytes: encode(bytes) })),
    tryOpen: async (bytes, options = {}) => (await ask({ do: 'try', bytes: encode(bytes) }, options.withDescriptor)).code!,
    async end() {
      const { live, resources } = await ask({ do: 'end' })
      await child.exited
      child.channel.close()
      return { live: live!, resources: resources! }
    },
  }
}
