/**
 * True when the 32 bytes at `a` and at `b` are the same. All of them are read whatever they are: how long it takes tells
 * nothing about how many agree.
 */
export function same32(a: u32, b: u32): bool {
  const first = load<u64>(a, 0) ^ load<u64>(b, 0);
  const second = load<u64>(a, 8) ^ load<u64>(b, 8);
  const third = load<u64>(a, 16) ^ load<u64>(b, 16);
  const fourth = load<u64>(a, 24) ^ load<u64>(b, 24);
  return (first | second | third | fourth) == 0;
}
