// Memory that another library of this process allocated: which kind it is, and where it begins and ends.
#include <string>
#include <utility>

#include "backends/cuda_memory.h"

namespace usm_ipc {
namespace {

template <typename T>
T attribute(cu::PointerAttribute which, cu::DevicePtr pointer) {
  T value{};
  USM_IPC_CUDA(cuPointerGetAttribute, &value, which, pointer);
  return value;
}

Failure not_device_memory(const char* what) {
  return Failure(FailureKind::argument, "not-device-memory", std::string("the pointer is ") + what);
}

void check_device_memory(const CudaDevice& device, cu::DevicePtr pointer) {
  unsigned type = 0;
  // Of a pointer that the driver does not know every attribute is refused.
  const cu::Result result = cuda().cuPointerGetAttribute(&type, cu::kPointerMemoryType, pointer);
  if (result == cu::kInvalidValue) throw not_device_memory("none that the CUDA driver knows");
  require_cuda("cuPointerGetAttribute", result);
  if (type != cu::kMemoryTypeDevice) throw not_device_memory("pinned host memory, which CUDA does not export");
  if (attribute<unsigned>(cu::kPointerIsManaged, pointer) != 0) {
    throw not_device_memory("managed memory, which migrates, and which CUDA does not export");
  }
  if (attribute<int>(cu::kPointerDeviceOrdinal, pointer) != device.device) {
    throw Failure(FailureKind::argument, "wrong-device", "the memory belongs to another device");
  }
}

std::unique_ptr<CudaState> state_for(cu::DevicePtr pointer) {
  if (attribute<unsigned>(cu::kPointerIsLegacyIpcCapable, pointer) != 0) {
    return std::make_unique<CudaState>(CudaKind::legacy);
  }
  const bool has_fd = (attribute<uint64_t>(cu::kPointerAllowedHandleTypes, pointer) & cu::kMemHandlePosixFd) != 0;
  const auto pool = attribute<cu::MemPool>(cu::kPointerMemPool, pointer);
  if (pool != nullptr) {
    if (!has_fd) {
      throw Failure(FailureKind::state, "not-shareable",
                    "the memory is of a stream-ordered pool (cuMemAllocAsync) that was made without a POSIX handle "
                    "type, and cannot be exported; make the pool with one, or allocate with cuMemAlloc");
    }
    auto state = std::make_unique<CudaState>(CudaKind::pool);
    state->pool = pool;
    return state;
  }
  if (has_fd) return std::make_unique<CudaState>(CudaKind::vmm);
  throw Failure(FailureKind::state, "not-shareable",
                "CUDA does not export this memory: it was opened from another process, or is virtual memory that was "
                "made without a POSIX handle type (cuMemCreate's requestedHandleTypes)");
}

}  // namespace

Memory cuda_adopt(CudaDevice& device, uint32_t index, void* given, uint64_t nbytes) {
  const auto pointer = reinterpret_cast<cu::DevicePtr>(given);
  check_device_memory(device, pointer);
  std::unique_ptr<CudaState> state = state_for(pointer);
  const Extent extent = cuda_range(pointer);
  if (nbytes == 0 || bytes_from(extent, pointer) < nbytes) {
    throw Failure(FailureKind::argument, "out-of-bounds",
                  "the range is not inside the allocation, which has " + std::to_string(extent.nbytes) + " bytes");
  }
  Memory memory;
  memory.base = extent.base;
  memory.nbytes = extent.nbytes;
  memory.device = index;
  memory.adopted = true;
  const auto base = reinterpret_cast<cu::DevicePtr>(extent.base);
  switch (state->kind) {
    case CudaKind::legacy:
      memory.token = device.context_id();
      memory.has_neighbours = base % kCudaBlock != 0 || extent.nbytes % kCudaBlock != 0;
      break;
    case CudaKind::pool: memory.has_neighbours = true; break;
    case CudaKind::vmm:
      state->physical = extent.nbytes;
      USM_IPC_CUDA(cuMemRetainAllocationHandle, &state->physical_of, extent.base);
      break;
  }
  memory.state = std::move(state);
  return memory;
}

}  // namespace usm_ipc
