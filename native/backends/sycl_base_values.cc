#include "backends/sycl_base_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace usm_ipc {
namespace {

constexpr size_t kOffset = 32;  // in UMF's head

}  // namespace

uint64_t SyclBaseValues::value(const AllocationId& id, const DescriptorEntry& identity, const uint8_t* handle,
                               size_t size) {
  if (id == AllocationId{}) return fresh();
  const uint64_t words[] = {id.random, id.counter, identity.device, identity.inode};
  Key key(sizeof words + size, 0);
  std::memcpy(key.data(), words, sizeof words);
  std::memcpy(key.data() + sizeof words, handle, size);
  std::memset(key.data() + sizeof words + kOffset, 0, sizeof(uint64_t));
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->value;
  }
  by_use_.push_front({key, fresh()});
  by_key_.emplace(std::move(key), by_use_.begin());
  if (by_use_.size() > capacity_) {
    by_key_.erase(by_use_.back().key);
    by_use_.pop_back();
  }
  return by_use_.front().value;
}

void SyclBaseValues::forget(uint64_t value) {
  const auto found =
      std::find_if(by_use_.begin(), by_use_.end(), [&](const Entry& entry) { return entry.value == value; });
  if (found == by_use_.end()) return;
  by_key_.erase(found->key);
  by_use_.erase(found);
}

}  // namespace usm_ipc
