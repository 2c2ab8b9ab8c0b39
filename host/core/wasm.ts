import { WASM } from './wasm.generated.ts'

/** The raw ABI of the core (docs/wasm-abi.md). Pointers are byte addresses in `memory`. */
export interface CoreExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  abiVersion(): number
  ioAddress(): number
  ioSize(): number
  maxEnvelope(): number
  verdictCount(): number
  verdictName(code: number, out: number, capacity: number): number
  verdictMessage(code: number, out: number, capacity: number): number
  fieldCount(): number
  fieldName(id: number, out: number, capacity: number): number
  valueName(field: number, value: number, out: number, capacity: number): number
  failureAddress(): number
  validate(pointer: number, length: number, policy: number): number
  validateBatch(list: number, count: number, policy: number, out: number): number
  validateArray(pointer: number, length: number, nbytes: number): number
  validateHandle(layout: number, pointer: number, length: number): number
  describe(pointer: number, length: number, out: number, capacity: number): number
  describeVendor(layout: number, pointer: number, length: number, out: number, capacity: number): number
  fieldRecordSize(): number
  findSection(pointer: number, length: number, type: number): number
  layoutBackendOf(layout: number): number
  sealBegin(pointer: number, capacity: number): number
  sealSection(pointer: number, capacity: number, type: number, flags: number, bytes: number, length: number): number
  sealEnd(pointer: number, capacity: number): number
  sealEndAuthenticated(pointer: number, capacity: number, key: number): number
  authenticate(pointer: number, capacity: number, key: number): number
  crc32c(pointer: number, length: number): number
  sha256(pointer: number, length: number, out: number): number
  hmacSha256(key: number, keyLength: number, pointer: number, length: number, out: number): number
  ledgerReset(seed: number, maxRecords: number): number
  ledgerNextId(out: number): number
  ledgerStatus(id: number): number
  ledgerToken(id: number): number
  ledgerAdd(kind: number, id: number, nbytes: number, token: number, now: number): number
  ledgerEnd(claim: number): number
  ledgerCount(kind: number): number
  ledgerList(from: number, out: number, capacity: number): number
  ledgerRecordSize(): number
}

/** A `WebAssembly.Module`. Named here because that name is the DOM's, which programs for Node need not know. */
export type WasmModule = object

let compiled: WebAssembly.Module | undefined

/** A new, independent instance: of the module that comes with the package, or of one that the caller compiled. */
export function instantiate(module: WasmModule = own()): CoreExports {
  return new WebAssembly.Instance(module as WebAssembly.Module, {}).exports as unknown as CoreExports
}

function own(): WebAssembly.Module {
  return (compiled ??= new WebAssembly.Module(Uint8Array.from(atob(WASM), (c) => c.charCodeAt(0))))
}
