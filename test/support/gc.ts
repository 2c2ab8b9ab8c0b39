/** Forced garbage collection, in every runtime. */

type Collect = () => void

let collect: Collect | undefined

async function find(): Promise<Collect> {
  const global = globalThis as { gc?: Collect; Bun?: { gc(force: boolean): void } }
  if (global.Bun !== undefined) return () => global.Bun!.gc(true)
  if (typeof global.gc === 'function') return global.gc
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as Collect
}

/** Collects until `done` holds, a bounded number of rounds. Returns whether it held. */
export async function collectUntil(done: () => boolean, rounds = 200): Promise<boolean> {
  collect ??= await find()
  for (let i = 0; i < rounds; i++) {
    if (done()) return true
    collect()
    // Finalizers run in tasks of their own; the stack of this one must be gone.
    await new Promise((resolve) => setTimeout(resolve, i < 10 ? 0 : 5))
  }
  return done()
}
