// Events. Their state is in memory that processes can share.
#pragma once

#include <memory>

#include "cuda_cpu/driver.h"

namespace usm_ipc::cu {

struct CUevent_st {
  int device = 0;
  unsigned flags = 0;
  bool imported = false;
  std::shared_ptr<cuda_cpu::MappedFile> memory;
};

}  // namespace usm_ipc::cu

namespace usm_ipc::cuda_cpu {

using EventRef = std::shared_ptr<cu::CUevent_st>;

constexpr uint64_t kEventBytes = 4096;

// Null where there is no memory or no descriptor to be had.
EventRef make_event(int device, unsigned flags);
EventRef make_imported_event(int device, std::shared_ptr<MappedFile> memory);
// Null where there is none: `why`.
EventRef find_event(cu::Event event, Result& why);
Result remove_event(cu::Event event);
void forget_events(int device);

// The number of this record, which is to be completed.
uint64_t begin_record(const cu::CUevent_st& event);
void complete(const cu::CUevent_st& event, uint64_t number);
uint64_t last_record(const cu::CUevent_st& event);
// Never, where the process that recorded it ended first.
bool is_done(const cu::CUevent_st& event, uint64_t number);

}  // namespace usm_ipc::cuda_cpu
