/** Where bytes are written: a file, or standard output. */
import { open, unlink } from 'node:fs/promises'

export interface Output {
  /** Resolves when the bytes have been taken. */
  write: (bytes: Uint8Array) => Promise<void>
  end: () => Promise<void>
  /** Ends it, and removes a file that is not whole. */
  discard: () => Promise<void>
}

/** @param path - `-` is standard output */
export async function openSink(path: string): Promise<Output> {
  if (path === '-') {
    const write = (bytes: Uint8Array): Promise<void> =>
      new Promise((resolve, reject) => process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())))
    return { write, end: async () => {}, discard: async () => {} }
  }
  const file = await open(path, 'w')
  return {
    write: async (bytes) => {
      for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten
    },
    end: () => file.close(),
    discard: async () => {
      const isFile = (await file.stat()).isFile()
      await file.close()
      if (isFile) await unlink(path)
    },
  }
}
