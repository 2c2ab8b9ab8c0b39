#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/event.h"
#include "cuda_cpu/stream.h"

using namespace usm_ipc::cuda_cpu;

CUDA_CALL(cuStreamCreate, Stream* stream, unsigned flags) {
  ENTER_IN_CONTEXT(cuStreamCreate);
  if (stream == nullptr || (flags & ~kStreamNonBlocking) != 0) return kInvalidValue;
  *stream = make_stream(current_device(), (flags & kStreamNonBlocking) == 0).get();
  return kSuccess;
}

CUDA_CALL(cuStreamDestroy_v2, Stream stream) {
  ENTER(cuStreamDestroy_v2);
  return remove_stream(stream);
}

CUDA_CALL(cuStreamSynchronize, Stream given) {
  ENTER_IN_CONTEXT(cuStreamSynchronize);
  Result why = kSuccess;
  const StreamRef stream = find_stream(given, why);
  if (stream != nullptr) wait_for(stream);
  return why;
}

CUDA_CALL(cuStreamQuery, Stream given) {
  ENTER_IN_CONTEXT(cuStreamQuery);
  Result why = kSuccess;
  const StreamRef stream = find_stream(given, why);
  if (stream == nullptr) return why;
  return is_idle(stream) ? kSuccess : kNotReady;
}

// For the record that is the event's last one now.
CUDA_CALL(cuStreamWaitEvent, Stream given, Event waited, unsigned flags) {
  ENTER_IN_CONTEXT(cuStreamWaitEvent);
  if (flags > 1) return kInvalidValue;
  Result why = kSuccess;
  const StreamRef stream = find_stream(given, why);
  if (stream == nullptr) return why;
  const EventRef event = find_event(waited, why);
  if (event == nullptr) return why;
  Work work;
  work.ready = [event, number = last_record(*event)] { return is_done(*event, number); };
  work.run = [] {};
  submit(stream, std::move(work));
  return kSuccess;
}

// The function may wait for as long as it likes: it runs on the stream's thread.
CUDA_CALL(cuLaunchHostFunc, Stream given, void (*function)(void*), void* data) {
  ENTER_IN_CONTEXT(cuLaunchHostFunc);
  if (function == nullptr) return kInvalidValue;
  Result why = kSuccess;
  const StreamRef stream = find_stream(given, why);
  if (stream == nullptr) return why;
  Work work;
  work.run = [function, data] { function(data); };
  work.is_apart = true;
  submit(stream, std::move(work));
  return kSuccess;
}
