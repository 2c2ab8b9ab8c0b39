#include "backends/sycl_base_values.h"

namespace usm_ipc {

size_t SyclBaseValues::Hash::operator()(const Key& key) const {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint64_t word : {key.id.random, key.id.counter, key.device, key.inode, key.handle_id}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

uint64_t SyclBaseValues::value(const AllocationId& id, const DescriptorEntry& identity, uint64_t handle_id) {
  if (id == AllocationId{}) return fresh();
  const Key key{id, identity.device, identity.inode, handle_id};
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->value;
  }
  by_use_.push_front({key, fresh()});
  by_key_.emplace(key, by_use_.begin());
  if (by_use_.size() > capacity_) {
    by_key_.erase(by_use_.back().key);
    by_use_.pop_back();
  }
  return by_use_.front().value;
}

}  // namespace usm_ipc
