/**
 * The errors that this package throws. All have a stable `code`; `isUsmIpcError` recognises them across copies of the
 * package, where `instanceof` does not.
 */

const brand: unique symbol = Symbol.for('usm-ipc.error') as never

/** Base of the package's own error classes; `code` is `ERR_USM_IPC_` and the reason in capitals. */
export class UsmIpcError extends Error {
  readonly code: string
  readonly [brand] = true
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = codeOf(reason)
  }
  override get name(): string {
    return this.constructor.name
  }
}

/** Some handle bytes, or the descriptor beside them, break a rule. No driver has seen them. */
export class HandleError extends UsmIpcError {
  /** The first rule that is broken, by the core's name (`bad-checksum`), or the host's (`descriptor-unsealed`). */
  readonly verdict: string
  /** Where in the bytes; undefined where the rule is not about one place. */
  readonly byteOffset: number | undefined
  constructor(verdict: string, message: string, byteOffset?: number, options?: ErrorOptions) {
    super(verdict, message, options)
    this.verdict = verdict
    this.byteOffset = byteOffset
  }
}

/** A driver or system call failed. */
export class DriverError extends UsmIpcError {
  readonly backend: string
  /** The driver's function, `zeMemOpenIpcHandle` or `mmap`. */
  readonly call: string
  /** The result's name, `ZE_RESULT_ERROR_DEVICE_LOST` or `ENOMEM`. */
  readonly result: string
  readonly resultNumber: number
  constructor(
    reason: string, message: string,
    details: { backend: string; call: string; result: string; resultNumber: number }, options?: ErrorOptions,
  ) {
    super(reason, message, options)
    this.backend = details.backend
    this.call = details.call
    this.result = details.result
    this.resultNumber = details.resultNumber
  }
}

/** The object is not in a state for this: closed, not IPC memory, still in use. */
export class StateError extends UsmIpcError {}

/** The process at the other end of a channel: gone, silent past a deadline, or breaking the rules. */
export class PeerError extends UsmIpcError {}

/** A file is not what its format's document says: `code` names the rule. */
export class FormatError extends UsmIpcError {}

/** True for errors of this package's own classes, also of another copy of it. (TypeErrors and RangeErrors have a `code` alone.) */
export function isUsmIpcError(value: unknown): value is UsmIpcError {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true
}

/** A TypeError with a `code`: the argument is of the wrong type or kind. */
export function typeError(reason: string, message: string): TypeError & { code: string } {
  return Object.assign(new TypeError(message), { code: codeOf(reason) })
}

/** A RangeError with a `code`: the argument's type is right, its value is not. */
export function rangeError(reason: string, message: string): RangeError & { code: string } {
  return Object.assign(new RangeError(message), { code: codeOf(reason) })
}

/** Gives an error of the addon (properties kind, reason, backend, call, result, number) its class and code. */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error) || !('kind' in error)) return error
  const native = error as Error & { kind: string; reason: string; backend: string; call: string; result: string; number: number }
  const options = native.cause === undefined ? undefined : { cause: native.cause }
  switch (native.kind) {
    case 'driver':
      return new DriverError(native.reason, native.message, {
        backend: native.backend, call: native.call, result: native.result, resultNumber: native.number,
      }, options)
    case 'descriptor':
      return new HandleError(native.reason, native.message, undefined, options)
    case 'state':
      return new StateError(native.reason, native.message, options)
    case 'peer':
      return new PeerError(native.reason, native.message, options)
    case 'argument':
      return rangeError(native.reason, native.message)
    default:
      return error
  }
}

/** Runs a native call; its errors get their classes. */
export function checked<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw fromNative(error)
  }
}

function codeOf(reason: string): string {
  return 'ERR_USM_IPC_' + reason.toUpperCase().replaceAll('-', '_')
}
