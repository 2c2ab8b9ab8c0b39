import test from 'ava'
import fc from 'fast-check'
import { checkOptions } from '../host/options.ts'

const known = ['signal', 'timeoutMs']

test('known names, and no options at all, pass', (t) => {
  t.notThrows(() => checkOptions(undefined, known, 'f'))
  t.notThrows(() => checkOptions({}, known, 'f'))
  t.notThrows(() => checkOptions({ timeoutMs: undefined, signal: 1 }, known, 'f'))
})

test('the message names the function, the option and the choice', (t) => {
  t.throws(() => checkOptions({ timeout: 1 }, known, 'FdChannel.send'), {
    instanceOf: TypeError,
    code: 'ERR_USM_IPC_UNKNOWN_OPTION',
    message: 'FdChannel.send has no option "timeout"; it has signal, timeoutMs',
  })
  t.throws(() => checkOptions(null as never, known, 'f'), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_OPTIONS' })
  t.throws(() => checkOptions(5 as never, known, 'f'), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_OPTIONS' })
})

test('every other name is refused', (t) => {
  fc.assert(
    fc.property(fc.string(), (name) => {
      const options = Object.defineProperty({}, name, { value: 1, enumerable: true })
      if (known.includes(name)) t.notThrows(() => checkOptions(options, known, 'f'))
      else t.throws(() => checkOptions(options, known, 'f'), { code: 'ERR_USM_IPC_UNKNOWN_OPTION' })
    }),
  )
})
