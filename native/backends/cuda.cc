// CUDA. Device USM is exported in one of three ways, which the allocation chooses; host and shared USM are private.
#include "backends/cuda.h"

#include <algorithm>
#include <utility>

#include "backends/cuda_copies.h"
#include "backends/cuda_events.h"
#include "backends/cuda_memory.h"

namespace usm_ipc {
namespace {

CudaKind kind_of(Ipc ipc) {
  switch (ipc) {
    case Ipc::fd: return CudaKind::vmm;
    case Ipc::pool: return CudaKind::pool;
    default: return CudaKind::legacy;
  }
}

CudaKind kind_of(Layout layout) {
  switch (layout) {
    case Layout::cuda:
    case Layout::torch_cuda: return CudaKind::legacy;
    case Layout::cuda_vmm: return CudaKind::vmm;
    case Layout::cuda_pool: return CudaKind::pool;
    default: throw Failure(FailureKind::argument, "invalid-vendor-handle", "this is not a handle of CUDA memory");
  }
}

void allocate_device(CudaDevice& device, Memory& memory, Ipc ipc) {
  auto state = std::make_unique<CudaState>(kind_of(ipc));
  const CudaKind kind = state->kind;
  memory.state = std::move(state);
  switch (kind) {
    case CudaKind::legacy: return legacy_allocate(device, memory);
    case CudaKind::vmm: return vmm_allocate(device, memory);
    case CudaKind::pool: return pool_allocate(device, memory);
  }
}

void allocate_host(CudaDevice& device, Memory& memory) {
  memory.token = device.context_id();
  USM_IPC_CUDA(cuMemHostAlloc, &memory.base, memory.nbytes, cu::kHostAllocPortable);
  memory.host_addressable = true;
}

// Managed memory may be larger than the device's, and then be swapped in and out: not here.
void allocate_shared(CudaDevice& device, Memory& memory) {
  memory.token = device.context_id();
  size_t free = 0, total = 0;
  USM_IPC_CUDA(cuMemGetInfo_v2, &free, &total);
  if (memory.nbytes > free) require_cuda("cuMemAllocManaged", cu::kOutOfMemory);
  cu::DevicePtr pointer = 0;
  USM_IPC_CUDA(cuMemAllocManaged, &pointer, memory.nbytes, cu::kMemAttachGlobal);
  memory.base = pointer_to(pointer);
  // Without it the host must not touch the memory while the device works.
  memory.host_addressable = device.has(cu::kDeviceConcurrentManagedAccess);
}

void check_shareable(const Memory& memory) {
  if (memory.usm == UsmType::device) return;
  throw Failure(FailureKind::state, "not-shareable", "only device USM can be shared; host and shared USM are private");
}

class CudaBackend final : public Backend {
 public:
  const char* name() const override { return "cuda"; }

  Unavailable unavailable() override {
    try {
      cuda_devices();
      // What is kept says nothing of a process that fork() made since.
      int count = 0;
      USM_IPC_CUDA(cuDeviceGetCount, &count);
      return {};
    } catch (const Failure& failure) {
      return {failure.what(), failure.call, failure.result, failure.number};
    } catch (const std::exception& error) {
      return {error.what(), "", "", 0};
    }
  }

  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> infos;
    for (const auto& device : cuda_devices()) infos.push_back(device->info);
    return infos;
  }

  bool has_ipc_choice() override { return true; }
  bool pads() override { return true; }

  Memory allocate(const AllocateRequest& request) override {
    CudaDevice& device = cuda_device(request.device);
    if (request.nbytes == 0) throw Failure(FailureKind::argument, "zero-size", "an allocation has 1 byte or more");
    if (request.read_only) {
      throw Failure(FailureKind::argument, "not-shareable",
                    "CUDA memory cannot be shared read-only: every importer of it can write");
    }
    const CudaScope scope(device);
    Memory memory;
    memory.nbytes = request.nbytes;
    memory.usm = request.usm;
    memory.device = request.device;
    switch (request.usm) {
      case UsmType::device: allocate_device(device, memory, request.ipc); break;
      case UsmType::host: allocate_host(device, memory); break;
      case UsmType::shared: allocate_shared(device, memory); break;
    }
    return memory;
  }

  void free(Memory& memory) noexcept override {
    give_back(memory, [&] {
      if (memory.usm == UsmType::host) {
        cuda().cuMemFreeHost(memory.base);
      } else if (memory.usm == UsmType::shared) {
        cuda().cuMemFree_v2(address_of(memory));
      } else if (memory.adopted) {
        if (state_of(memory).physical_of != 0) cuda().cuMemRelease(state_of(memory).physical_of);
      } else {
        switch (state_of(memory).kind) {
          case CudaKind::legacy: return legacy_free(memory);
          case CudaKind::vmm: return vmm_free(memory);
          case CudaKind::pool: return pool_free(memory);
        }
      }
    });
    memory.base = nullptr;
    memory.state.reset();
  }

  Memory adopt(uint32_t index, void* pointer, uint64_t nbytes) override {
    CudaDevice& device = cuda_device(index);
    const CudaScope scope(device);
    return cuda_adopt(device, index, pointer, nbytes);
  }

  void synchronize(const Memory& memory) override {
    const CudaScope scope(memory);
    USM_IPC_CUDA(cuCtxSynchronize);
  }

  bool opens_own(const Memory& memory) override {
    return memory.state != nullptr && state_of(memory).kind != CudaKind::legacy;
  }

  Events* events() override { return &cuda_events(); }

  ExportedHandle get(Memory& memory, uint64_t, uint8_t* out) override {
    check_shareable(memory);
    const CudaScope scope(memory);
    ExportedHandle exported = get_of_kind(memory, out);
    ++state_of(memory).exports;
    return exported;
  }

  // CUDA takes no handle back. The descriptor is ours.
  void put(Memory& memory) noexcept override {
    if (memory.state == nullptr) return;
    CudaState& state = state_of(memory);
    if (state.exports > 0 && --state.exports == 0) state.fd = UniqueFd();
  }

  UniqueFd descriptor(Memory& memory) override {
    check_shareable(memory);
    return cuda_descriptor(state_of(memory));
  }

  Memory open(const OpenRequest& request) override {
    const CudaKind kind = kind_of(request.layout);
    CudaDevice& device = cuda_device(request.device);
    const CudaScope scope(device);
    Memory memory = kind == CudaKind::legacy ? legacy_open(device, request)
                    : kind == CudaKind::vmm  ? vmm_open(device, request)
                                             : pool_open(device, request);
    memory.device = request.device;
    return memory;
  }

  void close(Memory& memory) noexcept override {
    give_back(memory, [&] {
      switch (state_of(memory).kind) {
        case CudaKind::legacy: return legacy_close(memory);
        case CudaKind::vmm: return vmm_close(memory);
        case CudaKind::pool: return pool_close(memory);
      }
    });
    memory.base = nullptr;
  }

  bool names(const OpenRequest& request, const Memory& memory) override {
    if (memory.state == nullptr) return false;
    const CudaState& state = state_of(memory);
    const std::vector<uint8_t>& known = state.handle;
    if (kind_of(request.layout) != state.kind || known.empty()) return false;
    // A virtual memory's handle has a descriptor's number in it, which is another one after each export.
    if (state.kind == CudaKind::vmm) return vmm_names(request, state);
    const uint8_t* const end = request.handle + request.handle_size;
    return request.handle_size >= known.size() && std::equal(known.begin(), known.end(), end - known.size(), end);
  }

  void write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes) override {
    cuda_write(to, offset, from, nbytes);
  }
  void read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes) override {
    cuda_read(from, offset, to, nbytes);
  }
  void copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes) override {
    cuda_copy(to, to_offset, from, from_offset, nbytes);
  }
  void fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value) override {
    cuda_fill(to, offset, nbytes, value);
  }

  Extent extent(const Memory& memory, void* pointer) override {
    const CudaScope scope(memory.device);
    return cuda_range(reinterpret_cast<cu::DevicePtr>(pointer));
  }

 private:
  ExportedHandle get_of_kind(Memory& memory, uint8_t* out) {
    switch (state_of(memory).kind) {
      case CudaKind::legacy: return legacy_get(memory, out);
      case CudaKind::vmm: return vmm_get(memory, out);
      default: return pool_get(memory, out);
    }
  }

  // Giving back cannot fail to anybody's knowledge. With its context the driver has taken back what was made in it.
  template <typename Calls>
  void give_back(const Memory& memory, Calls calls) noexcept {
    const CudaScope scope(memory.device, std::nothrow);
    if (!cuda_device(memory.device).is_gone(memory.token)) calls();
  }
};

}  // namespace

Backend& cuda_backend() {
  static CudaBackend* const backend = new CudaBackend;  // never destroyed, as the registry is not
  return *backend;
}

}  // namespace usm_ipc
