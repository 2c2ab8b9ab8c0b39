#pragma once

#include <cstdint>

namespace usm_ipc {

template <typename T>
T load_little_endian(const uint8_t* from) {
  T value = 0;
  for (unsigned i = 0; i < sizeof(T); i++) value |= static_cast<T>(from[i]) << (8 * i);
  return value;
}

template <typename T>
void store_little_endian(uint8_t* to, T value) {
  for (unsigned i = 0; i < sizeof(T); i++) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace usm_ipc
