// What the test programs share: `program DRIVER CASE` runs one case on the driver library, `program DRIVER` lists the
// cases. A failed expectation says where and ends the program with 1.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "level_zero/abi.h"
#include "level_zero/results.h"

namespace usm_ipc::ze {

using usm_ipc::ze_result_name;

inline void* library = nullptr;

inline void* symbol(const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "the library has no %s\n", name);
    std::exit(1);
  }
  return found;
}

// ZE(zeInit)(0)
#define ZE(function) (*reinterpret_cast<functions::function*>(symbol(#function)))

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::exit(1);
}

#define EXPECT(condition) \
  do {                    \
    if (!(condition)) fail(__FILE__, __LINE__, #condition); \
  } while (false)

#define GIVES(call, wanted)                                                                                   \
  do {                                                                                                        \
    const Result got_ = (call);                                                                               \
    if (got_ != (wanted)) fail(__FILE__, __LINE__, std::string(#call " gave ") + ze_result_name(got_) +       \
                                                       ", not " #wanted);                                     \
  } while (false)

using Case = std::pair<const char*, void (*)()>;

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registered {
  Registered(const char* name, void (*run)()) { cases().emplace_back(name, run); }
};

#define CASE(name)                                    \
  static void name();                                 \
  static const Registered registered_##name(#name, name); \
  static void name()

// The first device in a context of its own.
struct Setup {
  Driver driver = nullptr;
  Device device = nullptr;
  Context context = nullptr;

  Setup() {
    uint32_t count = 1;
    GIVES(ZE(zeInit)(0), kSuccess);
    GIVES(ZE(zeDriverGet)(&count, &driver), kSuccess);
    count = 1;
    GIVES(ZE(zeDeviceGet)(driver, &count, &device), kSuccess);
    const ContextDesc desc;
    GIVES(ZE(zeContextCreate)(driver, &desc, &context), kSuccess);
  }
  ~Setup() { GIVES(ZE(zeContextDestroy)(context), kSuccess); }

  template <typename T = uint8_t>
  T* allocate(size_t size, size_t alignment = 0) {
    const DeviceMemAllocDesc desc;
    void* out = nullptr;
    GIVES(ZE(zeMemAllocDevice)(context, &desc, size, alignment, device, &out), kSuccess);
    EXPECT(out != nullptr);
    return static_cast<T*>(out);
  }
  void free(void* pointer) { GIVES(ZE(zeMemFree)(context, pointer), kSuccess); }

  CommandList immediate(uint32_t mode = kModeAsynchronous) {
    CommandQueueDesc desc;
    desc.mode = mode;
    CommandList list = nullptr;
    GIVES(ZE(zeCommandListCreateImmediate)(context, device, &desc, &list), kSuccess);
    return list;
  }

  EventPool pool(uint32_t count, uint32_t flags = kPoolHostVisible, const void* next = nullptr) {
    EventPoolDesc desc;
    desc.next = next;
    desc.flags = flags;
    desc.count = count;
    EventPool made = nullptr;
    GIVES(ZE(zeEventPoolCreate)(context, &desc, 0, nullptr, &made), kSuccess);
    return made;
  }
  Event event(EventPool in, uint32_t index = 0) {
    EventDesc desc;
    desc.index = index;
    Event made = nullptr;
    GIVES(ZE(zeEventCreate)(in, &desc, &made), kSuccess);
    return made;
  }
};

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

}  // namespace usm_ipc::ze
