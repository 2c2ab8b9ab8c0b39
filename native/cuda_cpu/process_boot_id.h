#pragma once

#include <cstdio>

namespace usm_ipc::cuda_cpu {

// The 16 bytes of this machine's boot id; zeros where it has none.
inline void boot_id(char* bytes) {
  for (int i = 0; i < 16; i++) bytes[i] = 0;
  std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file == nullptr) return;
  for (int i = 0; i < 16; i++) {
    unsigned value = 0;
    if (std::fscanf(file, i == 4 || i == 6 || i == 8 || i == 10 ? "-%2x" : "%2x", &value) != 1) break;
    bytes[i] = static_cast<char>(value);
  }
  std::fclose(file);
}

}  // namespace usm_ipc::cuda_cpu
