// Streams do at once what they are given, but for host functions, which run on threads of their own; events that are
// recorded behind one are done when it is.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>

#include "cuda_cpu/file.h"
#include "cuda/functions.h"

namespace usm_ipc::cu {

// The state of an event, which processes share.
struct CUevent_st {
  unsigned flags = 0;
  bool imported = false;
  struct State {
    uint64_t recorded;
    uint64_t done;
  };
  std::shared_ptr<usm_ipc::cuda_cpu::MappedFile> memory;
  State& state() const { return *reinterpret_cast<State*>(memory->base); }
};

struct CUstream_st {
  int device = 0;
  uint64_t pending = 0;  // host functions that run, or tests that hold it
  struct Recorded {
    std::shared_ptr<usm_ipc::cuda_cpu::MappedFile> memory;
    uint64_t number;
  };
  std::list<Recorded> recorded;  // behind them
};

}  // namespace usm_ipc::cu

namespace usm_ipc::cuda_cpu {

using cu::CUevent_st;
using cu::CUstream_st;

// The null stream is one for all devices.
CUstream_st* stream_of(cu::Stream stream);
void add_stream(CUstream_st* stream);
void remove_stream(CUstream_st* stream);
// Something runs on it from now on; and no more.
void begin(CUstream_st& stream);
void end(CUstream_st& stream);
// Under no lock.
void wait_for(CUstream_st* stream);
void wait_for_all();

}  // namespace usm_ipc::cuda_cpu
