import test from 'ava'
import { fstatSync, openSync, readdirSync } from 'node:fs'
import { Descriptor, claimOf } from '../host/descriptor.ts'

const openDescriptors = (): number => readdirSync('/proc/self/fd').length

test.serial('adopt owns the number, duplicate a number of its own; each closes once', (t) => {
  const before = openDescriptors()
  const fd = openSync('/dev/null', 'r')
  const duplicate = Descriptor.duplicate(fd)
  t.not(duplicate.number, fd)
  const adopted = Descriptor.adopt(fd)
  t.is(adopted.number, fd)
  t.is(openDescriptors(), before + 2)
  adopted.close()
  const other = openSync('/dev/null', 'r')
  t.is(other, fd, 'the number is free')
  adopted.close()
  t.notThrows(() => fstatSync(other), 'and a second close does not close what has it now')
  using owner = Descriptor.adopt(other)
  t.false(owner.isClosed)
  duplicate.close()
  t.true(duplicate.isClosed)
  t.is(openDescriptors(), before + 1)
})

test.serial('using closes', (t) => {
  const before = openDescriptors()
  {
    using _descriptor = Descriptor.duplicate(0)
    t.is(openDescriptors(), before + 1)
  }
  t.is(openDescriptors(), before)
})

test.serial('a closed descriptor says so', (t) => {
  const descriptor = Descriptor.duplicate(0)
  descriptor.close()
  t.throws(() => descriptor.number, { name: 'StateError', code: 'ERR_USM_IPC_CLOSED' })
  t.throws(() => claimOf(descriptor), { code: 'ERR_USM_IPC_CLOSED' })
})

test.serial('what is no descriptor is refused', (t) => {
  for (const make of [Descriptor.adopt, Descriptor.duplicate]) {
    t.throws(() => make('0' as never), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_DESCRIPTOR' })
    for (const fd of [-1, 0.5, NaN, 2 ** 31])
      t.throws(() => make(fd), { instanceOf: RangeError, code: 'ERR_USM_IPC_INVALID_DESCRIPTOR' })
    t.throws(() => make(1 << 20), { name: 'DriverError', message: /EBADF/ })
  }
  t.throws(() => new (Descriptor as unknown as new () => Descriptor)(), { instanceOf: TypeError })
})
