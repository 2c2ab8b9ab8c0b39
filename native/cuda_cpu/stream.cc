#include "cuda_cpu/stream.h"

#include <set>
#include <thread>

#include "cuda_cpu/driver.h"

namespace usm_ipc::cuda_cpu {
namespace {

struct Streams {
  std::condition_variable_any changed;
  std::set<CUstream_st*> all;
  CUstream_st null;
};

Streams& streams() {
  static Streams* const instance = new Streams;  // never destroyed: threads may outlive static destruction
  return *instance;
}

void complete(CUstream_st& stream) {
  for (const CUstream_st::Recorded& recorded : stream.recorded) {
    auto& state = *reinterpret_cast<CUevent_st::State*>(recorded.memory->base);
    if (state.done < recorded.number) __atomic_store_n(&state.done, recorded.number, __ATOMIC_RELEASE);
  }
  stream.recorded.clear();
}

}  // namespace

CUstream_st* stream_of(cu::Stream stream) { return stream == nullptr ? &streams().null : stream; }

void begin(CUstream_st& stream) {
  Lock lock(Driver::instance().mutex);
  ++stream.pending;
}

void end(CUstream_st& stream) {
  Lock lock(Driver::instance().mutex);
  if (--stream.pending == 0) complete(stream);
  streams().changed.notify_all();
}

void wait_for(CUstream_st* stream) {
  std::unique_lock<std::recursive_mutex> lock(Driver::instance().mutex);
  streams().changed.wait(lock, [&] { return stream->pending == 0; });
}

void wait_for_all() {
  wait_for(&streams().null);
  std::unique_lock<std::recursive_mutex> lock(Driver::instance().mutex);
  streams().changed.wait(lock, [] {
    for (const CUstream_st* const stream : streams().all) {
      if (stream->pending > 0) return false;
    }
    return true;
  });
}

void add_stream(CUstream_st* stream) {
  Lock lock(Driver::instance().mutex);
  streams().all.insert(stream);
}

void remove_stream(CUstream_st* stream) {
  Lock lock(Driver::instance().mutex);
  streams().all.erase(stream);
}

}  // namespace usm_ipc::cuda_cpu
