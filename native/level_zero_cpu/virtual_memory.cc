#include "level_zero_cpu/virtual_memory.h"

#include <sys/mman.h>

#include <cerrno>

namespace usm_ipc::ze {
namespace {

constexpr int kNothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
void* pointer_to(uintptr_t address) { return reinterpret_cast<void*>(address); }

void check_range(const void* start, size_t size) {
  require(start != nullptr, kInvalidNullPointer);
  require(size != 0 && size % kPageSize == 0, kUnsupportedSize);
  require(address_of(start) % kPageSize == 0, kUnsupportedAlignment);
  require(size <= UINTPTR_MAX - address_of(start), kInvalidArgument);
}

int protection(uint32_t access) {
  require(access <= kAccessReadOnly, kInvalidEnumeration);
  return access == kAccessReadWrite ? PROT_READ | PROT_WRITE : access == kAccessReadOnly ? PROT_READ : PROT_NONE;
}

Result failure(int error) { return error == ENOMEM ? kOutOfHostMemory : kInvalidArgument; }

}  // namespace

AddressSpace& AddressSpace::instance() {
  static AddressSpace* const space = new AddressSpace;  // threads may outlive static destruction
  return *space;
}

void* AddressSpace::reserve(const void* near, size_t size) {
  require(size != 0 && size % kPageSize == 0 && size < UINTPTR_MAX - kPageSize, kUnsupportedSize);
  const std::lock_guard<std::mutex> lock(mutex_);
  void* const got = ::mmap(const_cast<void*>(near), size + kPageSize, PROT_NONE, kNothing, -1, 0);
  if (got == MAP_FAILED) throw Refusal{failure(errno)};
  const uintptr_t base = (address_of(got) + kPageSize - 1) / kPageSize * kPageSize;
  if (base != address_of(got)) ::munmap(got, base - address_of(got));
  const size_t behind = address_of(got) + kPageSize - base;
  if (behind != 0) ::munmap(pointer_to(base + size), behind);
  reservations_[base] = {size, kAccessNone};
  return pointer_to(base);
}

AddressSpace::Ranges::iterator AddressSpace::around(Ranges& ranges, uintptr_t address) {
  auto found = ranges.upper_bound(address);
  if (found == ranges.begin()) return ranges.end();
  --found;
  return address - found->first < found->second.size ? found : ranges.end();
}

void AddressSpace::free(const void* start, size_t size) {
  check_range(start, size);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto reservation = reservations_.find(address_of(start));
  require(reservation != reservations_.end() && reservation->second.size == size, kInvalidArgument);
  ::munmap(pointer_to(reservation->first), size);
  mapped_.erase(mapped_.lower_bound(reservation->first), mapped_.lower_bound(reservation->first + size));
  reservations_.erase(reservation);
}

void AddressSpace::map(const void* start, size_t size, const PhysicalMemHandle& memory, size_t offset,
                       uint32_t access) {
  check_range(start, size);
  require(offset % kPageSize == 0, kUnsupportedAlignment);
  require(offset <= memory.size && size <= memory.size - offset, kInvalidSize);
  const int allowed = protection(access);
  const uintptr_t address = address_of(start);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto reservation = around(reservations_, address);
  require(reservation != reservations_.end() && size <= reservation->first + reservation->second.size - address,
          kInvalidArgument);
  const auto behind = mapped_.lower_bound(address);
  const bool is_free = around(mapped_, address) == mapped_.end() &&
                       (behind == mapped_.end() || behind->first - address >= size);
  require(is_free, kInvalidArgument);
  void* const mapped = ::mmap(pointer_to(address), size, allowed, MAP_SHARED | MAP_FIXED, memory.file.get(),
                              static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) throw Refusal{failure(errno)};
  mapped_[address] = {size, access};
}

std::pair<AddressSpace::Ranges::iterator, AddressSpace::Ranges::iterator> AddressSpace::mappings(const void* start,
                                                                                                 size_t size) {
  check_range(start, size);
  const uintptr_t address = address_of(start);
  const auto first = mapped_.lower_bound(address);
  const auto last = mapped_.lower_bound(address + size);
  size_t covered = 0;
  for (auto it = first; it != last; ++it) covered += it->second.size;
  require(covered == size, kInvalidArgument);
  return {first, last};
}

void AddressSpace::unmap(const void* start, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [first, last] = mappings(start, size);
  void* const nothing = ::mmap(const_cast<void*>(start), size, PROT_NONE, kNothing | MAP_FIXED, -1, 0);
  if (nothing == MAP_FAILED) throw Refusal{failure(errno)};
  mapped_.erase(first, last);
}

void AddressSpace::set_access(const void* start, size_t size, uint32_t access) {
  const int allowed = protection(access);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [first, last] = mappings(start, size);
  if (::mprotect(const_cast<void*>(start), size, allowed) != 0) throw Refusal{failure(errno)};
  for (auto it = first; it != last; ++it) it->second.access = access;
}

size_t AddressSpace::access(const void* start, uint32_t& access) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Ranges* const ranges : {&mapped_, &reservations_}) {
    const auto found = around(*ranges, address_of(start));
    if (found == ranges->end()) continue;
    access = found->second.access;
    return found->second.size;
  }
  throw Refusal{kInvalidArgument};
}

}  // namespace usm_ipc::ze
