// What the Level Zero driver gives for memory, and what it says about it.
#pragma once

#include <cstdint>
#include <utility>

#include "backend.h"
#include "backends/level_zero_api.h"
#include "backends/level_zero_devices.h"
#include "backends/level_zero_handle.h"

namespace usm_ipc {

// A pointer that zeMemFree or zeMemCloseIpcHandle takes back unless it is handed over.
template <typename GiveBack>
class DriverPointer {
 public:
  DriverPointer(GiveBack* give_back, ze::Context context) : give_back_(give_back), context_(context) {}
  DriverPointer(const DriverPointer&) = delete;
  ~DriverPointer() {
    if (pointer_ != nullptr) give_back_(context_, pointer_);
  }
  void** out() { return &pointer_; }
  void* get() const { return pointer_; }
  void* release() { return std::exchange(pointer_, nullptr); }

 private:
  GiveBack* const give_back_;
  const ze::Context context_;
  void* pointer_ = nullptr;
};

void* allocate_usm(const LevelZeroDevice& device, UsmType usm, uint64_t nbytes);

ze::IpcMemHandle get_handle(ze::Context context, const void* pointer);
void put_handle(ze::Context context, const ze::IpcMemHandle& handle) noexcept;

// Which of the two forms this driver's handles have shows in one of them alone: of memory that is made for it, once.
LevelZeroForm form_of(LevelZeroDevice& device);

struct MemoryOwner {
  uint32_t type;  // ze_memory_type_t
  ze::Device device;
};
MemoryOwner owner_of(ze::Context context, const void* pointer);

Extent range_of(ze::Context context, const void* pointer);
// How many bytes of the extent follow the pointer; 0 where it is outside.
uint64_t bytes_from(const Extent& extent, const void* pointer);

// The address that the handle was opened at. Throws, and closes it, where that is not memory of the device.
void* open_handle(const LevelZeroDevice& device, const ze::IpcMemHandle& handle, const char* advice);

}  // namespace usm_ipc
