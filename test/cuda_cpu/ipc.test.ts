import { Program } from './programs.ts'

new Program('ipc').testAll()
