// One process: what may be called when, memory of each kind, and what is said of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "program.h"

using namespace usm_ipc::cu;

CASE(nothing_goes_before_initialization_or_without_a_context) {
  int count = 0;
  DevicePtr pointer = 0;
  GIVES(CU(cuDeviceGetCount)(&count), kNotInitialized);
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kNotInitialized);
  GIVES(CU(cuInit)(1), kInvalidValue);
  GIVES(CU(cuInit)(0), kSuccess);
  GIVES(CU(cuDeviceGetCount)(&count), kSuccess);
  EXPECT(count == 1);
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kInvalidContext);
  Context context = nullptr;
  GIVES(CU(cuDevicePrimaryCtxRetain)(&context, 1), kInvalidDevice);
  GIVES(CU(cuCtxPushCurrent_v2)(nullptr), kInvalidContext);
  GIVES(CU(cuCtxPopCurrent_v2)(&context), kInvalidContext);
  GIVES(CU(cuDevicePrimaryCtxRelease_v2)(0), kInvalidContext);
}

CASE(a_forked_child_has_no_driver) {
  set_up();
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    DevicePtr pointer = 0;
    const bool is_refused = CU(cuInit)(0) == kNotInitialized && CU(cuDeviceGetCount)(&count) == kNotInitialized &&
                            CU(cuMemAlloc_v2)(&pointer, 1) == kNotInitialized;
    _exit(is_refused ? 0 : 1);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

CASE(contexts_are_a_stack) {
  const Context context = set_up();
  Context current = nullptr, popped = nullptr;
  Device device = 9;
  GIVES(CU(cuCtxPushCurrent_v2)(context), kSuccess);
  GIVES(CU(cuCtxPopCurrent_v2)(&popped), kSuccess);
  GIVES(CU(cuCtxGetCurrent)(&current), kSuccess);
  GIVES(CU(cuCtxGetDevice)(&device), kSuccess);
  EXPECT(popped == context && current == context && device == 0);
  GIVES(CU(cuCtxEnablePeerAccess)(context, 0), kInvalidContext);
  GIVES(CU(cuCtxSetCurrent)(nullptr), kSuccess);
  GIVES(CU(cuCtxSynchronize)(), kInvalidContext);
}

CASE(small_allocations_are_cut_from_one_block) {
  set_up();
  const DevicePtr one = allocate(1), other = allocate(4096), large = allocate(3 * kMiB);
  EXPECT(one % (2 * kMiB) == 0 && other == one + 512 && large % (2 * kMiB) == 0);
  DevicePtr base = 0;
  size_t bytes = 0;
  GIVES(CU(cuMemGetAddressRange_v2)(&base, &bytes, other + 4095), kSuccess);
  EXPECT(base == other && bytes == 4096);
  EXPECT(attribute<size_t>(kPointerRangeSize, large + 5) == 3 * kMiB);
  EXPECT(attribute<unsigned>(kPointerIsLegacyIpcCapable, one) == 1);
  EXPECT(attribute<uint64_t>(kPointerBufferId, one) != attribute<uint64_t>(kPointerBufferId, other));
  unsigned char byte = 0;
  GIVES(CU(cuMemcpyDtoH_v2)(&byte, one + 1, 1), kInvalidValue);
  GIVES(CU(cuMemcpyHtoD_v2)(other + 4095, "ab", 2), kInvalidValue);
  GIVES(CU(cuMemFree_v2)(other + 1), kInvalidValue);
  for (const DevicePtr pointer : {one, other, large}) GIVES(CU(cuMemFree_v2)(pointer), kSuccess);
  GIVES(CU(cuMemFree_v2)(one), kInvalidValue);
  GIVES(CU(cuMemGetAddressRange_v2)(&base, &bytes, other), kNotFound);
}

CASE(memory_runs_out) {
  set_up();
  const size_t all = free_memory();
  EXPECT(all == 8 * kMiB);
  DevicePtr pointer = 0;
  GIVES(CU(cuMemAlloc_v2)(&pointer, all + 1), kOutOfMemory);
  GIVES(CU(cuMemAlloc_v2)(&pointer, all), kSuccess);
  MemHandle handle = 0;
  const MemAllocationProp prop = physical_prop();
  GIVES(CU(cuMemCreate)(&handle, 2 * kMiB, &prop, 0), kOutOfMemory);
  GIVES(CU(cuMemAllocAsync)(&pointer, 1, nullptr), kOutOfMemory);
  GIVES(CU(cuMemFree_v2)(pointer), kSuccess);
  for (const MemHandleType type : {kMemHandleNone, kMemHandlePosixFd}) {
    const MemHandle created = create_physical(2 * kMiB, type);
    EXPECT(free_memory() == all - 2 * kMiB);
    GIVES(CU(cuMemRelease)(created), kSuccess);
    EXPECT(free_memory() == all);
  }
}

CASE(only_memory_of_cuMemAlloc_has_a_handle) {
  set_up();
  IpcMemHandle handle;
  const auto is_refused = [&](DevicePtr pointer, unsigned type) {
    GIVES(CU(cuIpcGetMemHandle)(&handle, pointer), kInvalidValue);
    EXPECT(attribute<unsigned>(kPointerIsLegacyIpcCapable, pointer) == 0);
    EXPECT(attribute<unsigned>(kPointerMemoryType, pointer) == type);
  };
  DevicePtr managed = 0, async = 0;
  void* pinned = nullptr;
  GIVES(CU(cuMemAllocManaged)(&managed, 100, kMemAttachGlobal), kSuccess);
  is_refused(managed, kMemoryTypeDevice);
  EXPECT(attribute<unsigned>(kPointerIsManaged, managed) == 1);
  GIVES(CU(cuMemAllocHost_v2)(&pinned, 100), kSuccess);
  is_refused(reinterpret_cast<DevicePtr>(pinned), kMemoryTypeHost);
  GIVES(CU(cuMemAllocAsync)(&async, 100, nullptr), kSuccess);
  is_refused(async, kMemoryTypeDevice);
  MemPool pool = nullptr;
  GIVES(CU(cuDeviceGetDefaultMemPool)(&pool, 0), kSuccess);
  EXPECT(attribute<MemPool>(kPointerMemPool, async) == pool);
  EXPECT(attribute<uint64_t>(kPointerAllowedHandleTypes, async) == 0);
  const MemHandle physical = create_physical(2 * kMiB);
  is_refused(map(physical, 2 * kMiB), kMemoryTypeDevice);
  int local = 0;
  GIVES(CU(cuIpcGetMemHandle)(&handle, reinterpret_cast<DevicePtr>(&local)), kInvalidValue);
  unsigned type = 9;
  GIVES(CU(cuPointerGetAttribute)(&type, kPointerMemoryType, reinterpret_cast<DevicePtr>(&local)), kInvalidValue);
  PointerAttribute asked[] = {kPointerMemoryType, kPointerDeviceOrdinal};
  int ordinal = 9;
  void* values[] = {&type, &ordinal};
  GIVES(CU(cuPointerGetAttributes)(2, asked, values, reinterpret_cast<DevicePtr>(&local)), kSuccess);
  EXPECT(type == 0 && ordinal == -2);
  GIVES(CU(cuMemFree_v2)(managed), kSuccess);
  GIVES(CU(cuMemFree_v2)(async), kSuccess);
  GIVES(CU(cuMemFreeHost)(pinned), kSuccess);
}

CASE(a_handle_is_the_allocation_s_and_does_not_open_where_it_was_made) {
  set_up();
  const DevicePtr one = allocate(1000), other = allocate(1000);
  IpcMemHandle base, interior, second;
  GIVES(CU(cuIpcGetMemHandle)(&base, one), kSuccess);
  GIVES(CU(cuIpcGetMemHandle)(&interior, one + 999), kSuccess);
  GIVES(CU(cuIpcGetMemHandle)(&second, other), kSuccess);
  EXPECT(std::memcmp(&base, &interior, sizeof base) == 0 && std::memcmp(&base, &second, sizeof base) != 0);
  uint64_t process = 0, bytes = 0;
  std::memcpy(&process, base.reserved + 8, 8);
  std::memcpy(&bytes, base.reserved + 16, 8);
  EXPECT(process == static_cast<uint64_t>(getpid()) && bytes == 1000);
  DevicePtr opened = 0;
  GIVES(CU(cuIpcOpenMemHandle_v2)(&opened, base, kIpcMemLazyEnablePeerAccess), kInvalidContext);
  GIVES(CU(cuIpcOpenMemHandle_v2)(&opened, IpcMemHandle{}, kIpcMemLazyEnablePeerAccess), kInvalidValue);
  GIVES(CU(cuIpcCloseMemHandle)(one), kInvalidValue);
}

CASE(a_reset_takes_everything) {
  const Context context = set_up();
  const DevicePtr memory = allocate(100);
  const MemHandle physical = create_physical(2 * kMiB);
  const DevicePtr mapped = map(physical, 2 * kMiB);
  const MemPool pool = create_pool();
  DevicePtr pooled = 0, again = 0;
  GIVES(CU(cuMemAllocFromPoolAsync)(&pooled, 100, pool, nullptr), kSuccess);
  Event event = nullptr;
  Stream stream = nullptr;
  GIVES(CU(cuEventCreate)(&event, kEventDisableTiming), kSuccess);
  GIVES(CU(cuStreamCreate)(&stream, kStreamNonBlocking), kSuccess);
  unsigned long long before = 0, after = 0;
  GIVES(CU(cuCtxGetId)(nullptr, &before), kSuccess);
  GIVES(CU(cuDevicePrimaryCtxReset_v2)(0), kSuccess);
  unsigned flags = 9;
  int active = 9;
  GIVES(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active), kSuccess);
  EXPECT(flags == 0 && active == 0);
  Context current = nullptr;
  GIVES(CU(cuCtxGetCurrent)(&current), kSuccess);
  EXPECT(current == context);
  GIVES(CU(cuMemAlloc_v2)(&again, 1), kContextIsDestroyed);
  GIVES(CU(cuMemFree_v2)(memory), kContextIsDestroyed);
  GIVES(CU(cuCtxSynchronize)(), kContextIsDestroyed);
  GIVES(CU(cuEventQuery)(event), kContextIsDestroyed);
  GIVES(CU(cuCtxGetId)(context, &after), kContextIsDestroyed);
  GIVES(CU(cuMemUnmap)(mapped, 2 * kMiB), kSuccess);
  GIVES(CU(cuMemRelease)(physical), kSuccess);
  GIVES(CU(cuMemPoolDestroy)(pool), kSuccess);

  EXPECT(set_up() == context);
  GIVES(CU(cuCtxGetId)(nullptr, &after), kSuccess);
  EXPECT(after != before);
  GIVES(CU(cuMemFree_v2)(memory), kInvalidValue);
  GIVES(CU(cuStreamSynchronize)(stream), kContextIsDestroyed);
  GIVES(CU(cuStreamDestroy_v2)(stream), kContextIsDestroyed);
  GIVES(CU(cuStreamDestroy_v2)(stream), kInvalidHandle);
  GIVES(CU(cuEventDestroy_v2)(event), kContextIsDestroyed);
  const DevicePtr fresh = allocate(100);
  write_byte(fresh, 7);
  EXPECT(read_byte(fresh) == 7);
  GIVES(CU(cuMemFree_v2)(fresh), kSuccess);
  EXPECT(free_memory() == 1024 * kMiB);
  // The last who releases it resets it as well.
  GIVES(CU(cuDevicePrimaryCtxRelease_v2)(0), kSuccess);
  GIVES(CU(cuMemAlloc_v2)(&again, 1), kContextIsDestroyed);
}

CASE(calls_fail_as_the_environment_says) {
  set_up();
  DevicePtr pointer = 0;
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kSuccess);
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kUnknown);
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kOutOfMemory);
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kSuccess);
  GIVES(CU(cuCtxSynchronize)(), kLaunchFailed);
  GIVES(CU(cuCtxSynchronize)(), kSuccess);
  auto* const fails = reinterpret_cast<void (*)(const char*)>(symbol("usm_ipc_cuda_sw_fail"));
  auto* const calls = reinterpret_cast<unsigned long long (*)(const char*)>(symbol("usm_ipc_cuda_sw_calls"));
  EXPECT(calls("cuMemAlloc_v2") == 4);
  fails("cuMemAlloc_v2:1:719");
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kLaunchFailed);
  fails("cuMemAlloc_v2:1");
  fails("");
  GIVES(CU(cuMemAlloc_v2)(&pointer, 1), kSuccess);
  const char* name = nullptr;
  GIVES(CU(cuGetErrorName)(kLaunchFailed, &name), kSuccess);
  EXPECT(std::string(name) == "CUDA_ERROR_LAUNCH_FAILED");
  GIVES(CU(cuGetErrorString)(12345, &name), kInvalidValue);
  EXPECT(name == nullptr);
}

// The UUIDs of all that it sees.
CASE(devices) {
  int count = 0;
  const Result result = CU(cuInit)(0);
  if (result == kNoDevice) return;
  GIVES(result, kSuccess);
  GIVES(CU(cuDeviceGetCount)(&count), kSuccess);
  for (Device device = 0; device < count; device++) {
    Uuid uuid{}, same{};
    GIVES(CU(cuDeviceGetUuid_v2)(&uuid, device), kSuccess);
    GIVES(CU(cuDeviceGetUuid)(&same, device), kSuccess);
    EXPECT(std::memcmp(&uuid, &same, sizeof uuid) == 0);
    for (int i = 0; i < 16; i++) std::printf("%02x", static_cast<unsigned char>(uuid.bytes[i]));
    std::printf("\n");
  }
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
