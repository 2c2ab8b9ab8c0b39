// cuMemAlloc memory and its IPC handles: 64 bytes, which the driver counts by process.
#include <cstring>

#include "backends/cuda_memory.h"
#include "fault.h"

namespace usm_ipc {
namespace {

constexpr size_t kHandleSize = sizeof(cu::IpcMemHandle);
// PyTorch's version and type before it; the core has checked them.
constexpr size_t kTorchPrefix = 2;

constexpr char kOwnAdvice[] =
    "CUDA opens no handle in the process that made it: use the memory itself, or open its envelope";

cu::IpcMemHandle handle_of(const OpenRequest& request) {
  const size_t prefix = request.layout == Layout::torch_cuda ? kTorchPrefix : 0;
  if (request.handle_size != prefix + kHandleSize) {
    throw Failure(FailureKind::argument, "invalid-vendor-handle", "a CUDA handle has 64 bytes, PyTorch's 66");
  }
  cu::IpcMemHandle handle;
  std::memcpy(handle.reserved, request.handle + prefix, kHandleSize);
  return handle;
}

}  // namespace

// A whole number of blocks: the driver cuts smaller allocations from one, and shares all of it.
void legacy_allocate(CudaDevice& device, Memory& memory) {
  memory.token = device.context_id();
  const uint64_t nbytes = rounded_up(memory.nbytes, kCudaBlock);
  cu::DevicePtr pointer = 0;
  USM_IPC_CUDA(cuMemAlloc_v2, &pointer, nbytes);
  try {
    zero(pointer, nbytes);
  } catch (...) {
    cuda().cuMemFree_v2(pointer);
    throw;
  }
  memory.base = pointer_to(pointer);
}

void legacy_free(Memory& memory) noexcept { cuda().cuMemFree_v2(address_of(memory)); }

ExportedHandle legacy_get(Memory& memory, uint8_t* out) {
  CudaState& state = state_of(memory);
  if (state.handle.empty()) {
    cu::IpcMemHandle handle;
    USM_IPC_CUDA(cuIpcGetMemHandle, &handle, address_of(memory));
    state.handle.assign(handle.reserved, handle.reserved + kHandleSize);
  }
  std::memcpy(out, state.handle.data(), kHandleSize);
  return {Layout::cuda, kHandleSize, {}};
}

Memory legacy_open(CudaDevice& device, const OpenRequest& request) {
  const cu::IpcMemHandle handle = handle_of(request);
  Memory memory;
  memory.token = device.context_id();
  auto state = std::make_unique<CudaState>(CudaKind::legacy);
  state->handle.assign(handle.reserved, handle.reserved + kHandleSize);
  fault_point("open.map");
  cu::DevicePtr pointer = 0;
  const char* const call = "cuIpcOpenMemHandle_v2";
  const cu::Result result = cuda().cuIpcOpenMemHandle_v2(&pointer, handle, cu::kIpcMemLazyEnablePeerAccess);
  require_cuda(call, result, result == cu::kInvalidContext ? kOwnAdvice : "");
  try {
    check_owner(device, pointer, call);
    memory.nbytes = bytes_from(cuda_range(pointer), pointer);
  } catch (...) {
    if (pointer != 0) cuda().cuIpcCloseMemHandle(pointer);
    throw;
  }
  memory.base = pointer_to(pointer);
  memory.state = std::move(state);
  return memory;
}

void legacy_close(Memory& memory) noexcept { cuda().cuIpcCloseMemHandle(address_of(memory)); }

}  // namespace usm_ipc
