#include "level_zero_cpu/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace usm_ipc::ze {
namespace {

constexpr size_t kMostAlignment = size_t{1} << 30;

size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

// The kernel aligns to its own pages only: more address space than needed, of which the ends are given back.
void* map_aligned(int fd, size_t size, size_t alignment) {
  const size_t whole = size + alignment;
  void* const reserved = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return reserved;
  const auto start = reinterpret_cast<uintptr_t>(reserved);
  const uintptr_t base = round_up(start, alignment);
  void* const mapped =
      ::mmap(reinterpret_cast<void*>(base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    ::munmap(reserved, whole);
    errno = error;
    return mapped;
  }
  if (base != start) ::munmap(reserved, base - start);
  const size_t behind = start + whole - (base + size);
  if (behind != 0) ::munmap(reinterpret_cast<void*>(base + size), behind);
  return mapped;
}

}  // namespace

// Peers can neither shrink it under a mapping, nor grow it, nor seal it further.
UniqueFd make_memory_file(size_t size) {
  UniqueFd file(::memfd_create("usm-ipc-ze", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  // Before Linux 6.3
  if (!file && errno == EINVAL) file = UniqueFd(::memfd_create("usm-ipc-ze", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  file = above_stdio(std::move(file));
  require(static_cast<bool>(file), kOutOfHostMemory);
  require(::ftruncate(file.get(), static_cast<off_t>(size)) == 0, kOutOfDeviceMemory);
  require(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, kUnknown);
  return file;
}

size_t memory_file_size(int fd) {
  struct stat status;
  const bool is = ::fcntl(fd, F_GET_SEALS) >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  return is ? static_cast<size_t>(status.st_size) : 0;
}

// Memory files are not charged before they are touched: what can never be there is refused now, not at a touch.
Reserved::Reserved(DeviceMemory* memory, size_t size) : memory_(memory), size_(size) {
  if (memory == nullptr) return;
  uint64_t used = memory->used;
  do {
    require(used <= memory->total && size <= memory->total - used, kOutOfDeviceMemory);
  } while (!memory->used.compare_exchange_weak(used, used + size));
}

Reserved::~Reserved() {
  if (memory_ != nullptr) memory_->used -= size_;
}

Mapping::Mapping(int fd, size_t size, size_t alignment, DeviceMemory* memory) : reserved_(memory, size), size_(size) {
  void* const mapped = map_aligned(fd, size, alignment);
  if (mapped == MAP_FAILED) throw Refusal{errno == ENOMEM ? kOutOfHostMemory : kInvalidArgument};
  base_ = static_cast<uint8_t*>(mapped);
}

Mapping::~Mapping() { ::munmap(base_, size_); }

MemoryTable& MemoryTable::instance() {
  static MemoryTable* const table = new MemoryTable;  // threads may outlive static destruction
  return *table;
}

void* MemoryTable::allocate(uint32_t type, DeviceHandle* device, size_t size, size_t alignment) {
  require(size != 0, kInvalidSize);
  require((alignment & (alignment - 1)) == 0 && alignment <= kMostAlignment, kUnsupportedAlignment);
  require(size <= config().memory, kUnsupportedSize);
  const size_t rounded = round_up(size, kPageSize);
  UniqueFd file = make_memory_file(rounded);
  DeviceMemory* const memory = device == nullptr ? nullptr : device->memory;
  auto mapping = std::make_shared<Mapping>(file.get(), rounded, std::max(alignment, kPageSize), memory);
  return enter({std::move(mapping), size, type, device, 0, std::move(file), UniqueFd(), 0});
}

void* MemoryTable::enter(Allocation allocation) {
  uint8_t* const base = allocation.mapping->base();
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  allocation.id = next_id_++;
  allocations_.emplace(reinterpret_cast<uintptr_t>(base), std::move(allocation));
  return base;
}

MemoryTable::Allocations::iterator MemoryTable::at(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) return allocations_.end();
  --found;
  return address - found->first < found->second.size ? found : allocations_.end();
}

std::optional<AllocationInfo> MemoryTable::lookup(const void* pointer) {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto found = at(pointer);
  if (found == allocations_.end()) return std::nullopt;
  const Allocation& it = found->second;
  return AllocationInfo{it.mapping->base(), it.size, it.type, it.device, it.id};
}

std::shared_ptr<Mapping> MemoryTable::mapping(const void* pointer) {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto found = at(pointer);
  return found == allocations_.end() ? nullptr : found->second.mapping;
}

// The allocation dies after the lock is gone: unmapping much takes long.
void MemoryTable::remove(const void* base, bool imported) {
  Allocations::node_type removed;
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = allocations_.find(reinterpret_cast<uintptr_t>(base));
  require(found != allocations_.end() && imported == !found->second.file, kInvalidArgument);
  if (found->second.exported) exports_.erase(found->second.exported.get());
  removed = allocations_.extract(found);
}

void MemoryTable::free(const void* base) { remove(base, false); }

void MemoryTable::close_handle(const void* base) { remove(base, true); }

IpcMemHandle MemoryTable::get_handle(const void* pointer) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = at(pointer);
  require(found != allocations_.end(), kInvalidArgument);
  Allocation& allocation = found->second;
  require(static_cast<bool>(allocation.file), kUnsupportedFeature);
  if (allocation.handles == 0) {
    UniqueFd exported = duplicate_fd(allocation.file.get());
    require(static_cast<bool>(exported), kOutOfHostMemory);
    exports_.emplace(exported.get(), found->first);
    allocation.exported = std::move(exported);
  }
  allocation.handles++;
  const uint8_t memory_type = allocation.type == kMemoryHost ? kHandleOfHostMemory : kHandleOfDeviceMemory;
  return write_handle(config().handles, allocation.exported.get(), memory_type);
}

void MemoryTable::put_handle(const IpcMemHandle& handle) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto exported = exports_.find(handle_fd(handle));
  require(exported != exports_.end(), kInvalidArgument);
  Allocation& allocation = allocations_.at(exported->second);
  if (--allocation.handles > 0) return;
  exports_.erase(exported);
  allocation.exported.reset();
}

void* MemoryTable::open_handle(DeviceHandle& device, const IpcMemHandle& handle) {
  const HandleForm form = config().handles;
  require(handle_pool_offset(handle) == 0, kUnsupportedFeature);  // no memory of this driver is pooled
  const UniqueFd file = import_fd(form, handle);
  require(static_cast<bool>(file), kInvalidArgument);
  const size_t size = memory_file_size(file.get());
  require(size != 0, kInvalidArgument);
  auto mapping = std::make_shared<Mapping>(file.get(), size, kPageSize, nullptr);
  const bool host = handle_memory_type(form, handle) == kHandleOfHostMemory;
  return enter({std::move(mapping), size, host ? kMemoryHost : kMemoryDevice, host ? nullptr : &device, 0, UniqueFd(),
                UniqueFd(), 0});
}

}  // namespace usm_ipc::ze
