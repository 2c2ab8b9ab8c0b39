#include "cuda_cpu/event.h"

#include <atomic>
#include <set>

namespace usm_ipc::cuda_cpu {
namespace {

struct State {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> done;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

State& state_of(const cu::CUevent_st& event) { return *reinterpret_cast<State*>(event.memory->base); }

struct Events {
  std::map<cu::Event, EventRef> made;
  std::set<cu::Event> of_destroyed;  // contexts
};

Events& events() {
  static Events* const instance = new Events;  // as the driver
  return *instance;
}

EventRef add(int device, unsigned flags, bool imported, std::shared_ptr<MappedFile> memory) {
  Lock lock(Driver::instance().mutex);
  auto event = std::make_shared<cu::CUevent_st>();
  event->device = device;
  event->flags = flags;
  event->imported = imported;
  event->memory = std::move(memory);
  events().of_destroyed.erase(event.get());
  events().made[event.get()] = event;
  return event;
}

}  // namespace

EventRef make_event(int device, unsigned flags) {
  const bool is_shared = (flags & kEventInterprocess) != 0;
  auto file = is_shared ? make_file(kEventBytes) : nullptr;
  if (is_shared && file == nullptr) return nullptr;
  auto memory = map_file(std::move(file), kEventBytes);
  return memory == nullptr ? nullptr : add(device, flags, false, std::move(memory));
}

EventRef make_imported_event(int device, std::shared_ptr<MappedFile> memory) {
  return add(device, kEventInterprocess | kEventDisableTiming, true, std::move(memory));
}

EventRef find_event(cu::Event event, Result& why) {
  Lock lock(Driver::instance().mutex);
  why = kSuccess;
  const auto found = events().made.find(event);
  if (found != events().made.end()) return found->second;
  why = events().of_destroyed.count(event) != 0 ? kContextIsDestroyed : kInvalidHandle;
  return nullptr;
}

Result remove_event(cu::Event event) {
  Lock lock(Driver::instance().mutex);
  if (events().made.erase(event) != 0) return kSuccess;
  return events().of_destroyed.erase(event) != 0 ? kContextIsDestroyed : kInvalidHandle;
}

void forget_events(int device) {
  Lock lock(Driver::instance().mutex);
  for (auto at = events().made.begin(); at != events().made.end();) {
    if (at->second->device != device) {
      ++at;
      continue;
    }
    events().of_destroyed.insert(at->first);
    at = events().made.erase(at);
  }
}

uint64_t begin_record(const cu::CUevent_st& event) { return ++state_of(event).recorded; }

void complete(const cu::CUevent_st& event, uint64_t number) {
  std::atomic<uint64_t>& done = state_of(event).done;
  for (uint64_t seen = done; seen < number;) {
    if (done.compare_exchange_weak(seen, number)) return;
  }
}

uint64_t last_record(const cu::CUevent_st& event) { return state_of(event).recorded; }

bool is_done(const cu::CUevent_st& event, uint64_t number) { return state_of(event).done >= number; }

}  // namespace usm_ipc::cuda_cpu
