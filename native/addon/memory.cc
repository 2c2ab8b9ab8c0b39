// Making memory, exporting it, opening it.
#include <array>
#include <cstring>
#include <string>

#include "addon/arguments.h"
#include "addon/claims.h"
#include "addon/methods.h"
#include "fault.h"
#include "little_endian.h"

namespace usm_ipc {
namespace {

constexpr size_t kEntrySize = 24;  // a descriptor entry on the wire
constexpr size_t kEntriesHead = 8;

AllocationId allocation_id(const Span& core, uint64_t at) {
  const uint8_t* const bytes = core.part(at, 16, "the allocation id");
  return {load_little_endian<uint64_t>(bytes), load_little_endian<uint64_t>(bytes + 8)};
}

napi_value allocate(Call& call) {
  Backend& backend = backend_argument(call, 0);
  const uint32_t device = call.integer(1, "device", UINT32_MAX);
  const uint32_t usm = call.integer(2, "usm", 3);
  if (usm == 0) throw Failure(FailureKind::argument, "invalid-argument", "usm must be 1, 2 or 3");
  const uint64_t nbytes = call.integer(3, "nbytes");
  const bool read_only = call.boolean(4, "readOnly");
  const AllocationId id = allocation_id(call.bytes(5, "core"), call.integer(6, "allocationIdAt"));
  const ClaimId claim = Registry::instance().allocate(call.environment(), backend, device, static_cast<UsmType>(usm),
                                                      nbytes, read_only, id);
  return deliver(call, claim, 7, "allocate.finalizer");
}

void write_entries(const std::vector<DescriptorEntry>& entries, const Span& core, uint64_t at, uint64_t capacity) {
  const uint64_t size = kEntriesHead + entries.size() * kEntrySize;
  if (size > capacity) {
    throw Failure(FailureKind::argument, "capacity", "the descriptor entries take " + std::to_string(size) + " bytes");
  }
  uint8_t* to = core.part(at, size, "the descriptor entries");
  store_little_endian<uint64_t>(to, entries.size());
  to += kEntriesHead;
  for (const DescriptorEntry& entry : entries) {
    store_little_endian<uint64_t>(to, static_cast<uint32_t>(entry.kind));
    store_little_endian<uint64_t>(to + 8, entry.device);
    store_little_endian<uint64_t>(to + 16, entry.inode);
    to += kEntrySize;
  }
}

napi_value get(Call& call) {
  const ClaimInfo claim = memory_claim(call, 0, "claim");
  if (claim.path != OpenPath::none) {
    throw Failure(FailureKind::state, "ipc-memory",
                  "memory that was opened from a handle is not exported again; pass the exporter's handle on");
  }
  const Span core = call.bytes(1, "core");
  fault_point("get.export");
  std::array<uint8_t, kMaxVendorHandle> handle;
  std::vector<DescriptorEntry> entries;
  const size_t size = claim.backend->get(*claim.memory, handle.data(), entries);
  try {
    if (size > call.integer(3, "handleCapacity")) {
      throw Failure(FailureKind::argument, "capacity", "the vendor handle takes " + std::to_string(size) + " bytes");
    }
    uint8_t* const to = core.part(call.integer(2, "handleAt"), size, "the vendor handle");
    write_entries(entries, core, call.integer(4, "entriesAt"), call.integer(5, "entriesCapacity"));
    std::memcpy(to, handle.data(), size);
    return call.number(size);
  } catch (...) {
    claim.backend->put(*claim.memory);
    throw;
  }
}

napi_value put(Call& call) {
  const ClaimInfo claim = memory_claim(call, 0, "claim");
  claim.backend->put(*claim.memory);
  return nullptr;
}

napi_value open(Call& call) {
  Backend& backend = backend_argument(call, 0);
  const EnvironmentId env = call.environment();
  Registry& registry = Registry::instance();
  OpenRequest request;
  request.device = call.integer(1, "device", UINT32_MAX);
  const Span core = call.bytes(2, "core");
  request.handle_size = call.integer(4, "handleLength", kMaxVendorHandle);
  const uint8_t* const shared = core.part(call.integer(3, "handleAt"), request.handle_size, "the vendor handle");
  // Read once: another thread may write to a shared core memory while we look.
  std::array<uint8_t, kMaxVendorHandle> handle;
  std::memcpy(handle.data(), shared, request.handle_size);
  request.handle = handle.data();
  AllocationId id;
  if (!call.negative(5)) id = allocation_id(core, call.integer(5, "allocationIdAt"));
  request.allocation_nbytes = call.integer(6, "allocationNbytes");
  const ClaimId descriptor = call.integer(7, "descriptor");
  if (descriptor != 0) request.descriptor = registry.descriptor(env, descriptor);
  return deliver(call, registry.open(env, backend, request, id), 8, "open.finalizer");
}

}  // namespace

void add_memory(Methods& methods) {
  methods.push_back(method<allocate>("allocate"));
  methods.push_back(method<get>("get"));
  methods.push_back(method<put>("put"));
  methods.push_back(method<open>("open"));
}

}  // namespace usm_ipc
