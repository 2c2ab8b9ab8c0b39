// CUDA's three kinds of memory that processes share, and what the backend keeps of each.
#pragma once

#include <cstdint>
#include <vector>

#include "backend.h"
#include "backends/cuda_devices.h"

namespace usm_ipc {

// cuMemAlloc and IPC handles; cuMemCreate and descriptors; stream-ordered pools and descriptors.
enum class CudaKind : uint8_t { legacy, vmm, pool };

// The driver shares memory in whole blocks of this size.
constexpr uint64_t kCudaBlock = 2 << 20;

struct CudaState : MemoryState {
  explicit CudaState(CudaKind kind) : kind(kind) {}

  const CudaKind kind;
  // What other processes know it by: of an allocation once it was exported, of a mapping what it was opened by.
  std::vector<uint8_t> handle;
  // vmm, pool: the exported descriptor, for as long as exports are open.
  UniqueFd fd;
  uint64_t exports = 0;
  uint64_t physical = 0;         // vmm: bytes of the physical memory and of its mapping
  cu::MemHandle physical_of = 0; // vmm, this process's: the physical memory
  cu::MemPool pool = nullptr;    // pool: its own, an imported one, or another library's
};

inline CudaState& state_of(const Memory& memory) { return static_cast<CudaState&>(*memory.state); }
inline cu::DevicePtr address_of(const Memory& memory) { return reinterpret_cast<cu::DevicePtr>(memory.base); }
inline void* pointer_to(cu::DevicePtr address) { return reinterpret_cast<void*>(address); }

uint64_t rounded_up(uint64_t nbytes, uint64_t unit);
Extent cuda_range(cu::DevicePtr pointer);
// How many bytes of its allocation follow the pointer.
uint64_t bytes_from(const Extent& extent, cu::DevicePtr pointer);
void zero(cu::DevicePtr pointer, uint64_t nbytes);

// The memory is of the device that the scope is of: the driver's success is not taken at its word.
void check_owner(const CudaDevice& device, cu::DevicePtr pointer, const char* call);

// A duplicate of the descriptor that travels beside the handle.
UniqueFd cuda_descriptor(const CudaState& state);
// A descriptor of NVIDIA's driver, as far as that shows, and not of something else.
void check_cuda_descriptor(int fd, const char* layout);

// memory.token: the context's number, of memory that goes with its context. Physical memory and pools outlive it.
// Each of these runs in a CudaScope of the memory's device. What fails leaves nothing behind.
void legacy_allocate(CudaDevice& device, Memory& memory);
void legacy_free(Memory& memory) noexcept;
ExportedHandle legacy_get(Memory& memory, uint8_t* out);
Memory legacy_open(CudaDevice& device, const OpenRequest& request);
void legacy_close(Memory& memory) noexcept;

void vmm_allocate(const CudaDevice& device, Memory& memory);
void vmm_free(Memory& memory) noexcept;
ExportedHandle vmm_get(Memory& memory, uint8_t* out);
Memory vmm_open(const CudaDevice& device, const OpenRequest& request);
void vmm_close(Memory& memory) noexcept;
bool vmm_names(const OpenRequest& request, const CudaState& state);

void pool_allocate(const CudaDevice& device, Memory& memory);
void pool_free(Memory& memory) noexcept;
ExportedHandle pool_get(Memory& memory, uint8_t* out);
Memory pool_open(const CudaDevice& device, const OpenRequest& request);
void pool_close(Memory& memory) noexcept;

// What another library allocated. Throws for what CUDA does not export, before it is asked to.
Memory cuda_adopt(CudaDevice& device, uint32_t index, void* pointer, uint64_t nbytes);

}  // namespace usm_ipc
