import test from 'ava'
import { Program } from './programs.ts'

const program = new Program('stress')

for (const name of program.cases) test(`threads: ${name.replaceAll('_', ' ')}`, (t) => program.passes(t, name).then(() => undefined))
