import { Program } from './programs.ts'

new Program('streams').testAll()
