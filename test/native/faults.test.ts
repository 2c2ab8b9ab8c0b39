/** Each step of every construction fails in turn: what was made before it is closed, and nothing is left. */
import test from 'ava'
import {
  KINDS, allocate, assertEmpty, collectUntil, get, holder, native, newId, open, parse, refused, type NativeError,
} from './raw.ts'

/** Steps of the channel have tests of their own. */
const points = (native.faultPoints?.() ?? []).filter((name) => !name.startsWith('channel.') && !name.startsWith('event.'))

/** Passes every point at least once; `taken` gets each claim that was made. */
function everything(taken: number[]): void {
  const take = (claim: number): number => {
    taken.push(claim)
    return claim
  }
  const id = newId()
  for (const readOnly of [false, true]) take(allocate(4096, { readOnly }))
  const allocation = take(allocate(4096, { id }))
  const handle = get(allocation)
  const descriptor = take(native.exportDescriptor(allocation, holder()))
  take(native.adoptDescriptor(native.descriptorNumber(descriptor), true, holder()))
  take(fetchDescriptor(parse(handle).descriptor))
  const foreign = newId()
  take(open(handle, 4096, { id: foreign, descriptor }))
  take(open(handle, 4096, { id: foreign }))
  take(open(handle, 4096, { id }))
  const mapping = take(open(handle, 4096, { descriptor }))
  take(native.claim(mapping, KINDS.lease, holder()))
  native.view(mapping, 0, 4096)
}

function fetchDescriptor(fd: number): number {
  const { pid, startTime, pidNamespace } = native.processIdentity()
  try {
    return native.descriptorOf(pid, startTime, pidNamespace, fd, holder())
  } catch (error) {
    // Not allowed everywhere; the points have been passed by then.
    if ((error as NativeError).result !== 'EPERM') throw error
    return native.adoptDescriptor(fd, true, holder())
  }
}

if (points.length === 0) {
  test('fault points', (t) => {
    t.log('skipped: this addon has no fault points; build it with --CDUSM_IPC_FAULTS=ON')
    t.pass()
  })
}

for (const point of points) {
  test.serial(`whatever passage of ${point} fails, nothing is left`, async (t) => {
    let passages = 0
    for (let countdown = 1; countdown <= 50; countdown++) {
      const taken: number[] = []
      native.setFault!(point, countdown)
      let failure: NativeError | undefined
      try {
        everything(taken)
      } catch (error) {
        failure = error as NativeError
      }
      native.setFault!(point, 0)
      for (const claim of taken) t.true(native.end(claim))
      if (failure === undefined) break
      t.deepEqual([failure.kind, failure.reason, failure.call], ['driver', 'injected', point])
      // A view is the last step: where anything fails, none was made.
      assertEmpty(t, `passage ${countdown} of ${point}`)
      passages = countdown
    }
    t.true(passages > 0, 'the point is passed')
    t.true(await collectUntil(() => native.book().claims === 0))
    native.drainEnded()
    assertEmpty(t)
  })
}

if (points.length > 0) {
  test.serial('unknown fault points are refused', (t) => {
    refused(t, 'argument', 'unknown-fault-point', () => native.setFault!('no.such.point', 1))
  })
}
