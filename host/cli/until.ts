/** Waiting for whoever runs a command to end it. */

/** Resolves at SIGINT, SIGTERM or SIGHUP; a second one ends the process as if nobody waited. Keeps the process alive. */
export function untilSignal(): { signal: Promise<NodeJS.Signals>; cancel: () => void } {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const alive = setInterval(() => {}, 2 ** 30)
  let cancel = (): void => {}
  const signal = new Promise<NodeJS.Signals>((resolve) => {
    const stop = (name: NodeJS.Signals): void => {
      cancel()
      resolve(name)
    }
    cancel = () => {
      clearInterval(alive)
      for (const name of names) process.off(name, stop)
    }
    for (const name of names) process.on(name, stop)
  })
  return { signal, cancel }
}
