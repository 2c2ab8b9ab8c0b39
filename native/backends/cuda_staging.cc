#include "backends/cuda_staging.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
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

// One thread's: two pinned buffers, and a stream and two events for each device.
class Lane {
 public:
  Lane() {
    for (void*& buffer : buffers_) USM_IPC_CUDA(cuMemHostAlloc, &buffer, kBuffer, cu::kHostAllocPortable);
  }
  ~Lane() {
    for (void* const buffer : buffers_) {
      if (buffer != nullptr) cuda().cuMemFreeHost(buffer);
    }
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void run(Job& job) {
    const CudaScope scope(*job.device);
    const Queue& queue = queue_of(*job.device);
    try {
      job.is_write ? write(job, queue) : read(job, queue);
      USM_IPC_CUDA(cuStreamSynchronize, queue.stream);
    } catch (...) {
      cuda().cuStreamSynchronize(queue.stream);  // nothing reads or writes the buffers any more
      throw;
    }
  }

 private:
  struct Queue {
    cu::Stream stream = nullptr;
    cu::Event events[2] = {};
  };

  // A stream that goes in turn with the default stream, as the driver's own copies do.
  const Queue& queue_of(CudaDevice& device) {
    Queue& queue = queues_[&device];
    if (queue.stream == nullptr) USM_IPC_CUDA(cuStreamCreate, &queue.stream, cu::kStreamDefault);
    for (cu::Event& event : queue.events) {
      if (event == nullptr) USM_IPC_CUDA(cuEventCreate, &event, cu::kEventDisableTiming);
    }
    return queue;
  }

  void write(Job& job, const Queue& queue) {
    bool busy[2] = {};
    int slot = 0;
    for (uint64_t at = job.take(); at < job.nbytes; at = job.take(), slot ^= 1) {
      if (busy[slot]) USM_IPC_CUDA(cuEventSynchronize, queue.events[slot]);
      const uint64_t size = job.size_at(at);
      std::memcpy(buffers_[slot], job.host_side + at, size);
      USM_IPC_CUDA(cuMemcpyHtoDAsync_v2, job.device_side + at, buffers_[slot], size, queue.stream);
      USM_IPC_CUDA(cuEventRecord, queue.events[slot], queue.stream);
      busy[slot] = true;
    }
  }

  void read(Job& job, const Queue& queue) {
    uint64_t pending = job.nbytes;  // where the piece in the other buffer belongs
    for (int slot = 0;; slot ^= 1) {
      const uint64_t at = job.take();
      if (at < job.nbytes) {
        USM_IPC_CUDA(cuMemcpyDtoHAsync_v2, buffers_[slot], job.device_side + at, job.size_at(at), queue.stream);
        USM_IPC_CUDA(cuEventRecord, queue.events[slot], queue.stream);
      }
      if (pending < job.nbytes) {
        USM_IPC_CUDA(cuEventSynchronize, queue.events[slot ^ 1]);
        std::memcpy(job.host_side + pending, buffers_[slot ^ 1], job.size_at(pending));
      }
      if (at >= job.nbytes) return;
      pending = at;
    }
  }

  void* buffers_[2] = {};
  std::unordered_map<CudaDevice*, Queue> queues_;
};

// The lanes and their threads: made at the first copy and kept. One copy at a time has all of them.
class Staging {
 public:
  static Staging& instance() {
    static Staging* const staging = new Staging;  // never destroyed: its threads wait for ever
    return *staging;
  }

  bool run(CudaDevice& device, cu::DevicePtr device_side, uint8_t* host_side, bool is_write, uint64_t nbytes) {
    std::lock_guard<std::mutex> lock(one_copy_);
    if (!prepare(device)) return false;
    Job job{};
    job.device = &device;
    job.device_side = device_side;
    job.host_side = host_side;
    job.is_write = is_write;
    job.nbytes = nbytes;
    job.piece = std::clamp(nbytes / (lanes_.size() * kPiecesEach), kLeastPiece, kBuffer);
    start(&job);
    wait();
    if (job.failure != nullptr) std::rethrow_exception(job.failure);
    return true;
  }

 private:
  // Under one_copy_.
  bool prepare(CudaDevice& device) {
    if (!lanes_.empty()) return true;
    const CudaScope scope(device);
    const unsigned wanted = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
    try {
      while (lanes_.size() < wanted) lanes_.push_back(std::make_unique<Lane>());
    } catch (const Failure&) {
      if (lanes_.empty()) return false;
    }
    for (const auto& lane : lanes_) std::thread(&Staging::serve, this, lane.get()).detach();
    return true;
  }

  void start(Job* job) {
    std::lock_guard<std::mutex> lock(mutex_);
    job_ = job;
    left_ = lanes_.size();
    ++turn_;
    begun_.notify_all();
  }

  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return left_ == 0; });
  }

  void serve(Lane* lane) {
    for (uint64_t served = 0;;) {
      Job* job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        begun_.wait(lock, [&] { return turn_ != served; });
        served = turn_;
        job = job_;
      }
      try {
        lane->run(*job);
      } catch (...) {
        job->fail();
      }
      std::lock_guard<std::mutex> lock(mutex_);
      if (--left_ == 0) ended_.notify_one();
    }
  }

  std::mutex one_copy_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable begun_;
  std::condition_variable ended_;
  Job* job_ = nullptr;
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
