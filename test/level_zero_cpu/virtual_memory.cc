// Reserved address space, physical memory, and both joined; physical memory by descriptor.
#include <sys/mman.h>
#include <unistd.h>

#include "program.h"

using namespace usm_ipc::ze;

namespace {

constexpr size_t kPage = 65536;

PhysicalMem physical(const Setup& it, size_t size, const void* next = nullptr) {
  PhysicalMemDesc desc;
  desc.next = next;
  desc.size = size;
  PhysicalMem made = nullptr;
  GIVES(ZE(zePhysicalMemCreate)(it.context, it.device, &desc, &made), kSuccess);
  return made;
}

uint8_t* reserve(const Setup& it, size_t size, const void* near = nullptr) {
  void* out = nullptr;
  GIVES(ZE(zeVirtualMemReserve)(it.context, near, size, &out), kSuccess);
  EXPECT(reinterpret_cast<uintptr_t>(out) % kPage == 0);
  return static_cast<uint8_t*>(out);
}

Result map(const Setup& it, void* at, size_t size, PhysicalMem memory, size_t offset = 0,
           uint32_t access = kAccessReadWrite) {
  return ZE(zeVirtualMemMap)(it.context, at, size, memory, offset, access);
}

uint32_t access_of(const Setup& it, const void* at, size_t expected_size) {
  uint32_t access = 99;
  size_t size = 0;
  GIVES(ZE(zeVirtualMemGetAccessAttribute)(it.context, at, 1, &access, &size), kSuccess);
  EXPECT(size == expected_size);
  return access;
}

}  // namespace

CASE(mapped_and_unmapped) {
  Setup it;
  size_t page = 0;
  GIVES(ZE(zeVirtualMemQueryPageSize)(it.context, it.device, 1, &page), kSuccess);
  EXPECT(page == kPage);
  const PhysicalMem memory = physical(it, 2 * kPage);
  auto* const space = reserve(it, 4 * kPage);
  EXPECT(access_of(it, space, 4 * kPage) == kAccessNone);
  // The same memory at two addresses, its halves the other way round.
  GIVES(map(it, space, 2 * kPage, memory), kSuccess);
  GIVES(map(it, space + 2 * kPage, kPage, memory, kPage), kSuccess);
  GIVES(map(it, space + 3 * kPage, kPage, memory, 0, kAccessReadOnly), kSuccess);
  space[0] = 1;
  space[kPage] = 2;
  EXPECT(space[2 * kPage] == 2 && space[3 * kPage] == 1);
  EXPECT(access_of(it, space + 3 * kPage, kPage) == kAccessReadOnly);
  GIVES(ZE(zeVirtualMemSetAccessAttribute)(it.context, space + 2 * kPage, 2 * kPage, kAccessReadWrite), kSuccess);
  space[3 * kPage] = 3;
  EXPECT(space[0] == 3 && access_of(it, space + 3 * kPage, kPage) == kAccessReadWrite);
  // Memory outlives its handle where it is mapped, and what is written outlives a mapping.
  GIVES(ZE(zeVirtualMemUnmap)(it.context, space, 2 * kPage), kSuccess);
  GIVES(map(it, space + kPage, kPage, memory), kSuccess);
  GIVES(ZE(zePhysicalMemDestroy)(it.context, memory), kSuccess);
  EXPECT(space[kPage] == 3);
  GIVES(ZE(zeVirtualMemUnmap)(it.context, space + kPage, 3 * kPage), kSuccess);
  EXPECT(access_of(it, space, 4 * kPage) == kAccessNone);
  GIVES(ZE(zeVirtualMemFree)(it.context, space, 4 * kPage), kSuccess);
}

CASE(physical_memory_by_descriptor) {
  Setup it;
  const PhysicalMem memory = physical(it, kPage);
  PhysicalMemProperties properties;
  ExternalMemoryExportFd exported;
  exported.flags = kExternalMemoryOpaqueFd;
  properties.next = &exported;
  GIVES(ZE(zePhysicalMemGetProperties)(it.context, memory, &properties), kSuccess);
  EXPECT(properties.size == kPage && properties.id != 0 && exported.fd > 2);
  ExternalMemoryImportFd from;
  from.flags = kExternalMemoryOpaqueFd;
  from.fd = exported.fd;
  const PhysicalMem imported = physical(it, kPage, &from);
  EXPECT(close(exported.fd) == 0);  // ours, and the driver has one of its own
  auto* const space = reserve(it, 2 * kPage);
  GIVES(map(it, space, kPage, memory), kSuccess);
  GIVES(map(it, space + kPage, kPage, imported), kSuccess);
  space[7] = 9;
  EXPECT(space[kPage + 7] == 9);
  GIVES(ZE(zeVirtualMemFree)(it.context, space, 2 * kPage), kSuccess);
  for (const PhysicalMem made : {memory, imported}) GIVES(ZE(zePhysicalMemDestroy)(it.context, made), kSuccess);

  PhysicalMemDesc desc;
  desc.size = kPage;
  desc.next = &from;
  PhysicalMem none = nullptr;
  GIVES(ZE(zePhysicalMemCreate)(it.context, it.device, &desc, &none), kInvalidArgument);  // closed
  const int small = memfd_create("small", 0);
  EXPECT(ftruncate(small, 100) == 0);
  from.fd = small;
  GIVES(ZE(zePhysicalMemCreate)(it.context, it.device, &desc, &none), kInvalidArgument);
  from.flags = 2;
  GIVES(ZE(zePhysicalMemCreate)(it.context, it.device, &desc, &none), kUnsupportedEnumeration);
  EXPECT(none == nullptr);
}

CASE(refused) {
  Setup it;
  const PhysicalMem memory = physical(it, 2 * kPage);
  PhysicalMemDesc desc;
  PhysicalMem none = nullptr;
  desc.size = kPage + 1;
  GIVES(ZE(zePhysicalMemCreate)(it.context, it.device, &desc, &none), kUnsupportedSize);
  desc.size = 0;
  GIVES(ZE(zePhysicalMemCreate)(it.context, it.device, &desc, &none), kUnsupportedSize);
  GIVES(ZE(zePhysicalMemCreate)(it.context, it.device, nullptr, &none), kInvalidNullPointer);
  GIVES(ZE(zePhysicalMemDestroy)(it.context, nullptr), kInvalidNullHandle);
  void* out = nullptr;
  GIVES(ZE(zeVirtualMemReserve)(it.context, nullptr, 0, &out), kUnsupportedSize);
  GIVES(ZE(zeVirtualMemReserve)(it.context, nullptr, 1, &out), kUnsupportedSize);
  GIVES(ZE(zeVirtualMemReserve)(it.context, nullptr, SIZE_MAX / kPage * kPage, &out), kUnsupportedSize);
  GIVES(ZE(zeVirtualMemReserve)(it.context, nullptr, kPage, nullptr), kInvalidNullPointer);
  auto* const space = reserve(it, 4 * kPage);
  GIVES(map(it, space, kPage, nullptr), kInvalidNullHandle);
  GIVES(map(it, nullptr, kPage, memory), kInvalidNullPointer);
  GIVES(map(it, space + 1, kPage, memory), kUnsupportedAlignment);
  GIVES(map(it, space, kPage - 1, memory), kUnsupportedSize);
  GIVES(map(it, space, kPage, memory, 1), kUnsupportedAlignment);
  GIVES(map(it, space, kPage, memory, 2 * kPage), kInvalidSize);
  GIVES(map(it, space, 3 * kPage, memory), kInvalidSize);
  GIVES(map(it, space, kPage, memory, 0, 3), kInvalidEnumeration);
  GIVES(map(it, space + 3 * kPage, 2 * kPage, memory), kInvalidArgument);  // beyond the reservation
  GIVES(map(it, space + 4 * kPage, kPage, memory), kInvalidArgument);
  GIVES(map(it, space + kPage, 2 * kPage, memory), kSuccess);
  // On another mapping, in front, behind, and all around.
  GIVES(map(it, space + 2 * kPage, kPage, memory), kInvalidArgument);
  GIVES(map(it, space, 2 * kPage, memory), kInvalidArgument);
  const PhysicalMem large = physical(it, 4 * kPage);
  GIVES(map(it, space, 4 * kPage, large), kInvalidArgument);
  // Not whole mappings.
  GIVES(ZE(zeVirtualMemUnmap)(it.context, space + kPage, kPage), kInvalidArgument);
  GIVES(ZE(zeVirtualMemUnmap)(it.context, space, kPage), kInvalidArgument);
  GIVES(ZE(zeVirtualMemSetAccessAttribute)(it.context, space, 4 * kPage, kAccessNone), kInvalidArgument);
  GIVES(ZE(zeVirtualMemSetAccessAttribute)(it.context, space + kPage, 2 * kPage, 7), kInvalidEnumeration);
  GIVES(ZE(zeVirtualMemFree)(it.context, space, kPage), kInvalidArgument);
  GIVES(ZE(zeVirtualMemFree)(it.context, space + kPage, kPage), kInvalidArgument);
  uint32_t access = 0;
  size_t size = 0;
  GIVES(ZE(zeVirtualMemGetAccessAttribute)(it.context, &it, 1, &access, &size), kInvalidArgument);
  space[kPage] = 1;
  GIVES(ZE(zeVirtualMemFree)(it.context, space, 4 * kPage), kSuccess);
  GIVES(ZE(zeVirtualMemFree)(it.context, space, 4 * kPage), kInvalidArgument);
  GIVES(ZE(zeVirtualMemGetAccessAttribute)(it.context, space, 1, &access, &size), kInvalidArgument);
  for (const PhysicalMem made : {memory, large}) GIVES(ZE(zePhysicalMemDestroy)(it.context, made), kSuccess);
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
