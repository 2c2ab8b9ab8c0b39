#include "backends/level_zero_copies.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backends/descriptor_identity.h"
#include "backends/level_zero_api.h"
#include "backends/level_zero_devices.h"
#include "backends/memory_range.h"
#include "failure.h"

namespace usm_ipc {
namespace {

// Other threads get their turn between two of these, and no driver has more of the caller's memory to pin at a time.
constexpr uint64_t kChunk = 64 << 20;
// Of a copy that must go through host memory.
constexpr uint64_t kBounce = 4 << 20;

// All groups that compute can copy, and some can do nothing else.
uint32_t copying_group(const LevelZeroApi& api, ze::Device device) {
  const char* const call = "zeDeviceGetCommandQueueGroupProperties";
  uint32_t count = 0;
  require(call, api.zeDeviceGetCommandQueueGroupProperties(device, &count, nullptr));
  std::vector<ze::CommandQueueGroupProperties> groups(count);
  if (count > 0) require(call, api.zeDeviceGetCommandQueueGroupProperties(device, &count, groups.data()));
  const auto found = std::find_if(groups.begin(), groups.end(), [](const ze::CommandQueueGroupProperties& group) {
    return (group.flags & (ze::kQueueGroupCopy | ze::kQueueGroupCompute)) != 0 && group.num_queues > 0;
  });
  if (found == groups.end()) {
    throw level_zero_failure(call, "no-queue", "the device has no command queue that copies");
  }
  return static_cast<uint32_t>(found - groups.begin());
}

// Under the device's mutex. Synchronous: what is appended has been done when the call returns.
ze::CommandList list_of(const LevelZeroApi& api, LevelZeroDevice& device) {
  if (device.list != nullptr) return device.list;
  ze::CommandQueueDesc desc;
  desc.ordinal = copying_group(api, device.device);
  desc.mode = ze::kModeSynchronous;
  const char* const call = "zeCommandListCreateImmediate";
  ze::CommandList list = nullptr;
  require(call, api.zeCommandListCreateImmediate(device.context, device.device, &desc, &list));
  if (list == nullptr) throw level_zero_failure(call, "null-result", std::string(call) + " gave no list, and no error");
  return device.list = list;
}

void transfer(LevelZeroDevice& device, void* to, const void* from, uint64_t nbytes) {
  const LevelZeroApi& api = level_zero_api();
  for (uint64_t done = 0; done < nbytes; done += kChunk) {
    std::lock_guard<std::mutex> lock(device.mutex);
    require("zeCommandListAppendMemoryCopy",
            api.zeCommandListAppendMemoryCopy(list_of(api, device), static_cast<uint8_t*>(to) + done,
                                              static_cast<const uint8_t*>(from) + done,
                                              std::min(kChunk, nbytes - done), nullptr, 0, nullptr));
  }
}

// Through host memory, a piece after the other, from the end where the target lies behind the source.
void bounce(const Memory& to, uint8_t* target, const Memory& from, const uint8_t* source, uint64_t nbytes,
            bool from_the_end) {
  std::vector<uint8_t> buffer(std::min(nbytes, kBounce));
  for (uint64_t done = 0; done < nbytes; done += kBounce) {
    const uint64_t piece = std::min(kBounce, nbytes - done);
    const uint64_t offset = from_the_end ? nbytes - done - piece : done;
    transfer(level_zero_device(from.device), buffer.data(), source + offset, piece);
    transfer(level_zero_device(to.device), target + offset, buffer.data(), piece);
  }
}

}  // namespace

void level_zero_write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes) {
  uint8_t* const target = range_of_memory(to, offset, nbytes);
  if (nbytes == 0) return;
  if (to.host_addressable) {
    std::memmove(target, from, nbytes);
  } else {
    transfer(level_zero_device(to.device), target, from, nbytes);
  }
}

void level_zero_read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes) {
  const uint8_t* const source = range_of_memory(from, offset, nbytes);
  if (nbytes == 0) return;
  if (from.host_addressable) {
    std::memmove(to, source, nbytes);
  } else {
    transfer(level_zero_device(from.device), to, source, nbytes);
  }
}

void level_zero_copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes) {
  uint8_t* const target = range_of_memory(to, to_offset, nbytes);
  const uint8_t* const source = range_of_memory(from, from_offset, nbytes);
  if (nbytes == 0) return;
  if (to.host_addressable && from.host_addressable) {
    std::memmove(target, source, nbytes);
    return;
  }
  const bool one_file = names_same_file(to.identity, from.identity);
  const uint64_t target_at = one_file ? to.token + to_offset : reinterpret_cast<uintptr_t>(target);
  const uint64_t source_at = one_file ? from.token + from_offset : reinterpret_cast<uintptr_t>(source);
  if (target_at == source_at) return;
  const bool behind = target_at > source_at;
  const bool overlap = (behind ? target_at - source_at : source_at - target_at) < nbytes;
  LevelZeroDevice& device = level_zero_device(to.device);
  if (overlap || device.context != level_zero_device(from.device).context) {
    bounce(to, target, from, source, nbytes, behind);
  } else {
    transfer(device, target, source, nbytes);
  }
}

void level_zero_fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value) {
  uint8_t* const target = range_of_memory(to, offset, nbytes);
  if (nbytes == 0) return;
  if (to.host_addressable) {
    std::memset(target, value, nbytes);
    return;
  }
  const LevelZeroApi& api = level_zero_api();
  LevelZeroDevice& device = level_zero_device(to.device);
  for (uint64_t done = 0; done < nbytes; done += kChunk) {
    std::lock_guard<std::mutex> lock(device.mutex);
    require("zeCommandListAppendMemoryFill",
            api.zeCommandListAppendMemoryFill(list_of(api, device), target + done, &value, sizeof value,
                                              std::min(kChunk, nbytes - done), nullptr, 0, nullptr));
  }
}

}  // namespace usm_ipc
