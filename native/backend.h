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

// Why a backend cannot be used: empty where it can. With the driver's call where one failed.
struct Unavailable {
  std::string reason;
  std::string call;
  std::string result;
  int64_t number = 0;
};

constexpr size_t kMaxVendorHandle = 4096;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Empty when the backend can be used here; otherwise why not and what would bring it.
  virtual Unavailable unavailable() = 0;
  virtual std::vector<DeviceInfo> devices() = 0;

  virtual Memory allocate(uint32_t device, UsmType usm, uint64_t nbytes, bool read_only) = 0;
  // Gives the driver what put() has not given back yet, and then the memory unless it is adopted.
  virtual void free(Memory& memory) noexcept = 0;
  // Device USM that another library allocated: what the driver says of the allocation that holds the range. Throws
  // Failure{argument, "not-device-memory" | ...} for pointers that the driver does not know as that.
  virtual Memory adopt(uint32_t device, void* pointer, uint64_t nbytes) = 0;

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
