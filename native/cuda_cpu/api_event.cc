#include <unistd.h>

#include <cstring>

#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/event.h"
#include "cuda_cpu/stream.h"

using namespace usm_ipc::cuda_cpu;

namespace {

constexpr useconds_t kLook = 200;

struct EventHandle {
  uint32_t process;
  uint32_t zero;
  uint64_t one;
  uint32_t fd;
  uint32_t token;
  uint64_t rest[5];
};
static_assert(sizeof(EventHandle) == sizeof(IpcEventHandle));

}  // namespace

CUDA_CALL(cuEventCreate, Event* out, unsigned flags) {
  ENTER_IN_CONTEXT(cuEventCreate);
  if (out == nullptr || flags > 7) return kInvalidValue;
  if ((flags & kEventInterprocess) != 0 && (flags & kEventDisableTiming) == 0) return kInvalidValue;
  const EventRef event = make_event(current_device(), flags);
  if (event == nullptr) return kOutOfMemory;
  *out = event.get();
  return kSuccess;
}

CUDA_CALL(cuEventDestroy_v2, Event event) {
  ENTER(cuEventDestroy_v2);
  return remove_event(event);
}

CUDA_CALL(cuEventRecord, Event recorded, Stream given) {
  ENTER_IN_CONTEXT(cuEventRecord);
  Result why = kSuccess;
  const EventRef event = find_event(recorded, why);
  if (event == nullptr) return why;
  const StreamRef stream = find_stream(given, why);
  if (stream == nullptr) return why;
  if (event->device != device_of(stream)) return kInvalidHandle;
  Work work;
  work.run = [event, number = begin_record(*event)] { complete(*event, number); };
  submit(stream, std::move(work));
  return kSuccess;
}

CUDA_CALL(cuEventQuery, Event asked) {
  ENTER(cuEventQuery);
  Result why = kSuccess;
  const EventRef event = find_event(asked, why);
  if (event == nullptr) return why;
  return is_done(*event, last_record(*event)) ? kSuccess : kNotReady;
}

CUDA_CALL(cuEventSynchronize, Event asked) {
  ENTER(cuEventSynchronize);
  Result why = kSuccess;
  const EventRef event = find_event(asked, why);
  if (event == nullptr) return why;
  for (const uint64_t number = last_record(*event); !is_done(*event, number);) ::usleep(kLook);
  return kSuccess;
}

CUDA_CALL(cuIpcGetEventHandle, IpcEventHandle* out, Event given) {
  ENTER_IN_CONTEXT(cuIpcGetEventHandle);
  if (out == nullptr) return kInvalidValue;
  Result why = kSuccess;
  const EventRef event = find_event(given, why);
  if (event == nullptr) return why;
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
  if (out == nullptr) return kInvalidValue;
  EventHandle handle;
  std::memcpy(&handle, &given, sizeof handle);
  if (handle.process == static_cast<uint32_t>(::getpid())) return kInvalidContext;
  auto file = handle.one == 1 ? file_of(handle.process, handle.fd, handle.token) : nullptr;
  auto memory = file == nullptr || file->nbytes != kEventBytes ? nullptr : map_file(std::move(file), kEventBytes);
  if (memory == nullptr) return kMapFailed;
  *out = make_imported_event(current_device(), std::move(memory)).get();
  return kSuccess;
}
