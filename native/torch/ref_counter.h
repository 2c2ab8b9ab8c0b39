// PyTorch's counters of what it has shared: files in /dev/shm, each with a header (how many have it mapped) and then
// counters of 64 bits. The producer sets a counter to 1 for what it sends; who received it counts it down when it is
// done, and the producer then takes its memory back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace usm_ipc {

// Of a file that was there and looked right. The file itself, not its name, is what the counter is known by.
struct TorchCounter {
  std::string name;  // "/torch_478_2189332846_0"
  uint64_t index = 0;
  dev_t device = 0;
  ino_t inode = 0;

  bool operator<(const TorchCounter& other) const;
};

// Changes nothing. Throws Failure: argument/"invalid-ref-counter" for a name that torch does not make,
// peer/"exporter-gone" without that file, descriptor/"bad-ref-counter" for a file of another sort, user or size, and
// descriptor/"stale-handle" where it is counted down already.
TorchCounter find_torch_counter(const std::string& name, uint64_t index);

enum class CountDown : uint8_t {
  counted = 0,
  gone = 1,   // the file is not there any more: its producer has ended
  spent = 2,  // somebody else has counted it down: it stays 0
  failed = 3, // it cannot be opened or mapped now
};

// As torch's consumer does it, the header's count and the removal of a file that nobody else has mapped included; but
// atomically, and never below 0.
CountDown count_down(const TorchCounter& counter) noexcept;

}  // namespace usm_ipc
