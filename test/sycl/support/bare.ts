/** The bare C++ program: what SYCL's runtime does when nobody stands before it. */
import { compileBare } from './compile.ts'
import { startProgram, type Program } from './program.ts'
import { bareEnvironment, type Choice } from './runtime.ts'

export function startBare(choice: Choice, env: Record<string, string> = {}, pidNamespace = false): Program {
  const [program, ...args] = [...(pidNamespace ? ['unshare', '--pid', '--fork', '--kill-child'] : []), compileBare('bare.cc')]
  return startProgram(program!, args, { ...bareEnvironment(choice), ...env })
}
