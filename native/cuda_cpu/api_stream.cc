// Streams, events, and copies, which are done at once.
#include <unistd.h>

#include <cstring>
#include <thread>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

constexpr uint64_t kPage = 4096;

struct EventHandle {
  uint32_t process;
  uint32_t zero;
  uint64_t one;
  uint32_t fd;
  uint32_t token;
  uint64_t rest[5];
};
static_assert(sizeof(EventHandle) == sizeof(IpcEventHandle));

bool is_done(const CUevent_st& event) {
  const CUevent_st::State& state = event.state();
  const uint64_t recorded = __atomic_load_n(&state.recorded, __ATOMIC_ACQUIRE);
  return __atomic_load_n(&state.done, __ATOMIC_ACQUIRE) >= recorded;
}

}  // namespace

CUDA_CALL(cuStreamCreate, Stream* stream, unsigned) {
  ENTER_IN_CONTEXT(cuStreamCreate);
  *stream = new CUstream_st;
  (*stream)->device = current_device();
  add_stream(*stream);
  return kSuccess;
}

CUDA_CALL(cuStreamDestroy_v2, Stream stream) {
  ENTER(cuStreamDestroy_v2);
  wait_for(stream);
  remove_stream(stream);
  delete stream;
  return kSuccess;
}

CUDA_CALL(cuStreamSynchronize, Stream stream) {
  ENTER_IN_CONTEXT(cuStreamSynchronize);
  wait_for(stream_of(stream));
  return kSuccess;
}

CUDA_CALL(cuStreamQuery, Stream stream) {
  ENTER_IN_CONTEXT(cuStreamQuery);
  Lock lock(Driver::instance().mutex);
  return stream_of(stream)->pending == 0 ? kSuccess : kNotReady;
}

// The stream has something to do until the event is done.
CUDA_CALL(cuStreamWaitEvent, Stream given, Event event, unsigned) {
  ENTER_IN_CONTEXT(cuStreamWaitEvent);
  CUstream_st* const stream = stream_of(given);
  if (is_done(*event)) return kSuccess;
  begin(*stream);
  std::thread([stream, waited = *event] {
    while (!is_done(waited)) ::usleep(500);
    end(*stream);
  }).detach();
  return kSuccess;
}

CUDA_CALL(cuLaunchHostFunc, Stream given, void (*function)(void*), void* data) {
  ENTER_IN_CONTEXT(cuLaunchHostFunc);
  CUstream_st* const stream = stream_of(given);
  begin(*stream);
  std::thread([=] {
    function(data);
    end(*stream);
  }).detach();
  return kSuccess;
}

CUDA_CALL(cuEventCreate, Event* out, unsigned flags) {
  ENTER_IN_CONTEXT(cuEventCreate);
  if ((flags & kEventInterprocess) != 0 && (flags & kEventDisableTiming) == 0) return kInvalidValue;
  const bool is_shared = (flags & kEventInterprocess) != 0;
  auto memory = map_file(is_shared ? make_file(kPage) : nullptr, kPage);
  if (memory == nullptr || (is_shared && memory->file == nullptr)) return kOutOfMemory;
  *out = new CUevent_st;
  (*out)->flags = flags;
  (*out)->memory = std::move(memory);
  return kSuccess;
}

CUDA_CALL(cuEventDestroy_v2, Event event) {
  ENTER(cuEventDestroy_v2);
  delete event;
  return kSuccess;
}

CUDA_CALL(cuEventRecord, Event event, Stream given) {
  ENTER_IN_CONTEXT(cuEventRecord);
  Lock lock(Driver::instance().mutex);
  CUstream_st* const stream = stream_of(given);
  CUevent_st::State& state = event->state();
  const uint64_t number = __atomic_add_fetch(&state.recorded, 1, __ATOMIC_ACQ_REL);
  if (stream->pending > 0) stream->recorded.push_back({event->memory, number});
  else __atomic_store_n(&state.done, number, __ATOMIC_RELEASE);
  return kSuccess;
}

CUDA_CALL(cuEventQuery, Event event) {
  ENTER(cuEventQuery);
  return is_done(*event) ? kSuccess : kNotReady;
}

CUDA_CALL(cuEventSynchronize, Event event) {
  ENTER(cuEventSynchronize);
  while (!is_done(*event)) ::usleep(200);
  return kSuccess;
}

CUDA_CALL(cuIpcGetEventHandle, IpcEventHandle* out, Event event) {
  ENTER_IN_CONTEXT(cuIpcGetEventHandle);
  if ((event->flags & kEventInterprocess) == 0 || event->imported) return kInvalidHandle;
  EventHandle handle{};
  handle.process = static_cast<uint32_t>(::getpid());
  handle.one = 1;
  handle.fd = static_cast<uint32_t>(event->memory->file->fd.get());
  handle.token = event->memory->file->token;
  std::memcpy(out, &handle, sizeof handle);
  return kSuccess;
}

CUDA_CALL(cuIpcOpenEventHandle, Event* out, IpcEventHandle given) {
  ENTER_IN_CONTEXT(cuIpcOpenEventHandle);
  EventHandle handle;
  std::memcpy(&handle, &given, sizeof handle);
  if (handle.process == static_cast<uint32_t>(::getpid())) return kInvalidContext;
  auto file = handle.one == 1 ? file_of(static_cast<int>(handle.process), static_cast<int>(handle.fd), static_cast<uint16_t>(handle.token)) : nullptr;
  auto memory = file == nullptr || file->nbytes != kPage ? nullptr : map_file(std::move(file), kPage);
  if (memory == nullptr) return kMapFailed;
  *out = new CUevent_st;
  (*out)->flags = kEventInterprocess | kEventDisableTiming;
  (*out)->imported = true;
  (*out)->memory = std::move(memory);
  return kSuccess;
}
