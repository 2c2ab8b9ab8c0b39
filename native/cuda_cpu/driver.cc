#include "cuda_cpu/driver.h"

#include "cuda_cpu/event.h"
#include "cuda_cpu/pool.h"
#include "cuda_cpu/stream.h"

namespace usm_ipc::cuda_cpu {

Driver& Driver::instance() {
  static Driver* const driver = new Driver;  // never destroyed: threads may outlive static destruction
  return *driver;
}

Range* Driver::range_at(DevicePtr pointer, DevicePtr* base) {
  auto after = ranges.upper_bound(pointer);
  if (after == ranges.begin()) return nullptr;
  const auto found = std::prev(after);
  if (pointer - found->first >= found->second.nbytes) return nullptr;
  if (base != nullptr) *base = found->first;
  return &found->second;
}

Range Driver::new_range(uint64_t nbytes, Origin origin, int device) {
  Range range;
  range.nbytes = nbytes;
  range.origin = origin;
  range.device = device;
  range.id = ++last_id;
  return range;
}

bool Driver::is_device(int device) const { return device >= 0 && device < static_cast<int>(devices.size()); }

int Driver::device_of_number(int number) const {
  for (size_t i = 0; i < devices.size(); i++) {
    if (devices[i].number == number) return static_cast<int>(i);
  }
  return -1;
}

bool Driver::take(int device, uint64_t nbytes) {
  PhysicalDevice& on = devices[device];
  if (nbytes > on.memory - on.used) return false;
  on.used += nbytes;
  return true;
}

void Driver::give(int device, uint64_t nbytes) { devices[device].used -= nbytes; }

void Driver::reset(int device) {
  devices[device].context.alive = false;
  devices[device].context.retained = 0;
  devices[device].context.peers = 0;
  forget_streams(device);
  forget_events(device);
  // Pinned memory stays: whoever copies through it on the host must not crash, as it might with NVIDIA's.
  for (auto at = ranges.begin(); at != ranges.end();) {
    const Range& range = at->second;
    const bool stays = range.device != device || range.origin == Origin::vmm || range.origin == Origin::pinned;
    at = stays ? std::next(at) : ranges.erase(at);
  }
  empty_pools(device);
  devices[device].used = 0;
  for (const auto& [handle, physical] : this->physical) {
    if (!physical.imported && physical.prop.location.id == device) devices[device].used += physical.nbytes;
  }
}

}  // namespace usm_ipc::cuda_cpu
