// What the test programs share: `program DRIVER CASE` runs one case on the driver library, `program DRIVER` lists the
// cases. A failed expectation says where and ends the program with 1.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cuda/functions.h"

namespace usm_ipc::cu {

constexpr size_t kMiB = 1 << 20;

inline void* library = nullptr;

inline void* symbol(const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "the library has no %s\n", name);
    std::exit(1);
  }
  return found;
}

// CU(cuInit)(0)
#define CU(function) (*reinterpret_cast<functions::function*>(symbol(#function)))

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::exit(1);
}

#define EXPECT(condition)                                   \
  do {                                                      \
    if (!(condition)) fail(__FILE__, __LINE__, #condition); \
  } while (false)

#define GIVES(call, wanted)                                                                              \
  do {                                                                                                   \
    const Result got_ = (call);                                                                          \
    if (got_ != (wanted)) fail(__FILE__, __LINE__, #call " gave " + std::to_string(got_) + ", not " #wanted); \
  } while (false)

using Case = std::pair<const char*, void (*)()>;

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registered {
  Registered(const char* name, void (*run)()) { cases().emplace_back(name, run); }
};

#define CASE(name)                                        \
  static void name();                                     \
  static const Registered registered_##name(#name, name); \
  static void name()

// The first device's primary context, current.
inline Context set_up(Device device = 0) {
  GIVES(CU(cuInit)(0), kSuccess);
  Context context = nullptr;
  GIVES(CU(cuDevicePrimaryCtxRetain)(&context, device), kSuccess);
  GIVES(CU(cuCtxSetCurrent)(context), kSuccess);
  return context;
}

inline DevicePtr allocate(size_t bytes) {
  DevicePtr pointer = 0;
  GIVES(CU(cuMemAlloc_v2)(&pointer, bytes), kSuccess);
  return pointer;
}

inline size_t free_memory() {
  size_t free = 0, total = 0;
  GIVES(CU(cuMemGetInfo_v2)(&free, &total), kSuccess);
  return free;
}

inline unsigned char read_byte(DevicePtr pointer) {
  unsigned char byte = 0;
  GIVES(CU(cuMemcpyDtoH_v2)(&byte, pointer, 1), kSuccess);
  return byte;
}

inline void write_byte(DevicePtr pointer, unsigned char byte) { GIVES(CU(cuMemcpyHtoD_v2)(pointer, &byte, 1), kSuccess); }

template <typename T>
T attribute(PointerAttribute which, DevicePtr pointer) {
  T value{};
  GIVES(CU(cuPointerGetAttribute)(&value, which, pointer), kSuccess);
  return value;
}

inline MemAllocationProp physical_prop(MemHandleType type = kMemHandlePosixFd) {
  MemAllocationProp prop{};
  prop.type = kMemAllocationPinned;
  prop.requested_handle_types = type;
  prop.location = {kMemLocationDevice, 0};
  return prop;
}

inline MemHandle create_physical(size_t bytes, MemHandleType type = kMemHandlePosixFd) {
  const MemAllocationProp prop = physical_prop(type);
  MemHandle handle = 0;
  GIVES(CU(cuMemCreate)(&handle, bytes, &prop, 0), kSuccess);
  return handle;
}

inline DevicePtr reserve(size_t bytes) {
  DevicePtr pointer = 0;
  GIVES(CU(cuMemAddressReserve)(&pointer, bytes, 0, 0, 0), kSuccess);
  return pointer;
}

inline Result set_access(DevicePtr pointer, size_t bytes) {
  const MemAccessDesc access{{kMemLocationDevice, 0}, kMemAccessReadWrite};
  return CU(cuMemSetAccess)(pointer, bytes, &access, 1);
}

inline DevicePtr map(MemHandle handle, size_t bytes) {
  const DevicePtr pointer = reserve(bytes);
  GIVES(CU(cuMemMap)(pointer, bytes, 0, handle, 0), kSuccess);
  GIVES(set_access(pointer, bytes), kSuccess);
  return pointer;
}

inline MemPool create_pool(MemHandleType type = kMemHandlePosixFd) {
  MemPoolProps props{};
  props.type = kMemAllocationPinned;
  props.handle_types = type;
  props.location = {kMemLocationDevice, 0};
  MemPool pool = nullptr;
  GIVES(CU(cuMemPoolCreate)(&pool, &props), kSuccess);
  return pool;
}

inline void* as_shareable(int fd) { return reinterpret_cast<void*>(static_cast<intptr_t>(fd)); }

inline int run_cases(int count, char** arguments) {
  if (count < 2) return 2;
  if (count < 3) {
    for (const Case& it : cases()) std::puts(it.first);
    return 0;
  }
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  for (const Case& it : cases()) {
    if (std::strcmp(it.first, arguments[2]) != 0) continue;
    it.second();
    std::puts("done");
    return 0;
  }
  std::fprintf(stderr, "there is no case %s\n", arguments[2]);
  return 2;
}

}  // namespace usm_ipc::cu
