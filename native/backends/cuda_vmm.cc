// Virtual memory management: physical memory whose descriptor travels, mapped by each process where it likes.
#include <cstring>
#include <utility>

#include "backends/cuda_memory.h"
#include "fault.h"
#include "little_endian.h"

namespace usm_ipc {
namespace {

// u64 physical size, i32 the descriptor's number in the exporter, zeros (docs/wire-format.md, layout cuda-vmm).
constexpr size_t kHandleSize = 32;

cu::MemAllocationProp properties(const CudaDevice& device) {
  cu::MemAllocationProp prop{};
  prop.type = cu::kMemAllocationPinned;
  prop.requested_handle_types = cu::kMemHandlePosixFd;
  prop.location = {cu::kMemLocationDevice, device.device};
  return prop;
}

uint64_t granularity(const cu::MemAllocationProp& prop, cu::GranularityFlags which) {
  size_t unit = 0;
  USM_IPC_CUDA(cuMemGetAllocationGranularity, &unit, &prop, which);
  return unit == 0 ? kCudaBlock : unit;
}

struct Physical {
  cu::MemHandle handle = 0;
  ~Physical() {
    if (handle != 0) cuda().cuMemRelease(handle);
  }
  cu::MemHandle release() { return std::exchange(handle, 0); }
};

// Addresses, and what is mapped there.
struct Mapped {
  cu::DevicePtr address = 0;
  uint64_t nbytes = 0;
  bool is_mapped = false;
  ~Mapped() {
    if (is_mapped) cuda().cuMemUnmap(address, nbytes);
    if (address != 0) cuda().cuMemAddressFree(address, nbytes);
  }
  cu::DevicePtr release() {
    is_mapped = false;
    return std::exchange(address, 0);
  }
};

cu::DevicePtr map(const CudaDevice& device, cu::MemHandle handle, uint64_t nbytes, const char* advice) {
  Mapped mapped;
  mapped.nbytes = nbytes;
  USM_IPC_CUDA(cuMemAddressReserve, &mapped.address, nbytes, 0, 0, 0);
  fault_point("open.map");
  require_cuda("cuMemMap", cuda().cuMemMap(mapped.address, nbytes, 0, handle, 0), advice);
  mapped.is_mapped = true;
  const cu::MemAccessDesc access{{cu::kMemLocationDevice, device.device}, cu::kMemAccessReadWrite};
  USM_IPC_CUDA(cuMemSetAccess, mapped.address, nbytes, &access, 1);
  return mapped.release();
}

void unmap(cu::DevicePtr address, uint64_t nbytes) noexcept {
  cuda().cuMemUnmap(address, nbytes);
  cuda().cuMemAddressFree(address, nbytes);
}

constexpr char kSizeAdvice[] =
    "the descriptor is of memory of another size than the handle says, so it is not the one of this export";

}  // namespace

void vmm_allocate(const CudaDevice& device, Memory& memory) {
  CudaState& state = state_of(memory);
  const cu::MemAllocationProp prop = properties(device);
  const uint64_t physical = rounded_up(memory.nbytes, granularity(prop, cu::kGranularityRecommended));
  Physical handle;
  USM_IPC_CUDA(cuMemCreate, &handle.handle, physical, &prop, 0);
  const cu::DevicePtr address = map(device, handle.handle, physical, "");
  try {
    zero(address, physical);
  } catch (...) {
    unmap(address, physical);
    throw;
  }
  state.physical = physical;
  state.physical_of = handle.release();
  memory.base = pointer_to(address);
}

void vmm_free(Memory& memory) noexcept {
  CudaState& state = state_of(memory);
  cuda().cuCtxSynchronize();  // unlike cuMemFree, unmapping does not wait for who still uses it
  unmap(address_of(memory), state.physical);
  cuda().cuMemRelease(std::exchange(state.physical_of, 0));
}

ExportedHandle vmm_get(Memory& memory, uint8_t* out) {
  CudaState& state = state_of(memory);
  if (!state.fd) {
    state.handle.assign(kHandleSize, 0);
    int number = -1;
    USM_IPC_CUDA(cuMemExportToShareableHandle, &number, state.physical_of, cu::kMemHandlePosixFd, 0);
    state.fd = UniqueFd(number);
    store_little_endian<uint64_t>(state.handle.data(), state.physical);
    store_little_endian<uint32_t>(state.handle.data() + 8, static_cast<uint32_t>(number));
  }
  std::memcpy(out, state.handle.data(), kHandleSize);
  return {Layout::cuda_vmm, kHandleSize, {{DescriptorKind::opaque, 0, 0}}};
}

Memory vmm_open(const CudaDevice& device, const OpenRequest& request) {
  if (request.handle_size != kHandleSize) {
    throw Failure(FailureKind::argument, "invalid-vendor-handle", "a cuda-vmm handle has 32 bytes");
  }
  check_cuda_descriptor(request.descriptor, "cuda-vmm");
  const auto physical = load_little_endian<uint64_t>(request.handle);
  const uint64_t unit = granularity(properties(device), cu::kGranularityMinimum);
  if (physical == 0 || physical % unit != 0 || physical < request.allocation_nbytes) {
    throw Failure(FailureKind::argument, "invalid-vendor-handle",
                  "the physical size is no multiple of the device's granularity, or smaller than the allocation");
  }
  Memory memory;
  auto state = std::make_unique<CudaState>(CudaKind::vmm);
  state->handle.assign(request.handle, request.handle + kHandleSize);
  state->physical = physical;
  Physical handle;
  const char* const call = "cuMemImportFromShareableHandle";
  void* const number = reinterpret_cast<void*>(intptr_t{request.descriptor});
  require_cuda(call, cuda().cuMemImportFromShareableHandle(&handle.handle, number, cu::kMemHandlePosixFd),
               "the descriptor beside the handle is none of CUDA's memory");
  cu::MemAllocationProp prop{};
  USM_IPC_CUDA(cuMemGetAllocationPropertiesFromHandle, &prop, handle.handle);
  const bool is_on_device = prop.location.type == cu::kMemLocationDevice && prop.location.id == device.device;
  if (prop.type != cu::kMemAllocationPinned || !is_on_device) {
    throw cuda_failure(call, "extent-mismatch",
                       "the descriptor is of memory of another device; it is not the one of this export");
  }
  memory.base = pointer_to(map(device, handle.handle, physical, kSizeAdvice));
  memory.nbytes = physical;
  memory.state = std::move(state);
  return memory;
}

void vmm_close(Memory& memory) noexcept {
  cuda().cuCtxSynchronize();
  unmap(address_of(memory), state_of(memory).physical);
}

bool vmm_names(const OpenRequest& request, const CudaState& state) {
  return request.handle_size == kHandleSize && load_little_endian<uint64_t>(request.handle) == state.physical;
}

}  // namespace usm_ipc
