// Plain Level Zero. Device USM is exported and imported by the driver's own 64-byte handles, in whichever of their two
// forms this process's driver has; host and shared USM are private.
#include "backends/level_zero.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "backends/descriptor_identity.h"
#include "backends/level_zero_api.h"
#include "backends/level_zero_copies.h"
#include "backends/level_zero_devices.h"
#include "backends/level_zero_handle.h"
#include "backends/level_zero_memory.h"
#include "failure.h"

namespace usm_ipc {
namespace {

// An allocation's handle is got from the driver once for all of its exports: drivers differ in whether a further get
// gives the same one.
struct Exports : MemoryState {
  ze::IpcMemHandle handle;
  uint64_t count = 0;
};

Exports& exports_of(Memory& memory) { return static_cast<Exports&>(*memory.state); }

ze::Context context_of(const Memory& memory) { return level_zero_device(memory.device).context; }

Layout layout_of(LevelZeroForm form) {
  return form == LevelZeroForm::classic ? Layout::level_zero_classic : Layout::level_zero_opaque;
}

// What the file must have for the driver to map what the handle says.
uint64_t wanted_bytes(const OpenRequest& request) {
  const uint64_t pool_offset = level_zero_pool_offset(request.handle);
  const uint64_t room = UINT64_MAX - pool_offset;
  return request.allocation_nbytes > room ? UINT64_MAX : request.allocation_nbytes + pool_offset;
}

void check_request(const OpenRequest& request) {
  if (request.handle_size != kLevelZeroHandleSize) {
    throw Failure(FailureKind::argument, "invalid-vendor-handle", "a Level Zero handle has 64 bytes");
  }
  if (request.descriptor < 0) {
    throw Failure(FailureKind::descriptor, "descriptor-missing",
                  "a Level Zero handle is opened through the exporter's descriptor, which must come beside it: receive "
                  "it over an FdChannel, pass it as `descriptor`, or allow `allowPidfd`");
  }
}

ze::IpcMemHandle patched_handle(const OpenRequest& request, LevelZeroForm form) {
  if (request.layout != layout_of(form)) {
    throw Failure(FailureKind::descriptor, "wrong-handle-form",
                  std::string("this process's Level Zero driver reads the ") +
                      (form == LevelZeroForm::classic ? "classic" : "opaque") +
                      " form of handles, and this one has another; export and import with drivers of one kind");
  }
  ze::IpcMemHandle handle;
  std::memcpy(handle.data, request.handle, sizeof handle.data);
  patch_level_zero_handle(handle.data, form, request.descriptor);
  return handle;
}

// The descriptor's number is the driver's, which keeps it open until the handle is put.
void begin_export(Memory& memory, Exports& exports) {
  const ze::Context context = context_of(memory);
  exports.handle = get_handle(context, memory.base);
  try {
    if (level_zero_pool_offset(exports.handle.data) != 0) {
      throw Failure(FailureKind::state, "neighbours",
                    "the driver keeps this memory in a pool with others, which an importer would see too; share a "
                    "larger allocation");
    }
    // The memory's own, which does not change. Asked once: another thread that has the memory open may read it for a copy.
    if (memory.identity.inode == 0) {
      memory.identity = identity_of_descriptor(level_zero_fd(exports.handle.data));
    }
  } catch (...) {
    put_handle(context, exports.handle);
    throw;
  }
}

constexpr char kClassicAdvice[] = "the descriptor beside the handle is the right one; the driver refuses it";
constexpr char kOpaqueAdvice[] =
    "the descriptor beside the handle is the right one; this driver duplicates it by pidfd_getfd(2), which a seccomp "
    "profile can forbid (Docker's default one does without CAP_SYS_PTRACE)";

class LevelZeroBackend final : public Backend {
 public:
  const char* name() const override { return "level_zero"; }

  Unavailable unavailable() override {
    try {
      level_zero_devices();
      return {};
    } catch (const Failure& failure) {
      return {failure.what(), failure.call, failure.result, failure.number};
    } catch (const std::exception& error) {
      return {error.what(), "", "", 0};
    }
  }

  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> infos;
    for (const auto& device : level_zero_devices()) infos.push_back(device->info);
    return infos;
  }

  Memory allocate(const AllocateRequest& request) override {
    const auto& [index, usm, nbytes, read_only, ipc] = request;
    if (nbytes == 0) throw Failure(FailureKind::argument, "zero-size", "an allocation has 1 byte or more");
    if (read_only) {
      throw Failure(FailureKind::argument, "not-shareable",
                    "Level Zero has no read-only sharing: every importer of the memory can write to it");
    }
    const LevelZeroDevice& device = level_zero_device(index);
    Memory memory;
    memory.nbytes = nbytes;
    memory.usm = usm;
    memory.device = index;
    memory.host_addressable = usm != UsmType::device;
    memory.state = std::make_unique<Exports>();
    memory.base = allocate_usm(device, usm, nbytes);
    return memory;
  }

  void free(Memory& memory) noexcept override {
    while (memory.state != nullptr && exports_of(memory).count > 0) put(memory);
    if (!memory.adopted && memory.base != nullptr) {
      level_zero_api().zeMemFree(context_of(memory), memory.base);
    }
    memory.base = nullptr;
  }

  Memory adopt(uint32_t index, void* pointer, uint64_t nbytes) override {
    const LevelZeroDevice& device = level_zero_device(index);
    const MemoryOwner owner = owner_of(device.context, pointer);
    if (owner.type != ze::kMemoryDevice) {
      throw Failure(FailureKind::argument, "not-device-memory",
                    "the Level Zero driver does not know this pointer as USM device memory");
    }
    if (!device.is_or_has(owner.device)) {
      throw Failure(FailureKind::argument, "wrong-device", "the memory belongs to another device");
    }
    const Extent extent = range_of(device.context, pointer);
    if (nbytes == 0 || bytes_from(extent, pointer) < nbytes) {
      throw Failure(FailureKind::argument, "out-of-bounds",
                    "the range is not inside the allocation, which has " + std::to_string(extent.nbytes) + " bytes");
    }
    Memory memory;
    memory.state = std::make_unique<Exports>();
    memory.base = extent.base;
    memory.nbytes = extent.nbytes;
    memory.device = index;
    memory.adopted = true;
    return memory;
  }

  ExportedHandle get(Memory& memory, uint64_t, uint8_t* out) override {
    if (memory.usm != UsmType::device) {
      throw Failure(FailureKind::state, "not-shareable",
                    "only device USM can be shared; host and shared USM are private");
    }
    Exports& exports = exports_of(memory);
    if (exports.count == 0) begin_export(memory, exports);
    ExportedHandle exported;
    exported.wanted.push_back(memory.identity);
    exported.layout = layout_of(form_of_own_handle(exports.handle.data));
    exported.size = kLevelZeroHandleSize;
    std::memcpy(out, exports.handle.data, kLevelZeroHandleSize);
    ++exports.count;
    return exported;
  }

  void put(Memory& memory) noexcept override {
    Exports& exports = exports_of(memory);
    if (exports.count == 0 || --exports.count > 0) return;
    put_handle(context_of(memory), exports.handle);
  }

  UniqueFd descriptor(Memory& memory) override {
    const Exports& exports = exports_of(memory);
    if (exports.count == 0) {
      throw Failure(FailureKind::state, "not-exported", "memory has a descriptor while it is exported");
    }
    return duplicate_of_memory("level_zero", level_zero_fd(exports.handle.data), memory);
  }

  Memory open(const OpenRequest& request) override {
    LevelZeroDevice& device = level_zero_device(request.device);
    check_request(request);
    Memory memory;
    memory.device = request.device;
    memory.token = level_zero_pool_offset(request.handle);
    memory.identity = check_descriptor(request.descriptor, request.expected, wanted_bytes(request));
    const LevelZeroForm form = form_of(device);
    const ze::IpcMemHandle handle = patched_handle(request, form);
    void* const base = open_handle(device, handle, form == LevelZeroForm::classic ? kClassicAdvice : kOpaqueAdvice);
    try {
      memory.nbytes = bytes_from(range_of(device.context, base), base);
    } catch (...) {
      level_zero_api().zeMemCloseIpcHandle(device.context, base);
      throw;
    }
    memory.base = base;
    return memory;
  }

  void close(Memory& memory) noexcept override {
    if (memory.base == nullptr) return;
    level_zero_api().zeMemCloseIpcHandle(context_of(memory), std::exchange(memory.base, nullptr));
  }

  bool names(const OpenRequest& request, const Memory& memory) override {
    return names_same_file(request.expected, memory.identity) &&
           level_zero_pool_offset(request.handle) == memory.token;
  }

  void write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes) override {
    level_zero_write(to, offset, from, nbytes);
  }
  void read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes) override {
    level_zero_read(from, offset, to, nbytes);
  }
  void copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes) override {
    level_zero_copy(to, to_offset, from, from_offset, nbytes);
  }
  void fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value) override {
    level_zero_fill(to, offset, nbytes, value);
  }

  Extent extent(const Memory& memory, void* pointer) override {
    return range_of(context_of(memory), pointer);
  }
};

}  // namespace

Backend& level_zero_backend() {
  static LevelZeroBackend* const backend = new LevelZeroBackend;  // never destroyed, as the registry is not
  return *backend;
}

}  // namespace usm_ipc
