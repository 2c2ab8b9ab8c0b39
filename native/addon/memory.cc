// Making memory, exporting it, opening it.
#include <array>
#include <cstring>
#include <string>

#include "addon/arguments.h"
#include "addon/claims.h"
#include "addon/methods.h"
#include "little_endian.h"

namespace usm_ipc {
namespace {

constexpr size_t kEntrySize = 24;  // a descriptor entry on the wire
constexpr size_t kEntriesHead = 8;

napi_value allocate(Call& call) {
  Backend& backend = backend_argument(call, 0);
  AllocateRequest request;
  request.device = call.integer(1, "device", UINT32_MAX);
  const uint32_t usm = call.integer(2, "usm", 3);
  if (usm == 0) throw Failure(FailureKind::argument, "invalid-argument", "usm must be 1, 2 or 3");
  request.usm = static_cast<UsmType>(usm);
  request.nbytes = call.integer(3, "nbytes");
  request.read_only = call.boolean(4, "readOnly");
  const AllocationId id = allocation_id(call.bytes(5, "core"), call.integer(6, "allocationIdAt"));
  request.ipc = static_cast<Ipc>(call.integer(8, "ipc", static_cast<uint32_t>(Ipc::pool)));
  if (request.ipc != Ipc::standard && !backend.has_ipc_choice()) {
    throw Failure(FailureKind::argument, "invalid-argument",
                  std::string("memory of ") + backend.name() + " is exported in one way only");
  }
  const ClaimId claim = Registry::instance().allocate(call.environment(), backend, request, id);
  return deliver(call, claim, 7, "allocate.finalizer");
}

napi_value adopt(Call& call) {
  Backend& backend = backend_argument(call, 0);
  const uint32_t device = call.integer(1, "device", UINT32_MAX);
  const uint64_t pointer = call.bigint(2, "pointer");
  const uint64_t nbytes = call.integer(3, "nbytes");
  const AllocationId id = allocation_id(call.bytes(4, "core"), call.integer(5, "allocationIdAt"));
  const ClaimId claim = Registry::instance().adopt(call.environment(), backend, device,
                                                   reinterpret_cast<void*>(pointer), nbytes, id);
  return deliver(call, claim, 6, "allocate.finalizer");
}

// u32 count, u32 layout; then the entries.
void write_entries(const ExportedHandle& exported, const Span& core, uint64_t at, uint64_t capacity) {
  const uint64_t size = kEntriesHead + exported.wanted.size() * kEntrySize;
  if (size > capacity) {
    throw Failure(FailureKind::argument, "capacity", "the descriptor entries take " + std::to_string(size) + " bytes");
  }
  uint8_t* to = core.part(at, size, "the descriptor entries");
  store_little_endian<uint32_t>(to, static_cast<uint32_t>(exported.wanted.size()));
  store_little_endian<uint32_t>(to + 4, static_cast<uint32_t>(exported.layout));
  to += kEntriesHead;
  for (const DescriptorEntry& entry : exported.wanted) {
    store_little_endian<uint64_t>(to, static_cast<uint32_t>(entry.kind));
    store_little_endian<uint64_t>(to + 8, entry.device);
    store_little_endian<uint64_t>(to + 16, entry.inode);
    to += kEntrySize;
  }
}

napi_value get(Call& call) {
  const EnvironmentId env = call.environment();
  const ClaimId claim = call.integer(0, "claim");
  const uint64_t offset = call.integer(1, "offset");
  const Span core = call.bytes(2, "core");
  Registry& registry = Registry::instance();
  std::array<uint8_t, kMaxVendorHandle> handle;
  const bool synchronize = call.boolean(7, "synchronize");
  const ExportedHandle exported = registry.get(env, claim, offset, handle.data(), synchronize);
  try {
    if (exported.size > call.integer(4, "handleCapacity")) {
      throw Failure(FailureKind::argument, "capacity",
                    "the vendor handle takes " + std::to_string(exported.size) + " bytes");
    }
    uint8_t* const to = core.part(call.integer(3, "handleAt"), exported.size, "the vendor handle");
    write_entries(exported, core, call.integer(5, "entriesAt"), call.integer(6, "entriesCapacity"));
    std::memcpy(to, handle.data(), exported.size);
    return call.number(exported.size);
  } catch (...) {
    registry.put(env, claim);
    throw;
  }
}

napi_value put(Call& call) {
  Registry::instance().put(call.environment(), call.integer(0, "claim"));
  return nullptr;
}

DescriptorEntry descriptor_entry(const Span& core, uint64_t at) {
  const uint8_t* const bytes = core.part(at, kEntrySize, "the descriptor entry");
  return {static_cast<DescriptorKind>(load_little_endian<uint32_t>(bytes)), load_little_endian<uint64_t>(bytes + 8),
          load_little_endian<uint64_t>(bytes + 16)};
}

napi_value open(Call& call) {
  Backend& backend = backend_argument(call, 0);
  const EnvironmentId env = call.environment();
  Registry& registry = Registry::instance();
  OpenRequest request;
  request.device = call.integer(1, "device", UINT32_MAX);
  request.layout = static_cast<Layout>(call.integer(2, "layout", UINT8_MAX));
  const Span core = call.bytes(3, "core");
  request.handle_size = call.integer(5, "handleLength", kMaxVendorHandle);
  const uint8_t* const shared = core.part(call.integer(4, "handleAt"), request.handle_size, "the vendor handle");
  // Read once: another thread may write to a shared core memory while we look.
  std::array<uint8_t, kMaxVendorHandle> handle;
  std::memcpy(handle.data(), shared, request.handle_size);
  request.handle = handle.data();
  if (!call.negative(6)) request.id = allocation_id(core, call.integer(6, "allocationIdAt"));
  request.allocation_nbytes = call.integer(7, "allocationNbytes");
  if (!call.negative(8)) request.expected = descriptor_entry(core, call.integer(8, "entryAt"));
  const ClaimId descriptor = call.integer(9, "descriptor");
  if (descriptor != 0) request.descriptor = registry.descriptor(env, descriptor);
  return deliver(call, registry.open(env, backend, request), 10, "open.finalizer");
}

}  // namespace

void add_memory(Methods& methods) {
  methods.push_back(method<allocate>("allocate"));
  methods.push_back(method<adopt>("adopt"));
  methods.push_back(method<get>("get"));
  methods.push_back(method<put>("put"));
  methods.push_back(method<open>("open"));
}

}  // namespace usm_ipc
