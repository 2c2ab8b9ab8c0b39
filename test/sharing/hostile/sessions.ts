/** Sessions with an exporter that lies, and what they must leave behind: nothing. */
import type { ExecutionContext } from 'ava'
import { connect, type Session } from '../../../host/index.ts'
import { counts, openDescriptors } from '../../support/counts.ts'
import { until } from '../trust/support.ts'
import { FakeExporter, NBYTES, type Answers } from './fake_exporter.ts'

export const held = (): object => ({ ...counts(), descriptors: openDescriptors() })
export const codeOf = (error: unknown): string => (error as { code?: string }).code?.replace('ERR_USM_IPC_', '') ?? String(error)

/** One session with a fake exporter that answers like this; afterwards this process holds what it held before. */
export async function against(t: ExecutionContext, fake: FakeExporter, answers: Answers, use: (session: Session) => Promise<void>): Promise<void> {
  fake.answers = answers
  const session = await connect(fake.path)
  try {
    await use(session)
  } finally {
    await session.close()
    fake.answers = {}
  }
  t.deepEqual(session.leases(), [])
}

export async function works(t: ExecutionContext, session: Session): Promise<void> {
  const memory = await session.open('weights')
  const first = new Uint8Array(1)
  memory.copyTo(first)
  t.deepEqual([memory.path, memory.nbytes, first[0]], ['mapped', NBYTES, 7])
  memory.close()
}

/** A fake exporter; afterwards a session with it works, and all is as it was. */
export async function withFake(t: ExecutionContext, action: (fake: FakeExporter) => Promise<void>): Promise<void> {
  const outside = held()
  {
    await using fake = new FakeExporter(t)
    void fake.handle.descriptors // made when they are first asked for
    await against(t, fake, {}, (session) => works(t, session))
    await until(() => fake.connections === 0)
    const inside = held()
    await action(fake)
    await against(t, fake, {}, (session) => works(t, session))
    await until(() => fake.connections === 0)
    t.deepEqual(held(), inside)
  }
  t.deepEqual(held(), outside)
}

export async function failure(promise: Promise<unknown>): Promise<Error & { code: string }> {
  try {
    await promise
  } catch (error) {
    return error as Error & { code: string }
  }
  throw new Error('it was not refused')
}
