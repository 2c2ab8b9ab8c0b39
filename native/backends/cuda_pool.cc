// Stream-ordered memory. The pool's descriptor travels, and 64 bytes that say which of its allocations is meant.
#include <cstring>
#include <utility>

#include "backends/cuda_memory.h"
#include "fault.h"

namespace usm_ipc {
namespace {

constexpr size_t kHandleSize = sizeof(cu::MemPoolPtrExportData);

struct Pool {
  cu::MemPool pool = nullptr;
  ~Pool() {
    if (pool != nullptr) cuda().cuMemPoolDestroy(pool);
  }
  cu::MemPool release() { return std::exchange(pool, nullptr); }
};

void free_now(cu::DevicePtr pointer) noexcept {
  cuda().cuMemFreeAsync(pointer, nullptr);
  cuda().cuStreamSynchronize(nullptr);
}

}  // namespace

// A pool for itself: whoever has a pool's descriptor can open all that is in it.
void pool_allocate(const CudaDevice& device, Memory& memory) {
  if (!device.has(cu::kDeviceMemoryPools)) {
    throw Failure(FailureKind::state, "not-shareable", "this device has no stream-ordered pools: use ipc: 'fd' or 'legacy'");
  }
  cu::MemPoolProps props{};
  props.type = cu::kMemAllocationPinned;
  props.handle_types = cu::kMemHandlePosixFd;
  props.location = {cu::kMemLocationDevice, device.device};
  Pool pool;
  USM_IPC_CUDA(cuMemPoolCreate, &pool.pool, &props);
  cu::DevicePtr pointer = 0;
  USM_IPC_CUDA(cuMemAllocFromPoolAsync, &pointer, memory.nbytes, pool.pool, nullptr);
  try {
    zero(pointer, memory.nbytes);
  } catch (...) {
    free_now(pointer);
    throw;
  }
  state_of(memory).pool = pool.release();
  memory.base = pointer_to(pointer);
}

void pool_free(Memory& memory) noexcept {
  free_now(address_of(memory));
  cuda().cuMemPoolDestroy(std::exchange(state_of(memory).pool, nullptr));
}

ExportedHandle pool_get(Memory& memory, uint8_t* out) {
  CudaState& state = state_of(memory);
  if (!state.fd) {
    if (state.handle.empty()) {
      cu::MemPoolPtrExportData data{};
      USM_IPC_CUDA(cuMemPoolExportPointer, &data, address_of(memory));
      state.handle.assign(data.reserved, data.reserved + kHandleSize);
    }
    int fd = -1;
    USM_IPC_CUDA(cuMemPoolExportToShareableHandle, &fd, state.pool, cu::kMemHandlePosixFd, 0);
    state.fd = UniqueFd(fd);
  }
  std::memcpy(out, state.handle.data(), kHandleSize);
  return {Layout::cuda_pool, kHandleSize, {{DescriptorKind::opaque, 0, 0}}};
}

Memory pool_open(const CudaDevice& device, const OpenRequest& request) {
  if (request.handle_size != kHandleSize) {
    throw Failure(FailureKind::argument, "invalid-vendor-handle", "a pool's pointer data have 64 bytes");
  }
  check_cuda_descriptor(request.descriptor, "cuda-pool");
  Memory memory;
  auto state = std::make_unique<CudaState>(CudaKind::pool);
  state->handle.assign(request.handle, request.handle + kHandleSize);
  Pool pool;
  require_cuda("cuMemPoolImportFromShareableHandle",
               cuda().cuMemPoolImportFromShareableHandle(&pool.pool, reinterpret_cast<void*>(intptr_t{request.descriptor}),
                                                         cu::kMemHandlePosixFd, 0),
               "the descriptor beside the handle is none of a CUDA pool");
  cu::MemPoolPtrExportData data;
  std::memcpy(data.reserved, request.handle, kHandleSize);
  fault_point("open.map");
  cu::DevicePtr pointer = 0;
  const char* const call = "cuMemPoolImportPointer";
  require_cuda(call, cuda().cuMemPoolImportPointer(&pointer, pool.pool, &data),
               "the handle is of another pool than the descriptor beside it");
  try {
    check_owner(device, pointer, call);
    memory.nbytes = bytes_from(cuda_range(pointer), pointer);
  } catch (...) {
    if (pointer != 0) free_now(pointer);
    throw;
  }
  memory.base = pointer_to(pointer);
  state->pool = pool.release();
  memory.state = std::move(state);
  return memory;
}

void pool_close(Memory& memory) noexcept { pool_free(memory); }

}  // namespace usm_ipc
