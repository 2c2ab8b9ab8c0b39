#include "torch/shares.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <unordered_map>

#include "failure.h"

namespace usm_ipc {
namespace {

struct Use {
  uint64_t count = 0;
  bool is_ending = false;
};
using Uses = std::map<TorchCounter, Use>;

struct Share {
  Backend* backend;
  uint32_t device;
  Uses::iterator use;
};

struct Shares {
  const pid_t process = ::getpid();
  std::mutex mutex;
  ShareId last = 0;
  std::unordered_map<ShareId, Share> open;
  Uses uses;
};

Shares& shares() {
  static Shares* const instance = new Shares;  // never destroyed: finalizers may run at exit
  return *instance;
}

// The other libraries of this process may have work on the memory, too. A context that is gone has none.
void synchronize(const Share& share) noexcept {
  try {
    Memory any;
    any.device = share.device;
    share.backend->synchronize(any);
  } catch (const std::exception&) {
  }
}

}  // namespace

ShareId take_torch_share(Backend& backend, uint32_t device, const std::string& name, uint64_t index) {
  Shares& all = shares();
  if (all.process != ::getpid()) {
    throw Failure(FailureKind::state, "forked", "this process was forked from one that had the addon in use");
  }
  // Under the lock: what is looked at is not counted down meanwhile.
  std::lock_guard<std::mutex> lock(all.mutex);
  const Uses::iterator use = all.uses.try_emplace(find_torch_counter(name, index)).first;
  if (use->second.is_ending) {
    throw Failure(FailureKind::descriptor, "stale-handle", "another thread of this process is giving this share back");
  }
  const ShareId id = all.last + 1;
  try {
    all.open.emplace(id, Share{&backend, device, use});
  } catch (...) {
    if (use->second.count == 0) all.uses.erase(use);
    throw;
  }
  all.last = id;
  ++use->second.count;
  return id;
}

ShareEnd end_torch_share(ShareId id) noexcept {
  Shares& all = shares();
  if (all.process != ::getpid()) return ShareEnd::unknown;
  std::unique_lock<std::mutex> lock(all.mutex);
  const auto found = all.open.find(id);
  if (found == all.open.end()) return ShareEnd::unknown;
  const Share share = found->second;
  all.open.erase(found);
  if (--share.use->second.count > 0) return ShareEnd::held;
  share.use->second.is_ending = true;
  lock.unlock();  // the device may take long
  synchronize(share);
  const CountDown result = count_down(share.use->first);
  lock.lock();
  all.uses.erase(share.use);
  return static_cast<ShareEnd>(result);
}

void forget_torch_share(ShareId id) noexcept {
  Shares& all = shares();
  if (all.process != ::getpid()) return;
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.open.find(id);
  if (found == all.open.end()) return;
  const Uses::iterator use = found->second.use;
  all.open.erase(found);
  if (--use->second.count == 0) all.uses.erase(use);
}

}  // namespace usm_ipc
