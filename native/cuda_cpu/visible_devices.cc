#include "cuda_cpu/visible_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace usm_ipc::cuda_cpu {
namespace {

bool has_dash_before(int i) { return i == 4 || i == 6 || i == 8 || i == 10; }

std::string text_of(const cu::Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; i++) {
    char digits[4];
    std::snprintf(digits, sizeof digits, has_dash_before(i) ? "-%02x" : "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

// As CUDA takes it, by the beginning of its UUID, too, where that is one device's.
int device_called(const std::string& name, int count) {
  int number = -1;
  for (int i = 0; i < count; i++) {
    if (name == std::to_string(i)) return i;
    if (name.size() <= 4 || text_of(uuid_of(i)).compare(0, name.size(), name) != 0) continue;
    if (number >= 0) return -1;
    number = i;
  }
  return number;
}

}  // namespace

cu::Uuid uuid_of(int number) {
  cu::Uuid uuid{};
  if (std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re"); file != nullptr) {
    for (int i = 0; i < 16; i++) {
      unsigned value = 0;
      if (std::fscanf(file, has_dash_before(i) ? "-%2x" : "%2x", &value) != 1) break;
      uuid.bytes[i] = static_cast<char>(value);
    }
    std::fclose(file);
  }
  uuid.bytes[0] = static_cast<char>(0xcd);
  uuid.bytes[15] = static_cast<char>(uuid.bytes[15] ^ number);
  return uuid;
}

// CUDA_VISIBLE_DEVICES: numbers or UUIDs, up to the first that names no device. One that is named twice: none at all.
std::vector<int> visible_devices(int count) {
  std::vector<int> numbers;
  const char* const given = std::getenv("CUDA_VISIBLE_DEVICES");
  if (given == nullptr) {
    for (int i = 0; i < count; i++) numbers.push_back(i);
    return numbers;
  }
  std::istringstream parts(given);
  for (std::string part; std::getline(parts, part, ',');) {
    const int number = device_called(part, count);
    if (number < 0) break;
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) return {};
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace usm_ipc::cuda_cpu
