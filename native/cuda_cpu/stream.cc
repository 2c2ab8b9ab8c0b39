#include "cuda_cpu/stream.h"

#include <chrono>
#include <condition_variable>
#include <set>
#include <thread>

#include "cuda_cpu/context.h"

namespace usm_ipc::cu {

struct CUstream_st {
  int device = 0;
  bool is_null = false;
  bool is_blocking = true;
  uint64_t given = 0;
  uint64_t done = 0;  // all up to this one
  std::deque<cuda_cpu::Work> queue;
  bool has_thread = false;
};

}  // namespace usm_ipc::cu

namespace usm_ipc::cuda_cpu {
namespace {

// What another process does is looked for so often.
constexpr auto kLook = std::chrono::microseconds(300);

struct Streams {
  std::condition_variable_any changed;
  std::map<cu::Stream, StreamRef> made;
  std::map<int, StreamRef> null;      // by device
  std::set<cu::Stream> of_destroyed;  // contexts
};

Streams& streams() {
  static Streams* const instance = new Streams;  // as the driver: its threads may outlive static destruction
  return *instance;
}

StreamRef null_stream(int device) {
  StreamRef& stream = streams().null[device];
  if (stream == nullptr) {
    stream = std::make_shared<cu::CUstream_st>();
    stream->device = device;
    stream->is_null = true;
  }
  return stream;
}

void add_unfinished(Work& work, const StreamRef& other) {
  if (other->done < other->given) work.behind.emplace_back(other, other->given);
}

void order(const cu::CUstream_st& stream, Work& work) {
  if (!stream.is_blocking) return;
  if (!stream.is_null) return add_unfinished(work, null_stream(stream.device));
  for (const auto& [name, other] : streams().made) {
    if (other->is_blocking && other->device == stream.device) add_unfinished(work, other);
  }
}

bool may_run(const cu::CUstream_st& stream, const Work& work) {
  if (stream.done != work.number - 1) return false;
  for (const auto& [other, number] : work.behind) {
    if (other->done < number) return false;
  }
  return work.ready == nullptr || work.ready();
}

void run(cu::CUstream_st& stream, const Work& work, std::unique_lock<std::recursive_mutex>& lock) {
  lock.unlock();
  work.run();
  lock.lock();
  stream.done = work.number;
  streams().changed.notify_all();
}

void serve(const StreamRef& stream) {
  std::unique_lock<std::recursive_mutex> lock(Driver::instance().mutex);
  while (!stream->queue.empty()) {
    while (!may_run(*stream, stream->queue.front())) streams().changed.wait_for(lock, kLook);
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    run(*stream, work, lock);
  }
  stream->has_thread = false;
}

}  // namespace

StreamRef make_stream(int device, bool is_blocking) {
  Lock lock(Driver::instance().mutex);
  auto stream = std::make_shared<cu::CUstream_st>();
  stream->device = device;
  stream->is_blocking = is_blocking;
  streams().of_destroyed.erase(stream.get());
  streams().made[stream.get()] = stream;
  return stream;
}

StreamRef find_stream(cu::Stream stream, Result& why) {
  Lock lock(Driver::instance().mutex);
  why = kSuccess;
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return null_stream(current_device());
  const auto found = streams().made.find(stream);
  if (found != streams().made.end()) return found->second;
  why = streams().of_destroyed.count(stream) != 0 ? kContextIsDestroyed : kInvalidHandle;
  return nullptr;
}

Result remove_stream(cu::Stream stream) {
  Lock lock(Driver::instance().mutex);
  if (streams().made.erase(stream) != 0) return kSuccess;
  return streams().of_destroyed.erase(stream) != 0 ? kContextIsDestroyed : kInvalidHandle;
}

void forget_streams(int device) {
  Lock lock(Driver::instance().mutex);
  streams().null.erase(device);
  for (auto at = streams().made.begin(); at != streams().made.end();) {
    if (at->second->device != device) {
      ++at;
      continue;
    }
    streams().of_destroyed.insert(at->first);
    at = streams().made.erase(at);
  }
}

uint64_t submit(const StreamRef& stream, Work work) {
  std::unique_lock<std::recursive_mutex> lock(Driver::instance().mutex);
  order(*stream, work);
  const uint64_t number = work.number = ++stream->given;
  if (!work.is_apart && may_run(*stream, work)) {
    run(*stream, work, lock);
    return number;
  }
  stream->queue.push_back(std::move(work));
  if (!stream->has_thread) std::thread(serve, stream).detach();
  stream->has_thread = true;
  return number;
}

void wait_for(const StreamRef& stream, uint64_t number) {
  std::unique_lock<std::recursive_mutex> lock(Driver::instance().mutex);
  streams().changed.wait(lock, [&] { return stream->done >= number; });
}

void wait_for(const StreamRef& stream) {
  uint64_t number = 0;
  {
    Lock lock(Driver::instance().mutex);
    number = stream->given;
  }
  wait_for(stream, number);
}

void wait_for_device(int device) {
  std::vector<StreamRef> all;
  {
    Lock lock(Driver::instance().mutex);
    all.push_back(null_stream(device));
    for (const auto& [name, stream] : streams().made) {
      if (stream->device == device) all.push_back(stream);
    }
  }
  for (const StreamRef& stream : all) wait_for(stream);
}

bool is_idle(const StreamRef& stream) {
  Lock lock(Driver::instance().mutex);
  return stream->done == stream->given;
}

int device_of(const StreamRef& stream) { return stream->device; }

}  // namespace usm_ipc::cuda_cpu
