// What this process has open of what PyTorch processes shared. A share that several threads have open is counted down
// once, after the last of them.
#pragma once

#include <cstdint>
#include <string>

#include "backend.h"
#include "torch/ref_counter.h"

namespace usm_ipc {

using ShareId = uint64_t;  // from 1, never reused in a process, below 2^53

// Throws as find_torch_counter, and Failure{descriptor, "stale-handle"} for a share that is being counted down.
ShareId take_torch_share(Backend& backend, uint32_t device, const std::string& name, uint64_t index);

enum class ShareEnd : uint8_t { counted = 0, gone = 1, spent = 2, failed = 3, held = 4, unknown = 5 };

// Waits until the device has done what this process gave it, and counts down; on any thread. `held`: others of this
// process have the share open. `unknown`: it was ended before, or belongs to the process that this one was forked from.
ShareEnd end_torch_share(ShareId share) noexcept;
// Nothing was opened: the counter stays as it is, and the share can be tried again.
void forget_torch_share(ShareId share) noexcept;

}  // namespace usm_ipc
