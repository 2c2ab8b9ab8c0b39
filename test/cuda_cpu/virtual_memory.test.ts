import { Program } from './programs.ts'

new Program('virtual_memory').testAll()
