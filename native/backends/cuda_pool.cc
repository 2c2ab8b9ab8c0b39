// Stream-ordered memory. The pool's descriptor travels, and 64 bytes that say which of its allocations is meant.
#include <cstring>
#include <mutex>
#include <unordered_map>
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

// Unlike cuMemFree, it would not wait for who still uses the memory in another stream.
void free_now(cu::DevicePtr pointer) noexcept {
  cuda().cuCtxSynchronize();
  cuda().cuMemFreeAsync(pointer, nullptr);
  cuda().cuStreamSynchronize(nullptr);
}

// The driver gives one address for all imports of an allocation, and unmaps it with the first that is freed (seen with
// driver 580): here it is freed with the last.
class Imports {
 public:
  static Imports& instance() {
    static Imports* const imports = new Imports;  // never destroyed: finalizers may close at exit
    return *imports;
  }

  void add(cu::DevicePtr pointer) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[pointer];
  }

  void remove(cu::DevicePtr pointer) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = counts_.find(pointer);
    if (found == counts_.end() || --found->second > 0) return;
    counts_.erase(found);
    free_now(pointer);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<cu::DevicePtr, uint64_t> counts_;
};

}  // namespace

// A pool for itself: whoever has a pool's descriptor can open all that is in it.
void pool_allocate(const CudaDevice& device, Memory& memory) {
  if (!device.has(cu::kDeviceMemoryPools)) {
    throw Failure(FailureKind::state, "not-shareable",
                  "this device has no stream-ordered pools: use ipc: 'fd' or 'legacy'");
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
    int number = -1;
    USM_IPC_CUDA(cuMemPoolExportToShareableHandle, &number, state.pool, cu::kMemHandlePosixFd, 0);
    UniqueFd fd(number);
    // The driver exports a pointer only of a pool that was exported before.
    if (state.handle.empty()) {
      cu::MemPoolPtrExportData data{};
      USM_IPC_CUDA(cuMemPoolExportPointer, &data, address_of(memory));
      state.handle.assign(data.reserved, data.reserved + kHandleSize);
    }
    state.fd = std::move(fd);
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
  void* const number = reinterpret_cast<void*>(intptr_t{request.descriptor});
  require_cuda("cuMemPoolImportFromShareableHandle",
               cuda().cuMemPoolImportFromShareableHandle(&pool.pool, number, cu::kMemHandlePosixFd, 0),
               "the descriptor beside the handle is none of a CUDA pool");
  cu::MemPoolPtrExportData data;
  std::memcpy(data.reserved, request.handle, kHandleSize);
  fault_point("open.map");
  cu::DevicePtr pointer = 0;
  const char* const call = "cuMemPoolImportPointer";
  require_cuda(call, cuda().cuMemPoolImportPointer(&pointer, pool.pool, &data),
               "the handle is of another pool than the descriptor beside it");
  Imports::instance().add(pointer);
  try {
    check_owner(device, pointer, call);
    memory.nbytes = bytes_from(cuda_range(pointer), pointer);
  } catch (...) {
    Imports::instance().remove(pointer);
    throw;
  }
  memory.base = pointer_to(pointer);
  state->pool = pool.release();
  memory.state = std::move(state);
  return memory;
}

void pool_close(Memory& memory) noexcept {
  Imports::instance().remove(address_of(memory));
  cuda().cuMemPoolDestroy(std::exchange(state_of(memory).pool, nullptr));
}

}  // namespace usm_ipc
