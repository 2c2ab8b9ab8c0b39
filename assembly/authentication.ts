// The tag at an envelope's end: HMAC-SHA256 of a domain string and everything before the tag.
import { hmacAbsorb, hmacBegin, hmacEnd } from "./digest/hmac";
import { same32 } from "./digest/same";
import { fail } from "./fail";
import { TAG_SCRATCH } from "./io";
import { Key, MOST, findKey } from "./keys";
import { Verdict } from "./verdict";
import { Header, TAG, isAuthenticated } from "./wire";

// "usm-ipc envelope 0" and a zero byte: a tag made for anything else, or for another major version, is none for this.
const DOMAIN = memory.data<u8>([
  0x75, 0x73, 0x6d, 0x2d, 0x69, 0x70, 0x63, 0x20, 0x65, 0x6e, 0x76, 0x65, 0x6c, 0x6f, 0x70, 0x65, 0x20, 0x30, 0x00,
]);
const DOMAIN_LENGTH: u32 = 19;

/** The tag of `length` bytes, to `out`. `key` is a record that was valid; since then it may have been written over. */
export function makeTag(p: u32, length: u32, key: u32, out: u32): void {
  hmacBegin(key + Key.bytes, min(load<u32>(key + Key.length), MOST));
  hmacAbsorb(<u32>DOMAIN, DOMAIN_LENGTH);
  hmacAbsorb(p, length);
  hmacEnd(out);
}

/** The valid envelope at `p` under these keys. */
export function checkAuthentication(p: u32, keys: u32, count: u32, required: bool): Verdict {
  if (!isAuthenticated(p)) return required || count != 0 ? fail(Verdict.Unauthenticated, p + Header.flags) : Verdict.Ok;
  if (count == 0 && !required) return Verdict.Ok;
  const key = findKey(keys, count, load<u32>(p + Header.keyId));
  if (key == 0) return fail(Verdict.UnknownKey, p + Header.keyId);
  const tag = p + load<u32>(p + Header.totalLength) - TAG;
  makeTag(p, tag - p, key, TAG_SCRATCH);
  const same = same32(TAG_SCRATCH, tag);
  memory.fill(TAG_SCRATCH, 0, TAG); // the right tag of a forged envelope is a secret
  return same ? Verdict.Ok : fail(Verdict.BadTag, tag);
}
