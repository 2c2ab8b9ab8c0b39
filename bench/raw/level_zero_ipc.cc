// Bare Level Zero: what bench/ipc.ts measures our level_zero backend against. The opaque handle's descriptor is fetched by
// the driver itself.
#include <dlfcn.h>

#include <stdexcept>

#include "ipc_party.h"
#include "level_zero/abi.h"

namespace ze = usm_ipc::ze;

struct LevelZero {
  void* loader = dlopen("libze_loader.so.1", RTLD_NOW);
  ze::Driver driver = nullptr;
  ze::Device device = nullptr;
  ze::Context context = nullptr;
  ze::CommandList list = nullptr;
  std::vector<std::pair<void*, ze::IpcMemHandle>> handles;

  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    auto* const function = reinterpret_cast<ze::Result (*)(Arguments...)>(dlsym(loader, name));
    if (function == nullptr || function(arguments...) != ze::kSuccess) throw std::runtime_error(name);
  }

  LevelZero() {
    uint32_t one = 1;
    call("zeInit", uint32_t{0});
    call("zeDriverGet", &one, &driver);
    call("zeDeviceGet", driver, &one, &device);
    ze::ContextDesc context_desc;
    call("zeContextCreate", driver, static_cast<const ze::ContextDesc*>(&context_desc), &context);
    ze::CommandQueueDesc queue_desc;
    queue_desc.mode = ze::kModeSynchronous;
    call("zeCommandListCreateImmediate", context, device, static_cast<const ze::CommandQueueDesc*>(&queue_desc), &list);
  }
  void* alloc(size_t nbytes) {
    ze::DeviceMemAllocDesc desc;
    void* p = nullptr;
    call("zeMemAllocDevice", context, static_cast<const ze::DeviceMemAllocDesc*>(&desc), nbytes, size_t{64}, device, &p);
    const uint8_t one = 1;
    call("zeCommandListAppendMemoryFill", list, p, static_cast<const void*>(&one), size_t{1}, nbytes, ze::Event{}, uint32_t{0},
         static_cast<ze::Event*>(nullptr));
    return p;
  }
  void free(void* p) { call("zeMemFree", context, p); }
  Bytes get(void* p) {
    ze::IpcMemHandle handle;
    call("zeMemGetIpcHandle", context, static_cast<const void*>(p), &handle);
    handles.emplace_back(p, handle);
    const auto* const first = reinterpret_cast<const uint8_t*>(&handle);
    return Bytes(first, first + sizeof handle);
  }
  void put() {
    call("zeMemPutIpcHandle", context, handles.back().second);
    handles.pop_back();
  }
  void* open(const Bytes& bytes) {
    ze::IpcMemHandle handle;
    std::memcpy(&handle, bytes.data(), sizeof handle);
    void* p = nullptr;
    call("zeMemOpenIpcHandle", context, device, handle, uint32_t{0}, &p);
    return p;
  }
  void close(void* p) { call("zeMemCloseIpcHandle", context, static_cast<const void*>(p)); }
  void read(void* to, void* from, size_t nbytes) {
    call("zeCommandListAppendMemoryCopy", list, to, static_cast<const void*>(from), nbytes, ze::Event{}, uint32_t{0},
         static_cast<ze::Event*>(nullptr));
  }
};

int main() {
  LevelZero level_zero;
  return serve(level_zero);
}
