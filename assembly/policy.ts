// What the caller expects. 64 bytes: u32 flags, u8 kind, u8 backend, u16 zero, u64 now (ms since 1970), u64 nbytes,
// 16 bytes device UUID, u64 clock skew (ms) that a creation time may lie ahead, u32 address and u32 count of keys, u64 zero.
import { checkAuthentication } from "./authentication";
import { fail } from "./fail";
import { validKeys } from "./keys";
import { Verdict } from "./verdict";
import { Header } from "./wire";

export const POLICY_SIZE: u32 = 64;
export const POLICY_KEYS: u32 = 48;
export const POLICY_KEY_COUNT: u32 = 52;

const NOW: u32 = 1;
const KIND: u32 = 2;
const BACKEND: u32 = 4;
const DEVICE: u32 = 8;
const NBYTES: u32 = 16;
const REQUIRE_AUTHENTICATION: u32 = 32;
const ALL: u32 = 63;

/** The valid envelope at `p` under the policy at `policy` and its `count` keys, whose records lie in the I/O region. */
export function checkPolicy(p: u32, policy: u32, keys: u32, count: u32): Verdict {
  const flags = load<u32>(policy);
  if ((flags & ~ALL) != 0 || load<u16>(policy + 6) != 0) return fail(Verdict.BadPolicy, p);
  if (load<u64>(policy + 56) != 0 || (count == 0 && keys != 0)) return fail(Verdict.BadPolicy, p);
  if (!validKeys(keys, count)) return fail(Verdict.BadPolicy, p);
  const authentication = checkAuthentication(p, keys, count, (flags & REQUIRE_AUTHENTICATION) != 0);
  if (authentication != Verdict.Ok) return authentication;
  if (flags & KIND && load<u8>(p + Header.kind) != load<u8>(policy + 4)) return fail(Verdict.WrongKind, p + Header.kind);
  if (flags & BACKEND && load<u8>(p + Header.backend) != load<u8>(policy + 5)) return fail(Verdict.WrongBackend, p + Header.backend);
  if (flags & DEVICE) {
    const low = load<u64>(p + Header.deviceUuid) ^ load<u64>(policy + 24);
    const high = load<u64>(p + Header.deviceUuid + 8) ^ load<u64>(policy + 32);
    if ((low | high) != 0) return fail(Verdict.WrongDevice, p + Header.deviceUuid);
  }
  if (flags & NOW) {
    const now = load<u64>(policy + 8);
    const expires = load<u64>(p + Header.expires);
    const created = load<u64>(p + Header.created);
    if (expires != 0 && now >= expires) return fail(Verdict.Expired, p + Header.expires);
    if (created > now && created - now > load<u64>(policy + 40)) return fail(Verdict.NotYetValid, p + Header.created);
  }
  if (flags & NBYTES) {
    const nbytes = load<u64>(policy + 16);
    if (nbytes == 0 || nbytes > load<u64>(p + Header.nbytes)) return fail(Verdict.NbytesBeyondRange, p + Header.nbytes);
  }
  return Verdict.Ok;
}
