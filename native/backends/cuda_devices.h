// The devices that the driver shows to this process, each with its primary context.
#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "backend.h"
#include "backends/cuda_api.h"

namespace usm_ipc {

struct CudaDevice {
  cu::Device device = 0;
  DeviceInfo info{};

  // The primary context, retained at first use and kept. All that uses CUDA's runtime in the process is in it.
  cu::Context context();
  // Another one once the context was destroyed (cudaDeviceReset) and made anew, at the same address. 0: there is none
  // now, or the driver has no such numbers.
  uint64_t context_id() noexcept;
  // Whether what was made in the context of that number is gone: others may have its addresses, its pinned memory is
  // not there, and a driver that is asked about its streams and events crashes.
  bool is_gone(uint64_t id) noexcept { return id != 0 && context_id() != id; }
  // Throws where another context has followed that one. Where there is none now, the driver's calls say so themselves.
  void require_context(uint64_t id);
  bool has(cu::DeviceAttribute attribute) const;

 private:
  std::mutex mutex_;
  cu::Context context_ = nullptr;
};

using CudaDevices = std::vector<std::unique_ptr<CudaDevice>>;

// One at least. The first success is kept; until then each call tries again. Throws Failure{state, "no-driver"} or the
// failure of a driver's call.
const CudaDevices& cuda_devices();

// Throws Failure{argument, "no-such-device"} too.
CudaDevice& cuda_device(uint32_t index);

// While it lives, the device's primary context is the thread's current one.
class CudaScope {
 public:
  explicit CudaScope(CudaDevice& device);
  explicit CudaScope(uint32_t index) : CudaScope(cuda_device(index)) {}
  // For use of the memory: throws where it has gone with its context.
  explicit CudaScope(const Memory& memory);
  // For giving back: goes on without the context where there is none to be had.
  CudaScope(uint32_t index, std::nothrow_t) noexcept;
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;
  ~CudaScope();

 private:
  bool pushed_ = false;
};

}  // namespace usm_ipc
