// The host backend: device USM is a sealed memfd that other processes can map; host and shared USM are private memory.
#include "backends/host.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstring>

#include "backends/host_handle.h"
#include "backends/memory_range.h"
#include "backends/sealed_memfd.h"
#include "failure.h"
#include "fault.h"
#include "process_identity.h"

namespace usm_ipc {
namespace {

// Unmaps unless the memory is handed over.
void unmap(void* base, uint64_t nbytes) noexcept {
  count_call("munmap");
  ::munmap(base, nbytes);
}

class Mapping {
 public:
  Mapping(uint64_t nbytes, int protection, int flags, int fd) : nbytes_(nbytes) {
    count_call("mmap");
    base_ = ::mmap(nullptr, nbytes, protection, flags, fd, 0);
    if (base_ == MAP_FAILED) {
      throw system_failure("host", "mmap", errno,
                           errno == EACCES ? "the descriptor must be open for what the handle allows" : "");
    }
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (base_ != nullptr) unmap(base_, nbytes_);
  }
  void* release() { return std::exchange(base_, nullptr); }

 private:
  void* base_;
  uint64_t nbytes_;
};

struct MachineMemory {
  uint64_t physical;
  uint64_t swap;
};

MachineMemory machine_memory() {
  struct sysinfo info;
  if (::sysinfo(&info) != 0) throw system_failure("host", "sysinfo", errno);
  return {uint64_t{info.totalram} * info.mem_unit, uint64_t{info.totalswap} * info.mem_unit};
}

// Memory files are not charged before they are touched: what can never be there must be refused now, not at a touch.
void check_size(uint64_t nbytes) {
  if (nbytes == 0) throw Failure(FailureKind::argument, "zero-size", "an allocation has 1 byte or more");
  const MachineMemory memory = machine_memory();
  if (nbytes <= memory.physical + memory.swap) return;
  throw system_failure("host", "mmap", ENOMEM,
                       std::to_string(nbytes) + " bytes were asked for, memory and swap have " +
                           std::to_string(memory.physical + memory.swap));
}

std::string processor_name() {
  std::string info;
  try {
    info = read_proc("/proc/cpuinfo");
  } catch (const Failure&) {
    // It is only a name.
  }
  const std::string label = "model name";
  const size_t at = info.find(label);
  const size_t colon = at == std::string::npos ? at : info.find(": ", at);
  if (colon != std::string::npos) return info.substr(colon + 2, info.find('\n', colon) - colon - 2);
  struct utsname system;
  return ::uname(&system) == 0 ? system.machine : "unknown processor";
}

// One boot of one kernel is one device, whichever process or container asks. RFC 9562's version 8: our own recipe.
void device_uuid(uint8_t* uuid) {
  static const char domain[] = "usm-ipc host mem";
  static_assert(sizeof domain == 16 + 1);
  const BootId boot = boot_id();
  for (size_t i = 0; i < boot.size(); i++) uuid[i] = boot[i] ^ static_cast<uint8_t>(domain[i]);
  uuid[6] = (uuid[6] & 0x0f) | 0x80;
  uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

void check_device(uint32_t device) {
  if (device != 0) throw Failure(FailureKind::argument, "no-such-device", "the host backend has device 0 alone");
}

// An import of read-only memory is mapped without PROT_WRITE. The exporter, who has the descriptor, may write.
uint8_t* writable_at(const Memory& memory, uint64_t offset, uint64_t nbytes) {
  if (memory.read_only && !memory.fd) {
    throw Failure(FailureKind::state, "read-only", "this memory was shared read-only: only its exporter may write");
  }
  return range_of_memory(memory, offset, nbytes);
}

bool same_file(const DescriptorEntry& a, const DescriptorEntry& b) {
  return a.inode != 0 && a.inode == b.inode && a.device == b.device;
}

class HostBackend final : public Backend {
 public:
  const char* name() const override { return "host"; }
  Unavailable unavailable() override { return {}; }

  std::vector<DeviceInfo> devices() override {
    DeviceInfo device{};
    device.name = "Host memory (" + processor_name() + ")";
    device.type = "host";
    device_uuid(device.uuid);
    device.memory = machine_memory().physical;
    device.software = false;
    return {device};
  }

  Memory allocate(const AllocateRequest& request) override {
    const auto& [device, usm, nbytes, read_only, ipc] = request;
    check_device(device);
    check_size(nbytes);
    Memory memory;
    memory.nbytes = nbytes;
    memory.usm = usm;
    memory.read_only = read_only;
    memory.host_addressable = true;
    if (usm == UsmType::device) {
      share(memory);
    } else if (read_only) {
      throw Failure(FailureKind::argument, "not-shareable", "only device USM can be shared read-only");
    } else {
      fault_point("allocate.map");
      memory.base = Mapping(nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1).release();
    }
    return memory;
  }

  void free(Memory& memory) noexcept override { close(memory); }

  Memory adopt(uint32_t, void*, uint64_t) override {
    throw Failure(FailureKind::argument, "not-device-memory",
                  "host memory that another library allocated has no descriptor that could travel, so it cannot be "
                  "shared; copy it into a MemoryUSMDevice");
  }

  ExportedHandle get(Memory& memory, uint64_t, uint8_t* out) override {
    check_shared(memory);
    const DescriptorEntry& file = memory.identity;
    write_host_handle({file.device, file.inode, memory.nbytes, memory.fd.get(), memory.read_only}, out);
    return {Layout::host, kHostHandleSize, {file}};
  }

  void put(Memory&) noexcept override {}

  UniqueFd descriptor(Memory& memory) override {
    check_shared(memory);
    fault_point("descriptor.duplicate");
    UniqueFd copy = duplicate_fd(memory.fd.get());
    if (!copy) throw system_failure("system", "fcntl", errno, errno == EMFILE ? "raise `ulimit -n`" : "F_DUPFD_CLOEXEC");
    return copy;
  }

  Memory open(const OpenRequest& request) override {
    check_device(request.device);
    if (request.layout != Layout::host) {
      throw Failure(FailureKind::argument, "invalid-vendor-handle", "the host backend opens handles of its own layout");
    }
    const HostHandle handle = read_host_handle(request.handle, request.handle_size);
    if (request.descriptor < 0) {
      throw Failure(FailureKind::descriptor, "descriptor-missing",
                    "a host handle is opened through the exporter's memfd, which must come beside it: receive it over "
                    "an FdChannel, pass it as `descriptor`, or allow `allowPidfd`");
    }
    check_memfd(request.descriptor, handle, request.allocation_nbytes);
    fault_point("open.map");
    Memory memory;
    memory.nbytes = handle.nbytes;
    memory.read_only = handle.read_only;
    memory.host_addressable = true;
    memory.identity = {DescriptorKind::memfd, handle.device, handle.inode};
    const int protection = handle.read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    memory.base = Mapping(handle.nbytes, protection, MAP_SHARED, request.descriptor).release();
    return memory;
  }

  void close(Memory& memory) noexcept override {
    if (memory.base != nullptr) unmap(std::exchange(memory.base, nullptr), memory.nbytes);
    memory.fd.reset();
  }

  bool names(const OpenRequest& request, const Memory& memory) override {
    const HostHandle handle = read_host_handle(request.handle, request.handle_size);
    return same_file(memory.identity, {DescriptorKind::memfd, handle.device, handle.inode}) &&
           handle.nbytes == memory.nbytes && handle.read_only == memory.read_only;
  }

  void write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes) override {
    uint8_t* const target = writable_at(to, offset, nbytes);
    if (nbytes > 0) std::memmove(target, from, nbytes);
  }

  void read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes) override {
    const uint8_t* const source = range_of_memory(from, offset, nbytes);
    if (nbytes > 0) std::memmove(to, source, nbytes);
  }

  void copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes) override {
    uint8_t* const target = writable_at(to, to_offset, nbytes);
    const uint8_t* source = range_of_memory(from, from_offset, nbytes);
    // memmove() sees an overlap by address alone, so two mappings of one file are copied through one of them.
    const bool fits = nbytes <= to.nbytes && from_offset <= to.nbytes - nbytes;
    if (fits && same_file(to.identity, from.identity)) source = range_of_memory(to, from_offset, nbytes);
    std::memmove(target, source, nbytes);
  }

  void fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value) override {
    std::memset(writable_at(to, offset, nbytes), value, nbytes);
  }

  Extent extent(const Memory& memory, void*) override { return {memory.base, memory.nbytes}; }

 private:
  static void check_shared(const Memory& memory) {
    if (memory.fd) return;
    throw Failure(FailureKind::state, "not-shareable",
                  "host and shared USM of the host backend are private memory; allocate device USM to share it");
  }

  // Mapped before it is sealed: after F_SEAL_FUTURE_WRITE there are no new writable mappings, the exporter's included.
  static void share(Memory& memory) {
    UniqueFd fd = create_memfd(memory.nbytes);
    fault_point("allocate.map");
    Mapping mapping(memory.nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get());
    seal_memfd(fd.get(), memory.read_only);
    memory.identity = identity_of_memfd(fd.get());
    memory.fd = std::move(fd);
    memory.base = mapping.release();
  }
};

}  // namespace

Backend& host_backend() {
  static HostBackend* const backend = new HostBackend;  // never destroyed, as the registry is not
  return *backend;
}

}  // namespace usm_ipc
