// The one interface between the addon and a driver. A backend knows one driver; it keeps no books and checks no
// envelope: the core has checked the bytes and the registry owns what a backend gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "allocation_id.h"
#include "unique_fd.h"

namespace usm_ipc {

enum class UsmType : uint8_t { device = 1, host = 2, shared = 3 };

// How an allocation is made to be exported, where the driver has more than one way.
enum class Ipc : uint8_t { standard = 0, legacy = 1, fd = 2, pool = 3 };

struct DeviceInfo {
  std::string name;
  std::string type;  // SYCL's words: "gpu", "cpu", "accelerator", "host"
  uint8_t uuid[16];
  uint64_t memory;  // bytes
  bool software;    // true where no hardware of that kind is behind it
};

// What an envelope wants beside it: kind and, where the kind has one, the file identity (st_dev, st_ino).
// The wire form is docs/wire-format.md's descriptor entry.
enum class DescriptorKind : uint32_t { memfd = 1, dmabuf = 2, opaque = 3 };
struct DescriptorEntry {
  DescriptorKind kind;
  uint64_t device;
  uint64_t inode;
};

// A vendor handle's layout, as the envelope's header numbers it (assembly/wire.ts).
enum class Layout : uint8_t {
  host = 1,
  sycl_umf_level_zero_v2 = 2,
  sycl_umf_level_zero_v1 = 3,
  level_zero_classic = 4,
  level_zero_opaque = 5,
  cuda = 6,
  torch_cuda = 7,
  cuda_vmm = 9,
  cuda_pool = 10,
  cuda_event = 11,
};

// What a backend keeps with a memory beside the fields below.
struct MemoryState {
  virtual ~MemoryState() = default;
};

// A driver's memory: an allocation of ours, a mapping that open() made, or what another library allocated (adopt()).
// `base` and `nbytes` are the driver's base allocation, never an interior range. `fd`, `token` and `state` are the
// backend's own.
struct Memory {
  void* base = nullptr;
  uint64_t nbytes = 0;
  UsmType usm = UsmType::device;
  uint32_t device = 0;
  bool read_only = false;
  bool host_addressable = false;
  bool adopted = false;        // another library's: free() does not free it
  bool has_neighbours = false; // what an importer maps has more in it than this memory
  DescriptorEntry identity{};  // zero where the backend has no file identity, or where get() has not told it yet
  UniqueFd fd;
  uint64_t token = 0;
  std::unique_ptr<MemoryState> state;
};

struct OpenRequest {
  uint32_t device = 0;
  Layout layout = Layout::host;
  const uint8_t* handle = nullptr;  // the vendor handle, a native copy; the core has checked its structure
  size_t handle_size = 0;
  uint64_t allocation_nbytes = 0;   // what the envelope claims for the base allocation
  int descriptor = -1;              // borrowed; -1: none was given
  DescriptorEntry expected{};       // what the envelope says must be beside it; inode 0: nothing is said (a raw handle)
  AllocationId id;                  // zero: a raw handle
};

// What get() gives.
struct ExportedHandle {
  Layout layout = Layout::host;
  size_t size = 0;                      // of the vendor handle
  std::vector<DescriptorEntry> wanted;  // what must travel beside it
};

struct Extent {
  void* base;
  uint64_t nbytes;
};

struct AllocateRequest {
  uint32_t device = 0;
  UsmType usm = UsmType::device;
  uint64_t nbytes = 0;
  bool read_only = false;
  Ipc ipc = Ipc::standard;
};

// Why a backend cannot be used: empty where it can. With the driver's call where one failed.
struct Unavailable {
  std::string reason;
  std::string call;
  std::string result;
  int64_t number = 0;
};

constexpr size_t kMaxVendorHandle = 4096;

// A driver's event that processes share: made here, or opened from a handle.
struct Event {
  uint32_t device = 0;
  void* event = nullptr;
};

// What a backend with interprocess events has. A stream is a driver's own handle of one; 0 is its default stream.
class Events {
 public:
  virtual Event create(uint32_t device) = 0;
  // Writes the vendor handle to `out` (kMaxVendorHandle bytes at least); its length.
  virtual size_t get(const Event& event, uint8_t* out) = 0;
  virtual Event open(uint32_t device, const uint8_t* handle, size_t size) = 0;
  virtual void destroy(Event& event) noexcept = 0;
  virtual void record(const Event& event, uint64_t stream) = 0;
  // Whether what was recorded last is done.
  virtual bool query(const Event& event) = 0;
  // The stream goes on when it is.
  virtual void wait(const Event& event, uint64_t stream) = 0;

 protected:
  ~Events() = default;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Empty when the backend can be used here; otherwise why not and what would bring it.
  virtual Unavailable unavailable() = 0;
  virtual std::vector<DeviceInfo> devices() = 0;

  // Whether `ipc` of a request says anything here.
  virtual bool has_ipc_choice() { return false; }
  virtual Memory allocate(const AllocateRequest& request) = 0;
  // Gives the driver what put() has not given back yet, and then the memory unless it is adopted.
  virtual void free(Memory& memory) noexcept = 0;
  // Device USM that another library allocated: what the driver says of the allocation that holds the range. Throws
  // Failure{argument, "not-device-memory" | ...} for pointers that the driver does not know as that.
  virtual Memory adopt(uint32_t device, void* pointer, uint64_t nbytes) = 0;

  // Waits until the device has done what this process gave it, so that an importer sees all of it. Not under the registry's lock.
  virtual void synchronize(const Memory&) {}
  // Whether the driver rounds sizes up, and what is beyond them belongs to the allocation.
  virtual bool pads() { return false; }
  // Whether a mapping of this memory, which is this process's, can be opened beside it.
  virtual bool opens_own(const Memory&) { return true; }
  // Null where it has none.
  virtual Events* events() { return nullptr; }

  // Writes the vendor handle of the address `offset` bytes into the memory to `out` (kMaxVendorHandle bytes at least),
  // and enters memory.identity. get, put and descriptor are called under the registry's lock.
  virtual ExportedHandle get(Memory& memory, uint64_t offset, uint8_t* out) = 0;
  // Once for each get(), whose handle it makes invalid where the driver does.
  virtual void put(Memory& memory) noexcept = 0;
  // A duplicate of the descriptor that must travel beside the handle.
  virtual UniqueFd descriptor(Memory& memory) = 0;

  // Checks the descriptor (kind, identity, seals, size) before it maps, and patches the handle: no driver sees a foreign
  // pid or descriptor number. Throws Failure; leaves nothing behind then.
  virtual Memory open(const OpenRequest& request) = 0;
  virtual void close(Memory& memory) noexcept = 0;
  // Whether the request's vendor handle names this live memory, by the driver's idea of identity, never by comparing
  // bytes. No driver call, no descriptor.
  virtual bool names(const OpenRequest& request, const Memory& memory) = 0;

  virtual void write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes) = 0;
  virtual void read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes) = 0;
  virtual void copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
                    uint64_t nbytes) = 0;
  virtual void fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value) = 0;

  // What the driver says of the base allocation that `pointer` lies in.
  virtual Extent extent(const Memory& memory, void* pointer) = 0;
};

// All backends of this build, in a fixed order; never destroyed.
const std::vector<Backend*>& backends();

}  // namespace usm_ipc
