/** Errors as the package promises them: a class, a stable code, and a message that says what to do. */
import assert from 'node:assert/strict'
import { DriverError, HandleError, PeerError, StateError, isUsmIpcError } from '../../host/index.ts'

const CLASSES = { HandleError, DriverError, StateError, PeerError, TypeError, RangeError }

/** @param says - what the message must say; a message without advice teaches nothing */
export function refused(action: () => unknown, name: keyof typeof CLASSES, code: string, says: RegExp): Error & { code: string } {
  let result: unknown
  try {
    result = action()
  } catch (error) {
    return checked(error, name, code, says)
  }
  return assert.fail(`expected ERR_USM_IPC_${code}, got ${typeof result === 'object' ? result?.constructor.name : String(result)}`)
}

export async function rejected(promise: Promise<unknown>, name: keyof typeof CLASSES, code: string, says: RegExp): Promise<Error & { code: string }> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome)) return assert.fail(`expected ERR_USM_IPC_${code}, it resolved`)
  return checked(outcome.error, name, code, says)
}

function checked(error: unknown, name: keyof typeof CLASSES, code: string, says: RegExp): Error & { code: string } {
  assert(error instanceof Error, `not an Error: ${String(error)}`)
  const found = error as Error & { code: string }
  assert.equal(found.code, `ERR_USM_IPC_${code}`, error.stack)
  assert(error instanceof CLASSES[name], `${error.name} is not a ${name}: ${error.message}`)
  assert.equal(isUsmIpcError(error), name !== 'TypeError' && name !== 'RangeError')
  assert.match(error.message, says)
  return found
}
