// Two processes: one exports, the other one imports.
#include <atomic>

#include "party.h"

using namespace usm_ipc::cu;

namespace {

IpcMemHandle handle_of(DevicePtr pointer) {
  IpcMemHandle handle;
  GIVES(CU(cuIpcGetMemHandle)(&handle, pointer), kSuccess);
  return handle;
}

Result open_handle(const IpcMemHandle& handle, DevicePtr* pointer) {
  return CU(cuIpcOpenMemHandle_v2)(pointer, handle, kIpcMemLazyEnablePeerAccess);
}

DevicePtr opened(const IpcMemHandle& handle) {
  DevicePtr pointer = 0;
  GIVES(open_handle(handle, &pointer), kSuccess);
  return pointer;
}

}  // namespace

CASE(a_handle_opens_once_for_all_and_counts) {
  Party exporter([](int socket) {
    set_up();
    const DevicePtr first = allocate(1000), memory = allocate(1000);
    write_byte(first, 1);
    write_byte(memory + 999, 2);
    tell(socket, handle_of(first));
    tell(socket, handle_of(memory + 500));
    expect(socket, 'w');
    EXPECT(read_byte(memory) == 3);
    GIVES(CU(cuMemFree_v2)(memory), kSuccess);
    say(socket, 'f');
    expect(socket, 'e');
  });
  set_up();
  const size_t before = free_memory();
  const DevicePtr first = opened(hear<IpcMemHandle>(exporter.socket()));
  const auto handle = hear<IpcMemHandle>(exporter.socket());
  const DevicePtr memory = opened(handle);
  EXPECT(memory % (2 * kMiB) == 1024 && read_byte(first) == 1 && read_byte(memory + 999) == 2);
  EXPECT(opened(handle) == memory);
  DevicePtr base = 0;
  size_t bytes = 0;
  GIVES(CU(cuMemGetAddressRange_v2)(&base, &bytes, memory + 10), kSuccess);
  EXPECT(base == memory && bytes == 1000);
  EXPECT(attribute<unsigned>(kPointerIsLegacyIpcCapable, memory) == 0);
  EXPECT(attribute<unsigned>(kPointerMemoryType, memory) == kMemoryTypeDevice);
  unsigned char byte = 0;
  GIVES(CU(cuMemcpyDtoH_v2)(&byte, memory + 1000, 1), kInvalidValue);
  IpcMemHandle again;
  GIVES(CU(cuIpcGetMemHandle)(&again, memory), kInvalidValue);
  GIVES(CU(cuMemFree_v2)(memory), kInvalidValue);
  write_byte(memory, 3);
  say(exporter.socket(), 'w');
  expect(exporter.socket(), 'f');
  EXPECT(read_byte(memory + 999) == 2);
  GIVES(CU(cuIpcCloseMemHandle)(memory), kSuccess);
  EXPECT(read_byte(memory) == 3);
  GIVES(CU(cuIpcCloseMemHandle)(memory), kSuccess);
  GIVES(CU(cuIpcCloseMemHandle)(memory), kInvalidValue);
  GIVES(CU(cuIpcCloseMemHandle)(first), kSuccess);
  EXPECT(free_memory() == before);
  say(exporter.socket(), 'e');
  exporter.end();
}

CASE(a_handle_of_what_was_freed_opens_only_where_it_is_mapped) {
  Party exporter([](int socket) {
    set_up();
    DevicePtr memory = allocate(4 * kMiB);
    write_byte(memory, 1);
    tell(socket, handle_of(memory));
    expect(socket, 'o');
    GIVES(CU(cuMemFree_v2)(memory), kSuccess);
    memory = allocate(4 * kMiB);
    write_byte(memory, 2);
    tell(socket, handle_of(memory));
    expect(socket, 'e');
  });
  set_up();
  const auto old = hear<IpcMemHandle>(exporter.socket());
  const DevicePtr mapped = opened(old);
  say(exporter.socket(), 'o');
  const auto fresh = hear<IpcMemHandle>(exporter.socket());
  EXPECT(std::memcmp(&old, &fresh, sizeof old) != 0);
  EXPECT(opened(old) == mapped && read_byte(mapped) == 1);
  const DevicePtr other = opened(fresh);
  EXPECT(other != mapped && read_byte(other) == 2 && read_byte(mapped) == 1);
  for (int i = 0; i < 2; i++) GIVES(CU(cuIpcCloseMemHandle)(mapped), kSuccess);
  DevicePtr none = 0;
  GIVES(open_handle(old, &none), kInvalidValue);
  say(exporter.socket(), 'e');
  exporter.end();
}

CASE(mappings_outlive_the_exporter) {
  Party exporter([](int socket) {
    set_up();
    const DevicePtr memory = allocate(100);
    write_byte(memory, 5);
    tell(socket, handle_of(memory));
    expect(socket, 'e');
  });
  set_up();
  const auto handle = hear<IpcMemHandle>(exporter.socket());
  const DevicePtr memory = opened(handle);
  exporter.kill();
  EXPECT(read_byte(memory) == 5 && opened(handle) == memory);
  for (int i = 0; i < 2; i++) GIVES(CU(cuIpcCloseMemHandle)(memory), kSuccess);
  DevicePtr none = 0;
  GIVES(open_handle(handle, &none), kInvalidValue);
}

// Those bits that NVIDIA's driver does not look at either.
CASE(bits_that_are_not_looked_at) {
  Party exporter([](int socket) {
    set_up();
    tell(socket, handle_of(allocate(2 * kMiB)));
    expect(socket, 'e');
  });
  set_up();
  const auto handle = hear<IpcMemHandle>(exporter.socket());
  const auto is_ignored = [](int byte) { return byte <= 7 || (byte >= 9 && byte <= 23) || (byte >= 37 && byte <= 47) || byte >= 56; };
  int accepted = 0, refused = 0;
  for (int bit = 0; bit < 512; bit++) {
    IpcMemHandle flipped = handle;
    flipped.reserved[bit / 8] = static_cast<char>(flipped.reserved[bit / 8] ^ (1 << bit % 8));
    DevicePtr pointer = 0;
    const Result result = open_handle(flipped, &pointer);
    if (result == kSuccess) GIVES(CU(cuIpcCloseMemHandle)(pointer), kSuccess);
    if (is_ignored(bit / 8)) EXPECT(result == kSuccess);
    ++(result == kSuccess ? accepted : refused);
  }
  EXPECT(accepted >= 42 * 8 && refused > 64);
  say(exporter.socket(), 'e');
  exporter.end();
}

CASE(descriptors_are_all_that_virtual_memory_needs) {
  Party exporter([](int socket) {
    set_up();
    const MemHandle handle = create_physical(2 * kMiB);
    const DevicePtr memory = map(handle, 2 * kMiB);
    write_byte(memory + 7, 4);
    int fd = -1;
    GIVES(CU(cuMemExportToShareableHandle)(&fd, handle, kMemHandlePosixFd, 0), kSuccess);
    tell(socket, 'd', fd);
    expect(socket, 'w');
    EXPECT(read_byte(memory + 8) == 6);
    say(socket, 'r');
    expect(socket, 'e');
  });
  set_up();
  int fd = -1;
  EXPECT(hear<char>(exporter.socket(), &fd) == 'd');
  const auto import = [&] {
    MemHandle handle = 0;
    GIVES(CU(cuMemImportFromShareableHandle)(&handle, as_shareable(fd), kMemHandlePosixFd), kSuccess);
    const DevicePtr memory = map(handle, 2 * kMiB);
    GIVES(CU(cuMemRelease)(handle), kSuccess);
    return memory;
  };
  const DevicePtr memory = import();
  EXPECT(read_byte(memory + 7) == 4);
  EXPECT(attribute<uint64_t>(kPointerAllowedHandleTypes, memory) == 0);
  write_byte(memory + 8, 6);
  say(exporter.socket(), 'w');
  expect(exporter.socket(), 'r');
  exporter.kill();
  EXPECT(read_byte(import() + 8) == 6 && read_byte(memory + 7) == 4);
}

CASE(pools_need_a_descriptor_and_data_for_each_pointer) {
  Party exporter([](int socket) {
    set_up();
    const MemPool pool = create_pool();
    DevicePtr first = 0, memory = 0;
    GIVES(CU(cuMemAllocFromPoolAsync)(&first, 1000, pool, nullptr), kSuccess);
    GIVES(CU(cuMemAllocFromPoolAsync)(&memory, 1000, pool, nullptr), kSuccess);
    write_byte(memory + 7, 4);
    int fd = -1;
    GIVES(CU(cuMemPoolExportToShareableHandle)(&fd, pool, kMemHandlePosixFd, 0), kSuccess);
    MemPoolPtrExportData data{};
    GIVES(CU(cuMemPoolExportPointer)(&data, memory), kSuccess);
    tell(socket, data, fd);
    expect(socket, 'w');
    EXPECT(read_byte(memory) == 6);
    GIVES(CU(cuMemFreeAsync)(memory, nullptr), kSuccess);
    say(socket, 'f');
    expect(socket, 'e');
  });
  set_up();
  int fd = -1;
  auto data = hear<MemPoolPtrExportData>(exporter.socket(), &fd);
  MemPool pool = nullptr;
  GIVES(CU(cuMemPoolImportFromShareableHandle)(&pool, as_shareable(fd), kMemHandlePosixFd, 0), kSuccess);
  DevicePtr memory = 0;
  GIVES(CU(cuMemPoolImportPointer)(&memory, pool, &data), kSuccess);
  EXPECT(read_byte(memory + 7) == 4 && attribute<size_t>(kPointerRangeSize, memory) == 1000);
  write_byte(memory, 6);
  say(exporter.socket(), 'w');
  expect(exporter.socket(), 'f');
  EXPECT(read_byte(memory + 7) == 4);
  exporter.kill();
  EXPECT(read_byte(memory + 7) == 4);
  GIVES(CU(cuMemFreeAsync)(memory, nullptr), kSuccess);
  GIVES(CU(cuMemPoolDestroy)(pool), kSuccess);
}

namespace {

std::atomic<bool> gate_is_open{false};

void wait_at_gate(void*) {
  while (!gate_is_open) usleep(200);
}

// Records an event that stays pending until it is told to go on.
void recorder(int socket) {
  set_up();
  Event event = nullptr;
  Stream stream = nullptr;
  GIVES(CU(cuEventCreate)(&event, kEventInterprocess | kEventDisableTiming), kSuccess);
  GIVES(CU(cuStreamCreate)(&stream, kStreamNonBlocking), kSuccess);
  IpcEventHandle handle;
  GIVES(CU(cuIpcGetEventHandle)(&handle, event), kSuccess);
  tell(socket, handle);
  expect(socket, 'r');
  GIVES(CU(cuLaunchHostFunc)(stream, wait_at_gate, nullptr), kSuccess);
  GIVES(CU(cuEventRecord)(event, stream), kSuccess);
  say(socket, 'p');
  expect(socket, 'g');
  gate_is_open = true;
  GIVES(CU(cuStreamSynchronize)(stream), kSuccess);
  say(socket, 'd');
  expect(socket, 'e');
}

Event event_of(int socket) {
  Event event = nullptr;
  GIVES(CU(cuIpcOpenEventHandle)(&event, hear<IpcEventHandle>(socket)), kSuccess);
  GIVES(CU(cuEventQuery)(event), kSuccess);
  say(socket, 'r');
  expect(socket, 'p');
  return event;
}

}  // namespace

CASE(an_event_is_pending_in_both_processes) {
  Party exporter(recorder);
  set_up();
  const Event event = event_of(exporter.socket());
  IpcEventHandle handle;
  GIVES(CU(cuIpcGetEventHandle)(&handle, event), kInvalidHandle);
  GIVES(CU(cuEventQuery)(event), kNotReady);
  Stream stream = nullptr;
  GIVES(CU(cuStreamCreate)(&stream, kStreamNonBlocking), kSuccess);
  const DevicePtr memory = allocate(1);
  GIVES(CU(cuStreamWaitEvent)(stream, event, 0), kSuccess);
  GIVES(CU(cuMemsetD8Async)(memory, 7, 1, stream), kSuccess);
  GIVES(CU(cuStreamQuery)(stream), kNotReady);
  EXPECT(read_byte(memory) == 0);
  say(exporter.socket(), 'g');
  GIVES(CU(cuEventSynchronize)(event), kSuccess);
  GIVES(CU(cuStreamSynchronize)(stream), kSuccess);
  EXPECT(read_byte(memory) == 7);
  expect(exporter.socket(), 'd');
  // It may be recorded here as well.
  GIVES(CU(cuEventRecord)(event, nullptr), kSuccess);
  GIVES(CU(cuEventSynchronize)(event), kSuccess);
  GIVES(CU(cuEventDestroy_v2)(event), kSuccess);
  say(exporter.socket(), 'e');
  exporter.end();
}

CASE(what_a_dead_process_recorded_is_never_done) {
  Party exporter(recorder);
  set_up();
  const Event event = event_of(exporter.socket());
  exporter.kill();
  GIVES(CU(cuEventQuery)(event), kNotReady);
  GIVES(CU(cuEventDestroy_v2)(event), kSuccess);
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
