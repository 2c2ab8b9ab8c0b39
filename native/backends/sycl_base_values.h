// What stands for an exporter's base address in the handles that our runtime sees. Its cache of mappings goes by that
// address, and when the same one comes with another handle id it unmaps what is there, in use or not. Exporters do
// reuse addresses, so each allocation gets a value that this process never uses for another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "allocation_id.h"
#include "backend.h"

namespace usm_ipc {

class SyclBaseValues {
 public:
  explicit SyclBaseValues(size_t capacity) : capacity_(capacity) {}

  // The same value for the same allocation and the same handle bytes (but for the offset in the allocation, which the
  // runtime's mapping does not depend on), so that the runtime's cached mapping is found, as long as it is among the last
  // `capacity` that were asked for. A fresh one where the id is zero: nobody has said which allocation it is.
  uint64_t value(const AllocationId& id, const DescriptorEntry& identity, const uint8_t* handle, size_t size);
  // What was opened under this value is never to be found again.
  void forget(uint64_t value);

 private:
  // Allocation id, file identity and handle, byte for byte.
  using Key = std::string;
  struct Entry {
    Key key;
    uint64_t value;
  };

  uint64_t fresh() { return next_++; }

  const size_t capacity_;
  uint64_t next_ = 1;
  std::list<Entry> by_use_;  // latest first
  std::unordered_map<Key, std::list<Entry>::iterator> by_key_;
};

}  // namespace usm_ipc
