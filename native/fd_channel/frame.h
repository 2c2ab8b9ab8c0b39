// What travels on a channel: one packet of a Unix seqpacket socket, with descriptors beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "unique_fd.h"

namespace usm_ipc {

constexpr size_t kMaxFrameBytes = 65536;
constexpr size_t kMaxFrameDescriptors = 16;
constexpr size_t kMaxHeldDescriptors = 256;  // that a channel has received and its owner has not closed

struct Frame {
  std::vector<uint8_t> bytes;
  std::vector<UniqueFd> descriptors;
};

}  // namespace usm_ipc
