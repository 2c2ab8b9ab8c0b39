import test from 'ava'
import { Program } from './programs.ts'

for (const name of ['commands', 'virtual_memory']) {
  const program = new Program(name)
  for (const one of program.cases) test(`${name}: ${one.replaceAll('_', ' ')}`, (t) => program.passes(t, one).then(() => undefined))
}
