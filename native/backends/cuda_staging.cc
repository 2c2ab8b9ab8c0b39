#include "backends/cuda_staging.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

namespace usm_ipc {
namespace {

constexpr unsigned kMostThreads = 8;
constexpr uint64_t kBuffer = 4 << 20;
// Each thread gets several pieces, so that no one is waited for long.
constexpr uint64_t kPiecesEach = 4;
constexpr uint64_t kLeastPiece = 256 << 10;

struct Job {
  CudaDevice* device;
  cu::DevicePtr device_side;
  uint8_t* host_side;
  bool is_write;
  uint64_t nbytes;
  uint64_t piece;
  std::atomic<uint64_t> next{0};  // piece
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr failure;

  // Where the next piece begins; nbytes: there is none.
  uint64_t take() {
    if (failed.load(std::memory_order_relaxed)) return nbytes;
    return std::min(nbytes, next.fetch_add(1, std::memory_order_relaxed) * piece);
  }
  uint64_t size_at(uint64_t offset) const { return std::min(piece, nbytes - offset); }

  void fail() {
    std::lock_guard<std::mutex> lock(mutex);
    failed = true;
    if (failure == nullptr) failure = std::current_exception();
  }
};

struct Pinned {
  Pinned() { USM_IPC_CUDA(cuMemHostAlloc, &data, kBuffer, cu::kHostAllocPortable); }
  ~Pinned() {
    if (data != nullptr) cuda().cuMemFreeHost(data);
  }
  void* data = nullptr;
};

struct Stream {
  Stream() { USM_IPC_CUDA(cuStreamCreate, &stream, cu::kStreamDefault); }
  ~Stream() {
    if (stream != nullptr) cuda().cuStreamDestroy_v2(stream);
  }
  cu::Stream stream = nullptr;
};

struct LocalEvent {
  LocalEvent() { USM_IPC_CUDA(cuEventCreate, &event, cu::kEventDisableTiming); }
  ~LocalEvent() {
    if (event != nullptr) cuda().cuEventDestroy_v2(event);
  }
  cu::Event event = nullptr;
};

// What a thread copies to and from one device with: two pinned buffers, and a stream that goes in turn with the default
// stream, as the driver's own copies do.
class Lane {
 public:
  void run(Job& job) {
    const CudaScope scope(*job.device);
    try {
      job.is_write ? write(job) : read(job);
      USM_IPC_CUDA(cuStreamSynchronize, stream_.stream);
    } catch (...) {
      cuda().cuStreamSynchronize(stream_.stream);  // nothing reads or writes the buffers any more
      throw;
    }
  }

  // Its context is gone, and the driver has taken back all of it.
  void forget() {
    for (int slot : {0, 1}) {
      buffers_[slot].data = nullptr;
      events_[slot].event = nullptr;
    }
    stream_.stream = nullptr;
  }

 private:
  void write(Job& job) {
    bool busy[2] = {};
    int slot = 0;
    for (uint64_t at = job.take(); at < job.nbytes; at = job.take(), slot ^= 1) {
      if (busy[slot]) USM_IPC_CUDA(cuEventSynchronize, events_[slot].event);
      const uint64_t size = job.size_at(at);
      std::memcpy(buffers_[slot].data, job.host_side + at, size);
      USM_IPC_CUDA(cuMemcpyHtoDAsync_v2, job.device_side + at, buffers_[slot].data, size, stream_.stream);
      USM_IPC_CUDA(cuEventRecord, events_[slot].event, stream_.stream);
      busy[slot] = true;
    }
  }

  void read(Job& job) {
    uint64_t pending = job.nbytes;  // where the piece in the other buffer belongs
    for (int slot = 0;; slot ^= 1) {
      const uint64_t at = job.take();
      if (at < job.nbytes) {
        USM_IPC_CUDA(cuMemcpyDtoHAsync_v2, buffers_[slot].data, job.device_side + at, job.size_at(at), stream_.stream);
        USM_IPC_CUDA(cuEventRecord, events_[slot].event, stream_.stream);
      }
      if (pending < job.nbytes) {
        USM_IPC_CUDA(cuEventSynchronize, events_[slot ^ 1].event);
        std::memcpy(job.host_side + pending, buffers_[slot ^ 1].data, job.size_at(pending));
      }
      if (at >= job.nbytes) return;
      pending = at;
    }
  }

  Pinned buffers_[2];
  Stream stream_;
  LocalEvent events_[2];
};

struct Lanes {
  uint64_t context = 0;  // that they were made in
  std::vector<std::unique_ptr<Lane>> all;
};

// The threads, and a lane of each for each device: made at the first copy and kept. One copy at a time has all of them.
class Staging {
 public:
  static Staging& instance() {
    static Staging* const staging = new Staging;  // never destroyed: its threads wait for ever
    return *staging;
  }

  bool run(CudaDevice& device, cu::DevicePtr device_side, uint8_t* host_side, bool is_write, uint64_t nbytes) {
    std::lock_guard<std::mutex> lock(one_copy_);
    start_threads(std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads));
    Lanes& lanes = lanes_of(device);
    if (lanes.all.empty()) return false;
    Job job{};
    job.device = &device;
    job.device_side = device_side;
    job.host_side = host_side;
    job.is_write = is_write;
    job.nbytes = nbytes;
    job.piece = std::clamp(nbytes / (lanes.all.size() * kPiecesEach), kLeastPiece, kBuffer);
    give(job, lanes);
    if (job.failure != nullptr) std::rethrow_exception(job.failure);
    return true;
  }

 private:
  // Under one_copy_, as all up to serve(). As many as there can be.
  void start_threads(unsigned wanted) {
    try {
      for (; threads_ < wanted; threads_++) std::thread(&Staging::serve, this, threads_, turn_).detach();
    } catch (const std::system_error&) {
    }
  }

  Lanes& lanes_of(CudaDevice& device) {
    const CudaScope scope(device);
    Lanes& lanes = lanes_[&device];
    if (device.is_gone(lanes.context)) {
      for (const auto& lane : lanes.all) lane->forget();
      lanes.all.clear();
    }
    if (!lanes.all.empty()) return lanes;
    lanes.context = device.context_id();
    try {
      while (lanes.all.size() < threads_) lanes.all.push_back(std::make_unique<Lane>());
    } catch (const Failure&) {  // with those that there are
    }
    return lanes;
  }

  void give(Job& job, const Lanes& lanes) {
    std::unique_lock<std::mutex> lock(mutex_);
    job_ = &job;
    job_lanes_ = &lanes;
    left_ = threads_;
    ++turn_;
    begun_.notify_all();
    ended_.wait(lock, [this] { return left_ == 0; });
  }

  void serve(size_t thread, uint64_t served) {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      begun_.wait(lock, [&] { return turn_ != served; });
      served = turn_;
      Job& job = *job_;
      Lane* const lane = thread < job_lanes_->all.size() ? job_lanes_->all[thread].get() : nullptr;
      lock.unlock();
      try {
        if (lane != nullptr) lane->run(job);
      } catch (...) {
        job.fail();
      }
      lock.lock();
      if (--left_ == 0) ended_.notify_one();
    }
  }

  std::mutex one_copy_;
  size_t threads_ = 0;
  std::unordered_map<CudaDevice*, Lanes> lanes_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable begun_;
  std::condition_variable ended_;
  Job* job_ = nullptr;
  const Lanes* job_lanes_ = nullptr;
  size_t left_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace

bool staged_write(CudaDevice& device, cu::DevicePtr to, const void* from, uint64_t nbytes) {
  return Staging::instance().run(device, to, static_cast<uint8_t*>(const_cast<void*>(from)), true, nbytes);
}

bool staged_read(CudaDevice& device, void* to, cu::DevicePtr from, uint64_t nbytes) {
  return Staging::instance().run(device, from, static_cast<uint8_t*>(to), false, nbytes);
}

}  // namespace usm_ipc
