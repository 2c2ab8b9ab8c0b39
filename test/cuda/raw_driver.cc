// Another library of the process, as the tests play it: bare calls of the CUDA driver in the first device's primary
// context. Plain Node-API; every function gives or takes numbers, bigints and Uint8Arrays.
#include <dlfcn.h>
#include <node_api.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/functions.h"

using namespace usm_ipc::cu;

namespace {

using cuLaunchHostFunc = Result(Stream stream, void (*function)(void*), void* data);

void* library() {
  static void* const loaded = [] {
    const char* const path = std::getenv("USM_IPC_CUDA_DRIVER");
    void* const found = ::dlopen(path == nullptr ? "libcuda.so.1" : path, RTLD_NOW | RTLD_LOCAL);
    if (found == nullptr) throw std::runtime_error(::dlerror());
    return found;
  }();
  return loaded;
}

template <typename Function>
Function* find(const char* name) {
  auto* const function = reinterpret_cast<Function*>(::dlsym(library(), name));
  if (function == nullptr) throw std::runtime_error(std::string("no ") + name);
  return function;
}

#define CU(name) find<functions::name>(#name)

struct Failed {
  const char* call;
  Result result;
};

void check(const char* call, Result result) {
  if (result != kSuccess) throw Failed{call, result};
}
#define CHECK(name, ...) check(#name, CU(name)(__VA_ARGS__))

void enter() {
  static const Context context = [] {
    check("cuInit", CU(cuInit)(0));
    Context made = nullptr;
    check("cuDevicePrimaryCtxRetain", CU(cuDevicePrimaryCtxRetain)(&made, 0));
    return made;
  }();
  check("cuCtxSetCurrent", CU(cuCtxSetCurrent)(context));
}

class Call {
 public:
  Call(napi_env env, napi_callback_info info) : env_(env) {
    size_t count = 6;
    napi_get_cb_info(env, info, &count, values_, nullptr, nullptr);
  }
  int64_t number(int i) const {
    int64_t value = 0;
    if (napi_get_value_int64(env_, values_[i], &value) != napi_ok) throw std::runtime_error("a number was expected");
    return value;
  }
  uint64_t big(int i) const {
    uint64_t value = 0;
    bool lossless = false;
    if (napi_get_value_bigint_uint64(env_, values_[i], &value, &lossless) != napi_ok) throw std::runtime_error("a bigint was expected");
    return value;
  }
  std::string text(int i) const {
    char buffer[256];
    size_t length = 0;
    if (napi_get_value_string_utf8(env_, values_[i], buffer, sizeof buffer, &length) != napi_ok) throw std::runtime_error("a string was expected");
    return {buffer, length};
  }
  uint8_t* bytes(int i, size_t* length) const {
    void* data = nullptr;
    if (napi_get_typedarray_info(env_, values_[i], nullptr, length, &data, nullptr, nullptr) != napi_ok) throw std::runtime_error("bytes were expected");
    return static_cast<uint8_t*>(data);
  }
  napi_value of(uint64_t value) const {
    napi_value out;
    napi_create_bigint_uint64(env_, value, &out);
    return out;
  }
  napi_value of_number(double value) const {
    napi_value out;
    napi_create_double(env_, value, &out);
    return out;
  }
  napi_value of_bytes(const void* from, size_t length) const {
    void* data = nullptr;
    napi_value buffer, out;
    napi_create_arraybuffer(env_, length, &data, &buffer);
    std::memcpy(data, from, length);
    napi_create_typedarray(env_, napi_uint8_array, length, buffer, 0, &out);
    return out;
  }
  napi_value of_numbers(const std::vector<double>& values) const {
    napi_value out;
    napi_create_array(env_, &out);
    for (size_t i = 0; i < values.size(); i++) napi_set_element(env_, out, static_cast<uint32_t>(i), of_number(values[i]));
    return out;
  }

 private:
  napi_env env_;
  napi_value values_[6] = {};
};

using Method = napi_value (*)(Call&);

template <Method method>
napi_value entry(napi_env env, napi_callback_info info) {
  try {
    Call call(env, info);
    enter();
    return method(call);
  } catch (const Failed& failed) {
    const char* name = "?";
    CU(cuGetErrorName)(failed.result, &name);
    napi_throw_error(env, name, (std::string(failed.call) + ": " + (name == nullptr ? "?" : name)).c_str());
  } catch (const std::exception& error) {
    napi_throw_error(env, "RAW", error.what());
  }
  return nullptr;
}

double now() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Samples in nanoseconds.
std::vector<double> times(int64_t count, const std::function<void()>& step) {
  std::vector<double> samples;
  for (int64_t i = 0; i < count; i++) {
    const double start = now();
    step();
    samples.push_back(now() - start);
  }
  return samples;
}

napi_value alloc(Call& call) {
  DevicePtr pointer = 0;
  CHECK(cuMemAlloc_v2, &pointer, static_cast<size_t>(call.number(0)));
  return call.of(pointer);
}
napi_value free_legacy(Call& call) { CHECK(cuMemFree_v2, call.big(0)); return nullptr; }
napi_value alloc_managed(Call& call) {
  DevicePtr pointer = 0;
  CHECK(cuMemAllocManaged, &pointer, static_cast<size_t>(call.number(0)), kMemAttachGlobal);
  return call.of(pointer);
}
napi_value alloc_pinned(Call& call) {
  void* pointer = nullptr;
  CHECK(cuMemHostAlloc, &pointer, static_cast<size_t>(call.number(0)), kHostAllocPortable);
  return call.of(reinterpret_cast<uint64_t>(pointer));
}
napi_value free_pinned(Call& call) { CHECK(cuMemFreeHost, reinterpret_cast<void*>(call.big(0))); return nullptr; }
napi_value alloc_async(Call& call) {
  DevicePtr pointer = 0;
  CHECK(cuMemAllocAsync, &pointer, static_cast<size_t>(call.number(0)), nullptr);
  CHECK(cuStreamSynchronize, nullptr);
  return call.of(pointer);
}
napi_value free_async(Call& call) {
  CHECK(cuMemFreeAsync, call.big(0), nullptr);
  CHECK(cuStreamSynchronize, nullptr);
  return nullptr;
}
napi_value pool_create(Call& call) {
  MemPoolProps props{};
  props.type = kMemAllocationPinned;
  props.handle_types = call.number(0) != 0 ? kMemHandlePosixFd : kMemHandleNone;
  props.location = {kMemLocationDevice, 0};
  MemPool pool = nullptr;
  CHECK(cuMemPoolCreate, &pool, &props);
  return call.of(reinterpret_cast<uint64_t>(pool));
}
napi_value pool_alloc(Call& call) {
  DevicePtr pointer = 0;
  CHECK(cuMemAllocFromPoolAsync, &pointer, static_cast<size_t>(call.number(1)), reinterpret_cast<MemPool>(call.big(0)), nullptr);
  CHECK(cuStreamSynchronize, nullptr);
  return call.of(pointer);
}
napi_value pool_destroy(Call& call) { CHECK(cuMemPoolDestroy, reinterpret_cast<MemPool>(call.big(0))); return nullptr; }

DevicePtr map_physical(MemHandle handle, size_t nbytes) {
  DevicePtr pointer = 0;
  CHECK(cuMemAddressReserve, &pointer, nbytes, 0, 0, 0);
  CHECK(cuMemMap, pointer, nbytes, 0, handle, 0);
  const MemAccessDesc access{{kMemLocationDevice, 0}, kMemAccessReadWrite};
  CHECK(cuMemSetAccess, pointer, nbytes, &access, 1);
  return pointer;
}
// (nbytes, with a POSIX handle type): the pointer; the handle is released with the mapping.
napi_value vmm_alloc(Call& call) {
  MemAllocationProp prop{};
  prop.type = kMemAllocationPinned;
  prop.requested_handle_types = call.number(1) != 0 ? kMemHandlePosixFd : kMemHandleNone;
  prop.location = {kMemLocationDevice, 0};
  const auto nbytes = static_cast<size_t>(call.number(0));
  MemHandle handle = 0;
  CHECK(cuMemCreate, &handle, nbytes, &prop, 0);
  const DevicePtr pointer = map_physical(handle, nbytes);
  CHECK(cuMemRelease, handle);
  return call.of(pointer);
}
napi_value vmm_free(Call& call) {
  CHECK(cuMemUnmap, call.big(0), static_cast<size_t>(call.number(1)));
  CHECK(cuMemAddressFree, call.big(0), static_cast<size_t>(call.number(1)));
  return nullptr;
}

napi_value free_memory(Call& call) {
  size_t free = 0, total = 0;
  CHECK(cuMemGetInfo_v2, &free, &total);
  return call.of_number(static_cast<double>(free));
}
napi_value range_base(Call& call) {
  DevicePtr base = 0;
  size_t bytes = 0;
  CHECK(cuMemGetAddressRange_v2, &base, &bytes, call.big(0));
  return call.of(base);
}
napi_value reset(Call&) { CHECK(cuDevicePrimaryCtxReset_v2, 0); return nullptr; }
napi_value retain(Call&) {
  Context context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain, &context, 0);
  return nullptr;
}
napi_value synchronize(Call&) { CHECK(cuCtxSynchronize); return nullptr; }

napi_value ipc_get(Call& call) {
  IpcMemHandle handle;
  CHECK(cuIpcGetMemHandle, &handle, call.big(0));
  return call.of_bytes(&handle, sizeof handle);
}
IpcMemHandle handle_argument(const Call& call, int i) {
  size_t length = 0;
  const uint8_t* const bytes = call.bytes(i, &length);
  if (length != sizeof(IpcMemHandle)) throw std::runtime_error("64 bytes were expected");
  IpcMemHandle handle;
  std::memcpy(&handle, bytes, sizeof handle);
  return handle;
}
// The pointer; 0n and lastResult() where the driver refuses.
Result last_result = kSuccess;
napi_value ipc_open(Call& call) {
  DevicePtr pointer = 0;
  last_result = CU(cuIpcOpenMemHandle_v2)(&pointer, handle_argument(call, 0), kIpcMemLazyEnablePeerAccess);
  return call.of(last_result == kSuccess ? pointer : 0);
}
napi_value last(Call& call) { return call.of_number(last_result); }
napi_value ipc_close(Call& call) { return call.of_number(CU(cuIpcCloseMemHandle)(call.big(0))); }

napi_value stream_create(Call& call) {
  Stream stream = nullptr;
  CHECK(cuStreamCreate, &stream, static_cast<unsigned>(call.number(0)));
  return call.of(reinterpret_cast<uint64_t>(stream));
}
napi_value stream_destroy(Call& call) { CHECK(cuStreamDestroy_v2, reinterpret_cast<Stream>(call.big(0))); return nullptr; }
napi_value stream_query(Call& call) { return call.of_number(CU(cuStreamQuery)(reinterpret_cast<Stream>(call.big(0)))); }
// So many milliseconds of work for the stream.
napi_value sleep_on(Call& call) {
  const auto sleep = [](void* data) { ::usleep(static_cast<useconds_t>(reinterpret_cast<uintptr_t>(data))); };
  check("cuLaunchHostFunc", find<cuLaunchHostFunc>("cuLaunchHostFunc")(reinterpret_cast<Stream>(call.big(0)), sleep,
                                                                       reinterpret_cast<void*>(call.number(1) * 1000)));
  return nullptr;
}
napi_value write(Call& call) {
  size_t length = 0;
  const uint8_t* const bytes = call.bytes(1, &length);
  CHECK(cuMemcpyHtoD_v2, call.big(0), bytes, length);
  CHECK(cuCtxSynchronize);
  return nullptr;
}
napi_value read(Call& call) {
  size_t length = 0;
  uint8_t* const bytes = call.bytes(1, &length);
  CHECK(cuMemcpyDtoH_v2, bytes, call.big(0), length);
  return nullptr;
}
// (pointer, byte, nbytes, stream)
napi_value fill_async(Call& call) {
  CHECK(cuMemsetD8Async, call.big(0), static_cast<unsigned char>(call.number(1)), static_cast<size_t>(call.number(2)), reinterpret_cast<Stream>(call.big(3)));
  return nullptr;
}

// Of the software driver: which calls are to fail; how often one was made.
napi_value fail(Call& call) {
  auto* const set = reinterpret_cast<void (*)(const char*)>(::dlsym(library(), "usm_ipc_cuda_sw_fail"));
  if (set == nullptr) throw std::runtime_error("this is not the software driver");
  set(call.text(0).c_str());
  return nullptr;
}
napi_value calls(Call& call) {
  auto* const count = reinterpret_cast<unsigned long long (*)(const char*)>(::dlsym(library(), "usm_ipc_cuda_sw_calls"));
  if (count == nullptr) throw std::runtime_error("this is not the software driver");
  return call.of_number(static_cast<double>(count(call.text(0).c_str())));
}

napi_value time_get(Call& call) {
  auto* const get = CU(cuIpcGetMemHandle);
  const DevicePtr pointer = call.big(0);
  IpcMemHandle handle;
  return call.of_numbers(times(call.number(1), [&] { check("cuIpcGetMemHandle", get(&handle, pointer)); }));
}
// (handle, count): opens and closes in turn: first all times of open, then all of close.
napi_value time_open_close(Call& call) {
  auto* const open = CU(cuIpcOpenMemHandle_v2);
  auto* const close = CU(cuIpcCloseMemHandle);
  const IpcMemHandle handle = handle_argument(call, 0);
  std::vector<double> opens, closes;
  for (int64_t i = 0; i < call.number(1); i++) {
    DevicePtr pointer = 0;
    opens.push_back(times(1, [&] { check("cuIpcOpenMemHandle_v2", open(&pointer, handle, kIpcMemLazyEnablePeerAccess)); })[0]);
    closes.push_back(times(1, [&] { check("cuIpcCloseMemHandle", close(pointer)); })[0]);
  }
  opens.insert(opens.end(), closes.begin(), closes.end());
  return call.of_numbers(opens);
}
// (fd, nbytes, count)
napi_value time_vmm_open_close(Call& call) {
  const auto fd = static_cast<intptr_t>(call.number(0));
  const auto nbytes = static_cast<size_t>(call.number(1));
  std::vector<double> opens, closes;
  for (int64_t i = 0; i < call.number(2); i++) {
    DevicePtr pointer = 0;
    opens.push_back(times(1, [&] {
      MemHandle handle = 0;
      CHECK(cuMemImportFromShareableHandle, &handle, reinterpret_cast<void*>(fd), kMemHandlePosixFd);
      pointer = map_physical(handle, nbytes);
      CHECK(cuMemRelease, handle);
    })[0]);
    closes.push_back(times(1, [&] {
      CHECK(cuMemUnmap, pointer, nbytes);
      CHECK(cuMemAddressFree, pointer, nbytes);
    })[0]);
  }
  opens.insert(opens.end(), closes.begin(), closes.end());
  return call.of_numbers(opens);
}
// (pool fd, 64 bytes, count)
napi_value time_pool_open_close(Call& call) {
  const auto fd = static_cast<intptr_t>(call.number(0));
  size_t length = 0;
  MemPoolPtrExportData data;
  std::memcpy(&data, call.bytes(1, &length), sizeof data);
  std::vector<double> opens, closes;
  for (int64_t i = 0; i < call.number(2); i++) {
    DevicePtr pointer = 0;
    MemPool pool = nullptr;
    opens.push_back(times(1, [&] {
      CHECK(cuMemPoolImportFromShareableHandle, &pool, reinterpret_cast<void*>(fd), kMemHandlePosixFd, 0);
      CHECK(cuMemPoolImportPointer, &pointer, pool, &data);
    })[0]);
    closes.push_back(times(1, [&] {
      CHECK(cuMemFreeAsync, pointer, nullptr);
      CHECK(cuStreamSynchronize, nullptr);
      CHECK(cuMemPoolDestroy, pool);
    })[0]);
  }
  opens.insert(opens.end(), closes.begin(), closes.end());
  return call.of_numbers(opens);
}
// (device pointer, host pointer, nbytes, to the device, count): a pinned host pointer, or any.
napi_value time_copy(Call& call) {
  const DevicePtr device = call.big(0);
  void* const host = reinterpret_cast<void*>(call.big(1));
  const auto nbytes = static_cast<size_t>(call.number(2));
  const bool to_device = call.number(3) != 0;
  return call.of_numbers(times(call.number(4), [&] {
    if (to_device) CHECK(cuMemcpyHtoD_v2, device, host, nbytes);
    else CHECK(cuMemcpyDtoH_v2, host, device, nbytes);
    CHECK(cuCtxSynchronize);
  }));
}
// (bytes, device pointer, to the device, count): of a JavaScript buffer.
napi_value time_pageable_copy(Call& call) {
  size_t nbytes = 0;
  uint8_t* const host = call.bytes(0, &nbytes);
  const DevicePtr device = call.big(1);
  const bool to_device = call.number(2) != 0;
  return call.of_numbers(times(call.number(3), [&] {
    if (to_device) CHECK(cuMemcpyHtoD_v2, device, host, nbytes);
    else CHECK(cuMemcpyDtoH_v2, host, device, nbytes);
    CHECK(cuCtxSynchronize);
  }));
}

template <Method method>
void add(napi_env env, napi_value exports, const char* name) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, entry<method>, nullptr, &function);
  napi_set_named_property(env, exports, name, function);
}

}  // namespace

NAPI_MODULE_INIT() {
  add<alloc>(env, exports, "alloc");
  add<free_legacy>(env, exports, "free");
  add<alloc_managed>(env, exports, "allocManaged");
  add<alloc_pinned>(env, exports, "allocPinned");
  add<free_pinned>(env, exports, "freePinned");
  add<alloc_async>(env, exports, "allocAsync");
  add<free_async>(env, exports, "freeAsync");
  add<pool_create>(env, exports, "poolCreate");
  add<pool_alloc>(env, exports, "poolAlloc");
  add<pool_destroy>(env, exports, "poolDestroy");
  add<vmm_alloc>(env, exports, "vmmAlloc");
  add<vmm_free>(env, exports, "vmmFree");
  add<free_memory>(env, exports, "freeMemory");
  add<range_base>(env, exports, "rangeBase");
  add<reset>(env, exports, "resetPrimaryContext");
  add<retain>(env, exports, "retainPrimaryContext");
  add<synchronize>(env, exports, "synchronize");
  add<ipc_get>(env, exports, "ipcGet");
  add<ipc_open>(env, exports, "ipcOpen");
  add<last>(env, exports, "lastResult");
  add<ipc_close>(env, exports, "ipcClose");
  add<stream_create>(env, exports, "streamCreate");
  add<stream_destroy>(env, exports, "streamDestroy");
  add<stream_query>(env, exports, "streamQuery");
  add<sleep_on>(env, exports, "sleepOn");
  add<write>(env, exports, "write");
  add<read>(env, exports, "read");
  add<fill_async>(env, exports, "fillAsync");
  add<fail>(env, exports, "fail");
  add<calls>(env, exports, "calls");
  add<time_get>(env, exports, "timeGet");
  add<time_open_close>(env, exports, "timeOpenClose");
  add<time_vmm_open_close>(env, exports, "timeVmmOpenClose");
  add<time_pool_open_close>(env, exports, "timePoolOpenClose");
  add<time_copy>(env, exports, "timeCopy");
  add<time_pageable_copy>(env, exports, "timePageableCopy");
  return exports;
}
