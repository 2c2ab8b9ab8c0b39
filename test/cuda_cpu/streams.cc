// One process: the order of what streams are given. What is to be pending waits for a word, not for a time.
#include <atomic>

#include "program.h"

using namespace usm_ipc::cu;

namespace {

struct Gate {
  std::atomic<bool> is_open{false};

  // The stream goes no further than this until it is opened.
  void close_on(Stream stream) {
    const auto wait = [](void* gate) {
      while (!static_cast<Gate*>(gate)->is_open) usleep(200);
    };
    GIVES(CU(cuLaunchHostFunc)(stream, wait, this), kSuccess);
  }
  void open() { is_open = true; }
};

Stream make_stream(unsigned flags) {
  Stream stream = nullptr;
  GIVES(CU(cuStreamCreate)(&stream, flags), kSuccess);
  return stream;
}

Event make_event(unsigned flags = kEventDisableTiming) {
  Event event = nullptr;
  GIVES(CU(cuEventCreate)(&event, flags), kSuccess);
  return event;
}

// Looks at memory beside all streams.
unsigned char peek(DevicePtr pointer) { return *reinterpret_cast<volatile unsigned char*>(pointer); }

}  // namespace

CASE(work_waits_for_what_was_given_before) {
  set_up();
  const DevicePtr memory = allocate(100), other = allocate(100);
  void* pinned = nullptr;
  GIVES(CU(cuMemHostAlloc)(&pinned, 100, kHostAllocPortable), kSuccess);
  auto* const bytes = static_cast<unsigned char*>(pinned);
  const Stream stream = make_stream(kStreamNonBlocking);
  const Event event = make_event();
  GIVES(CU(cuEventQuery)(event), kSuccess);
  Gate gate;
  gate.close_on(stream);
  GIVES(CU(cuMemsetD8Async)(memory, 1, 100, stream), kSuccess);
  GIVES(CU(cuMemcpyDtoDAsync_v2)(other, memory, 100, stream), kSuccess);
  GIVES(CU(cuMemcpyDtoHAsync_v2)(bytes, other, 100, stream), kSuccess);
  GIVES(CU(cuEventRecord)(event, stream), kSuccess);
  GIVES(CU(cuStreamQuery)(stream), kNotReady);
  GIVES(CU(cuEventQuery)(event), kNotReady);
  EXPECT(peek(memory) == 0 && bytes[99] == 0);
  gate.open();
  GIVES(CU(cuEventSynchronize)(event), kSuccess);
  EXPECT(peek(memory) == 1 && peek(other + 99) == 1 && bytes[99] == 1);
  GIVES(CU(cuStreamSynchronize)(stream), kSuccess);
  GIVES(CU(cuStreamQuery)(stream), kSuccess);
  GIVES(CU(cuStreamDestroy_v2)(stream), kSuccess);
  GIVES(CU(cuStreamQuery)(stream), kInvalidHandle);
  GIVES(CU(cuEventDestroy_v2)(event), kSuccess);
  GIVES(CU(cuEventRecord)(event, nullptr), kInvalidHandle);
}

CASE(the_null_stream_stands_behind_blocking_streams_and_they_behind_it) {
  set_up();
  const DevicePtr memory = allocate(100);
  const Stream blocking = make_stream(kStreamDefault), apart = make_stream(kStreamNonBlocking);
  Gate of_blocking, of_null;
  of_blocking.close_on(blocking);
  GIVES(CU(cuMemsetD8Async)(memory, 1, 1, nullptr), kSuccess);
  GIVES(CU(cuMemsetD8Async)(memory + 1, 1, 1, apart), kSuccess);
  GIVES(CU(cuStreamQuery)(nullptr), kNotReady);
  EXPECT(peek(memory) == 0 && peek(memory + 1) == 1);
  of_blocking.open();
  EXPECT(read_byte(memory) == 1);
  of_null.close_on(nullptr);
  GIVES(CU(cuMemsetD8Async)(memory, 2, 1, blocking), kSuccess);
  GIVES(CU(cuMemsetD8Async)(memory + 1, 2, 1, apart), kSuccess);
  EXPECT(peek(memory) == 1 && peek(memory + 1) == 2);
  of_null.open();
  GIVES(CU(cuCtxSynchronize)(), kSuccess);
  EXPECT(peek(memory) == 2);
}

CASE(a_stream_waits_for_the_record_that_was_the_last) {
  set_up();
  const DevicePtr memory = allocate(100);
  const Stream first = make_stream(kStreamNonBlocking), second = make_stream(kStreamNonBlocking);
  const Event event = make_event();
  Gate gate, later;
  gate.close_on(first);
  GIVES(CU(cuEventRecord)(event, first), kSuccess);
  GIVES(CU(cuStreamWaitEvent)(second, event, 0), kSuccess);
  GIVES(CU(cuMemsetD8Async)(memory, 3, 1, second), kSuccess);
  later.close_on(first);
  GIVES(CU(cuEventRecord)(event, first), kSuccess);
  EXPECT(peek(memory) == 0);
  gate.open();
  GIVES(CU(cuStreamSynchronize)(second), kSuccess);
  EXPECT(peek(memory) == 3);
  GIVES(CU(cuEventQuery)(event), kNotReady);
  later.open();
  GIVES(CU(cuCtxSynchronize)(), kSuccess);
  GIVES(CU(cuEventQuery)(event), kSuccess);
}

CASE(memory_is_freed_in_turn) {
  set_up();
  const Stream stream = make_stream(kStreamNonBlocking);
  Gate gate;
  gate.close_on(stream);
  DevicePtr memory = 0;
  const DevicePtr copy = allocate(100);
  GIVES(CU(cuMemAllocAsync)(&memory, 100, stream), kSuccess);
  GIVES(CU(cuMemsetD8Async)(memory, 6, 100, stream), kSuccess);
  GIVES(CU(cuMemcpyDtoDAsync_v2)(copy, memory, 100, stream), kSuccess);
  GIVES(CU(cuMemFreeAsync)(memory, stream), kSuccess);
  GIVES(CU(cuMemFreeAsync)(memory, stream), kInvalidValue);
  gate.open();
  GIVES(CU(cuStreamSynchronize)(stream), kSuccess);
  EXPECT(peek(copy + 99) == 6);
  EXPECT(free_memory() == 1024 * kMiB - 100);
}

CASE(copies_of_every_direction) {
  const Context context = set_up();
  const DevicePtr one = allocate(1000), other = allocate(1000);
  std::vector<unsigned char> from(1000), to(1000);
  for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<unsigned char>(i * 7);
  const auto as_pointer = [](void* host) { return reinterpret_cast<DevicePtr>(host); };
  GIVES(CU(cuMemcpyAsync)(one, as_pointer(from.data()), 1000, nullptr), kSuccess);
  GIVES(CU(cuMemcpyPeerAsync)(other, context, one, context, 1000, nullptr), kSuccess);
  GIVES(CU(cuMemcpyPeerAsync)(other, context, one, nullptr, 1000, nullptr), kInvalidContext);
  GIVES(CU(cuMemcpyAsync)(as_pointer(to.data()), other, 1000, nullptr), kSuccess);
  EXPECT(from == to);
  GIVES(CU(cuMemsetD8_v2)(one, 9, 1000), kSuccess);
  GIVES(CU(cuMemcpyDtoD_v2)(other + 1, one, 999), kSuccess);
  EXPECT(read_byte(other) == 0 && read_byte(other + 999) == 9);
  GIVES(CU(cuMemcpyDtoD_v2)(other + 1, one, 1000), kInvalidValue);
  GIVES(CU(cuMemsetD8Async)(one, 0, 1001, nullptr), kInvalidValue);
  GIVES(CU(cuMemcpyHtoD_v2)(one, nullptr, 1), kInvalidValue);
  GIVES(CU(cuMemcpyHtoD_v2)(0, from.data(), 0), kSuccess);
  GIVES(CU(cuMemcpyHtoDAsync_v2)(one, from.data(), 1, reinterpret_cast<Stream>(0x1000)), kInvalidHandle);
}

CASE(events_between_processes_have_no_timing) {
  set_up();
  Event event = nullptr;
  GIVES(CU(cuEventCreate)(&event, kEventInterprocess), kInvalidValue);
  IpcEventHandle handle{};
  GIVES(CU(cuIpcGetEventHandle)(&handle, make_event()), kInvalidHandle);
  GIVES(CU(cuIpcGetEventHandle)(&handle, make_event(kEventInterprocess | kEventDisableTiming)), kSuccess);
  GIVES(CU(cuIpcOpenEventHandle)(&event, handle), kInvalidContext);
  GIVES(CU(cuIpcOpenEventHandle)(&event, IpcEventHandle{}), kMapFailed);
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
