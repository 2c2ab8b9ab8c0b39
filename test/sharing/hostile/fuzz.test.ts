// A sample of `npm run test:fuzz:sharing`, which sends a million.
import test from 'ava'
import { startChannelThread } from '../../support/child.ts'
import { fuzz } from './fuzz.ts'

test.before(startChannelThread)

test.serial('20,000 fuzzed frames: no crash, nothing left behind, and another session served throughout', async (t) => {
  const { frames, raw, connections, ended, survived, left, served, slowestMs, seconds, dropped } = await fuzz({ frames: 20_000, say: (line) => t.log(line) })
  t.true(frames + raw >= 20_000)
  t.is(ended + survived + left, connections)
  t.true(survived > 50 && left > 50 && ended > 1000)
  t.true(served >= 10, 'the other session')
  for (const code of ['PROTOCOL', 'UNEXPECTED_DESCRIPTORS', 'FRAME_TOO_LARGE', 'EMPTY_FRAME', 'PEER_GONE']) t.true(dropped[`ERR_USM_IPC_${code}`]! > 0, code)
  t.log(`${connections} connections in ${seconds.toFixed(1)} s; the other session opened ${served} times, ${slowestMs.toFixed(0)} ms at most`)
})
