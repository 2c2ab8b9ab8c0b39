// The SYCL backend: USM of the platforms' default contexts, shared through the runtime's own IPC functions.
//
// Copies, fills, reads and writes go through an in-order queue of this library's own for each device and have happened
// when they return. An export waits for that queue alone: who writes with a queue of its own waits for it first.
#include "backends/sycl.h"

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/descriptor_identity.h"
#include "backends/memory_range.h"
#include "backends/sycl_base_values.h"
#include "backends/sycl_handle.h"
#include "backends/sycl_memory.h"
#include "failure.h"
#include "fault.h"

namespace usm_ipc {
namespace {

constexpr size_t kRememberedAllocations = 1024;

// What get() has given and put() has not taken back. The runtime gives one descriptor for all of them.
struct SyclState final : MemoryState {
  std::vector<GivenSyclHandle> handles;
  int descriptor = -1;  // the runtime's, good for as long as there is a handle
};

SyclState& state_of(Memory& memory) {
  if (!memory.state) memory.state = std::make_unique<SyclState>();
  return static_cast<SyclState&>(*memory.state);
}

// An importer gets the whole base allocation: of ours that must be this memory alone.
void check_alone(const Memory& memory, uint64_t offset, const SyclHandle& head) {
  const bool alone = head.base == reinterpret_cast<uint64_t>(memory.base) && head.nbytes == memory.nbytes;
  if (memory.adopted || (alone && head.offset == offset)) return;
  throw Failure(FailureKind::state, "neighbours",
                "the runtime has put this memory into a slab of " + std::to_string(head.nbytes) +
                    " bytes, and an importer would see its neighbours too: set UR_L0_DISABLE_USM_ALLOCATOR=1");
}

// How this process's own runtime makes handles.
struct OwnForm {
  Layout layout;
  LevelZeroForm level_zero;
};

class SyclBackend final : public Backend {
 public:
  const char* name() const override { return "sycl"; }

  Unavailable unavailable() override {
    std::string why;
    sycl_library(why);
    return {why, "", "", 0};
  }

  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> all;
    for (const SyclDevice& device : sycl_devices()) all.push_back(device.info);
    return all;
  }

  Memory allocate(const AllocateRequest& request) override {
    const auto& [device, usm, nbytes, read_only, ipc] = request;
    const SyclDevice& on = sycl_device(device);
    if (nbytes == 0) throw Failure(FailureKind::argument, "zero-size", "an allocation has 1 byte or more");
    if (read_only) {
      throw Failure(FailureKind::argument, "not-shareable",
                    "SYCL memory cannot be shared read-only: the runtime maps it for writing, whoever imports it");
    }
    Memory memory;
    memory.nbytes = nbytes;
    memory.usm = usm;
    memory.device = device;
    memory.host_addressable = usm != UsmType::device;
    memory.base = sycl().allocate(static_cast<usm_ipc_sycl_usm>(usm), nbytes, on.context, on.device);
    if (memory.base == nullptr) throw sycl_failure(sycl());
    return memory;
  }

  void free(Memory& memory) noexcept override {
    while (memory.state && !state_of(memory).handles.empty()) put(memory);
    memory.state.reset();
    void* const base = std::exchange(memory.base, nullptr);
    if (base != nullptr && !memory.adopted) sycl().free(reference_to(base), sycl_device(memory.device).context);
  }

  // An importer gets the whole slab that the range lies in, so that is the memory; its handle says how large it is.
  Memory adopt(uint32_t device, void* pointer, uint64_t nbytes) override {
    const SyclDevice& on = sycl_ipc_device(device);
    check_sycl_device_memory(device, pointer);
    const GivenSyclHandle handle(pointer, on);
    const SyclHandle head = read_sycl_handle(handle.bytes(), handle.size());
    Memory memory;
    memory.base = reinterpret_cast<void*>(head.base);
    memory.nbytes = head.nbytes;
    memory.device = device;
    memory.adopted = true;
    range_of_memory(memory, head.offset, nbytes);
    return memory;
  }

  ExportedHandle get(Memory& memory, uint64_t offset, uint8_t* out) override {
    const SyclDevice& on = sycl_ipc_device(memory.device);
    // One past the end is nobody's, or a neighbour's.
    void* const pointer = range_of_memory(memory, offset, 1);
    if (transfers_ > 0) check_sycl(sycl().wait(memory.device));
    SyclState& state = state_of(memory);
    state.handles.reserve(state.handles.size() + 1);
    GivenSyclHandle handle(pointer, on);
    ExportedHandle exported;
    exported.layout = sycl_layout(handle.size());
    exported.size = handle.size();
    const SyclHandle head = read_sycl_handle(handle.bytes(), handle.size());
    check_alone(memory, offset, head);
    state.descriptor = level_zero_fd(head.level_zero);
    // The memory's own, which does not change: asked once.
    if (memory.identity.inode == 0) memory.identity = identity_of_descriptor(state.descriptor);
    exported.wanted = {memory.identity};
    // Not the runtime's own bytes: in the padding of its structures is what was on the heap before.
    write_own_sycl_handle(head, exported.layout, out);
    state.handles.push_back(std::move(handle));
    return exported;
  }

  void put(Memory& memory) noexcept override {
    if (memory.state && !state_of(memory).handles.empty()) state_of(memory).handles.pop_back();
  }

  UniqueFd descriptor(Memory& memory) override {
    SyclState& state = state_of(memory);
    if (state.handles.empty()) {
      throw Failure(FailureKind::state, "not-exported",
                    "no handle of this memory is out, so its descriptor may be closed");
    }
    return duplicate_of_memory("sycl", state.descriptor, memory);
  }

  Memory open(const OpenRequest& request) override {
    const SyclDevice& on = sycl_ipc_device(request.device);
    SyclHandle handle = read_sycl_handle(request.handle, request.handle_size);
    if (request.descriptor < 0) {
      throw Failure(FailureKind::descriptor, "descriptor-missing",
                    "a SYCL handle is opened through the exporter's memory file or dma-buf, which must come beside it: "
                    "receive it over an FdChannel, pass it as `descriptor`, or allow `allowPidfd`");
    }
    const DescriptorEntry identity = check_descriptor(request.descriptor, request.expected, request.allocation_nbytes);
    const OwnForm& own = own_form(on);
    patch_level_zero_handle(handle.level_zero, own.level_zero, request.descriptor);
    handle.base = base_values_.value(request.id, identity, request.handle, request.handle_size);
    uint8_t bytes[kSyclV2HandleSize];
    write_own_sycl_handle(handle, own.layout, bytes);

    fault_point("open.map");
    const DPCTLSyclUSMRef pointer = sycl().open(reinterpret_cast<const char*>(bytes), sycl_handle_size(own.layout),
                                                on.context, on.device);
    if (pointer == nullptr) throw sycl_failure(sycl());
    Memory memory;
    memory.token = reinterpret_cast<uint64_t>(pointer);
    memory.device = request.device;
    memory.identity = identity;
    try {
      const Extent extent = check_sycl_mapping(request.device, reinterpret_cast<void*>(pointer), handle.offset);
      memory.base = extent.base;
      memory.nbytes = extent.nbytes;
    } catch (...) {
      close(memory);
      // Else the runtime would give the mapping that has just been refused to the next who asks for it.
      base_values_.forget(handle.base);
      throw;
    }
    return memory;
  }

  // The runtime keeps the mapping among its last kMaxCachedMappings.
  void close(Memory& memory) noexcept override {
    memory.base = nullptr;
    void* const pointer = reinterpret_cast<void*>(std::exchange(memory.token, 0));
    if (pointer != nullptr) sycl().close(reference_to(pointer), sycl_device(memory.device).context);
  }

  bool names(const OpenRequest& request, const Memory& memory) override {
    const DescriptorEntry& a = request.expected;
    const DescriptorEntry& b = memory.identity;
    return a.inode != 0 && a.inode == b.inode && a.device == b.device;
  }

  void write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes) override {
    transfer(to.device, range_of_memory(to, offset, nbytes), from, nbytes);
  }

  void read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes) override {
    transfer(from.device, to, range_of_memory(from, offset, nbytes), nbytes);
  }

  void copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes) override {
    transfer(to.device, range_of_memory(to, to_offset, nbytes), range_of_memory(from, from_offset, nbytes), nbytes);
  }

  void fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value) override {
    uint8_t* const target = range_of_memory(to, offset, nbytes);
    if (nbytes == 0) return;
    const Transfer running(transfers_);
    check_sycl(sycl().memset(to.device, target, value, nbytes));
    check_sycl(sycl().wait(to.device));
  }

  Extent extent(const Memory& memory, void* pointer) override {
    return sycl_extent(sycl_device(memory.device), pointer);
  }

 private:
  struct Transfer {
    explicit Transfer(std::atomic<unsigned>& count) : count(count) { count++; }
    ~Transfer() { count--; }
    std::atomic<unsigned>& count;
  };

  void transfer(uint32_t device, void* to, const void* from, uint64_t nbytes) {
    if (nbytes == 0) return;
    const Transfer running(transfers_);
    check_sycl(sycl().memcpy(device, to, from, nbytes));
    check_sycl(sycl().wait(device));
  }

  // How this process's own runtime makes handles: asked of a small allocation, once. Under the registry's lock.
  const OwnForm& own_form(const SyclDevice& on) {
    if (own_form_) return *own_form_;
    const DPCTLSyclUSMRef sample = sycl().allocate(USM_IPC_SYCL_DEVICE, 4096, on.context, on.device);
    if (sample == nullptr) throw sycl_failure(sycl());
    try {
      const GivenSyclHandle handle(sample, on);
      const SyclHandle head = read_sycl_handle(handle.bytes(), handle.size());
      own_form_ = OwnForm{sycl_layout(handle.size()), form_of_own_handle(head.level_zero)};
    } catch (...) {
      sycl().free(sample, on.context);
      throw;
    }
    sycl().free(sample, on.context);
    return *own_form_;
  }

  SyclBaseValues base_values_{kRememberedAllocations};
  std::optional<OwnForm> own_form_;
  std::atomic<unsigned> transfers_{0};
};

}  // namespace

Backend& sycl_backend() {
  static SyclBackend* const backend = new SyclBackend;  // never destroyed, as the registry is not
  return *backend;
}

}  // namespace usm_ipc
