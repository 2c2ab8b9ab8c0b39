// Our own: memfd identity and size, 32 bytes. The descriptor travels beside it.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";
import { Header, MAX_SIZE } from "../wire";

const READ_ONLY: u32 = 1;

export function matches(length: u32): bool {
  return length == 32;
}

export function check(p: u32, header: u32): Verdict {
  if (load<u64>(p + 8) == 0) return fail(Verdict.HandleNoIdentity, p + 8);
  const size = load<u64>(p + 16);
  if (size == 0) return fail(Verdict.HandleZeroSize, p + 16);
  if (size > MAX_SIZE) return fail(Verdict.SizeTooLarge, p + 16);
  if (load<i32>(p + 24) < 0) return fail(Verdict.HandleNegativeFd, p + 24);
  if ((load<u32>(p + 28) & ~READ_ONLY) != 0) return fail(Verdict.HandlePadding, p + 28);
  if (header && size != load<u64>(header + Header.allocationSize)) return fail(Verdict.HandleDisagrees, p + 16);
  return Verdict.Ok;
}

export function describe(p: u32): void {
  field(p, 8, Field.HostDevice, Value.Unsigned);
  field(p + 8, 8, Field.HostInode, Value.Unsigned);
  field(p + 16, 8, Field.HostSize, Value.Unsigned);
  field(p + 24, 4, Field.HostFd, Value.Signed);
  field(p + 28, 4, Field.HostFlags, Value.Flags);
}
