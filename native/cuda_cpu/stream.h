// Streams: what is given to one is done at once where nothing stands before it, and by a thread of the stream otherwise.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cuda_cpu/driver.h"

namespace usm_ipc::cu {
struct CUstream_st;
}

namespace usm_ipc::cuda_cpu {

using StreamRef = std::shared_ptr<cu::CUstream_st>;

struct Work {
  std::function<void()> run;
  std::function<bool()> ready;  // none: as soon as it is its turn
  bool is_apart = false;        // never on the caller's thread
  uint64_t number = 0;
  std::vector<std::pair<StreamRef, uint64_t>> behind;  // work of other streams
};

// Streams are known by their address. The null stream's names: 0, 1 (CU_STREAM_LEGACY), and 2, a thread's own, as well.
StreamRef make_stream(int device, bool is_blocking);
// In a current context. Null where there is none: `why`.
StreamRef find_stream(cu::Stream stream, Result& why);
// What it was given is still done.
Result remove_stream(cu::Stream stream);
void forget_streams(int device);

// Each under no lock. The null stream's work stands behind that of the streams that block with it, and theirs behind its.
uint64_t submit(const StreamRef& stream, Work work);
void wait_for(const StreamRef& stream, uint64_t number);
void wait_for(const StreamRef& stream);
void wait_for_device(int device);
bool is_idle(const StreamRef& stream);
int device_of(const StreamRef& stream);

}  // namespace usm_ipc::cuda_cpu
