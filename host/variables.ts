/** An environment variable; undefined also where Deno may not read it. */
export function variable(name: string): string | undefined {
  try {
    return process.env[name]
  } catch {
    return undefined
  }
}
