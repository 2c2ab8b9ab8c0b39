#include "backends/cuda_copies.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cuda_memory.h"
#include "backends/cuda_staging.h"
#include "backends/memory_range.h"

namespace usm_ipc {
namespace {

// Below it the driver's own staging does as well, without waking other threads.
constexpr uint64_t kStaged = 1 << 20;
// Of a copy that must go through other memory.
constexpr uint64_t kBounce = 4 << 20;

cu::DevicePtr address(const void* pointer) { return reinterpret_cast<cu::DevicePtr>(pointer); }

// A copy from pageable memory returns when the driver has the bytes; here it returns when the device has.
void finish() { USM_IPC_CUDA(cuStreamSynchronize, nullptr); }

void to_device(CudaDevice& device, cu::DevicePtr to, const void* from, uint64_t nbytes) {
  if (nbytes >= kStaged && staged_write(device, to, from, nbytes)) return;
  const CudaScope scope(device);
  USM_IPC_CUDA(cuMemcpyHtoD_v2, to, from, nbytes);
  finish();
}

void from_device(CudaDevice& device, void* to, cu::DevicePtr from, uint64_t nbytes) {
  if (nbytes >= kStaged && staged_read(device, to, from, nbytes)) return;
  const CudaScope scope(device);
  USM_IPC_CUDA(cuMemcpyDtoH_v2, to, from, nbytes);
}

void device_to_device(CudaDevice& to_device, cu::DevicePtr to, CudaDevice& from_device, cu::DevicePtr from,
                      uint64_t nbytes) {
  const CudaScope scope(to_device);
  if (&to_device == &from_device) {
    USM_IPC_CUDA(cuMemcpyDtoDAsync_v2, to, from, nbytes, nullptr);
  } else {
    USM_IPC_CUDA(cuMemcpyPeerAsync, to, to_device.context(), from, from_device.context(), nbytes, nullptr);
  }
  finish();
}

// Through host memory, a piece after the other, from the end where the target lies behind the source.
void bounce(CudaDevice& device, cu::DevicePtr to, cu::DevicePtr from, uint64_t nbytes) {
  const bool from_the_end = to > from;
  std::vector<uint8_t> buffer(std::min(nbytes, kBounce));
  for (uint64_t done = 0; done < nbytes; done += kBounce) {
    const uint64_t piece = std::min(kBounce, nbytes - done);
    const uint64_t offset = from_the_end ? nbytes - done - piece : done;
    from_device(device, buffer.data(), from + offset, piece);
    to_device(device, to + offset, buffer.data(), piece);
  }
}

}  // namespace

void cuda_write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes) {
  uint8_t* const target = range_of_memory(to, offset, nbytes);
  if (nbytes == 0) return;
  const CudaScope scope(to);
  if (to.host_addressable) std::memmove(target, from, nbytes);
  else to_device(cuda_device(to.device), address(target), from, nbytes);
}

void cuda_read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes) {
  const uint8_t* const source = range_of_memory(from, offset, nbytes);
  if (nbytes == 0) return;
  const CudaScope scope(from);
  if (from.host_addressable) std::memmove(to, source, nbytes);
  else from_device(cuda_device(from.device), to, address(source), nbytes);
}

void cuda_copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes) {
  uint8_t* const target = range_of_memory(to, to_offset, nbytes);
  const uint8_t* const source = range_of_memory(from, from_offset, nbytes);
  if (nbytes == 0) return;
  const CudaScope scope_of_source(from);
  const CudaScope scope(to);
  if (target == source) return;
  if (to.host_addressable) return cuda_read(from, from_offset, target, nbytes);
  if (from.host_addressable) return cuda_write(to, to_offset, source, nbytes);
  const cu::DevicePtr a = address(target);
  const cu::DevicePtr b = address(source);
  CudaDevice& device = cuda_device(to.device);
  if ((a > b ? a - b : b - a) < nbytes) bounce(device, a, b, nbytes);
  else device_to_device(device, a, cuda_device(from.device), b, nbytes);
}

void cuda_fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value) {
  uint8_t* const target = range_of_memory(to, offset, nbytes);
  if (nbytes == 0) return;
  const CudaScope scope(to);
  if (to.host_addressable) {
    std::memset(target, value, nbytes);
    return;
  }
  USM_IPC_CUDA(cuMemsetD8Async, address(target), value, nbytes, nullptr);
  finish();
}

}  // namespace usm_ipc
