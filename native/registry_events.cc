// The registry's part for events that processes share.
#include <algorithm>
#include <array>

#include "registry_state.h"

namespace usm_ipc {
namespace {

Events& events_of(Backend& backend) {
  Events* const events = backend.events();
  if (events != nullptr) return *events;
  throw Failure(FailureKind::state, "no-events",
                std::string("the ") + backend.name() + " backend has no events that processes share");
}

}  // namespace

ClaimId Registry::create_event(EnvironmentId env, Backend& backend, uint32_t device, AllocationId id) {
  State& all = state();
  Events& events = events_of(backend);
  std::list<Resource> fresh;
  Resource& resource = fresh.emplace_back(ResourceKind::event, &backend);
  resource.allocation = id;
  resource.event = events.create(device);
  resource.driver_owned = true;
  std::array<uint8_t, kMaxVendorHandle> handle;
  const size_t size = events.get(resource.event, handle.data());
  resource.event_handle.assign(handle.begin(), handle.begin() + size);
  fault_point("event.register");
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.admit(env, fresh, ClaimKind::event, OpenPath::none);
}

ClaimId Registry::open_event(EnvironmentId env, Backend& backend, uint32_t device, const uint8_t* handle, size_t size,
                             AllocationId id) {
  State& all = state();
  Events& events = events_of(backend);
  std::lock_guard<std::mutex> lock(all.mutex);
  // An event that came along with memory has no id. Of this process's own, which no driver opens again, no two that live
  // have the same handle.
  for (Resource& live : all.resources) {
    if (live.kind != ResourceKind::event || live.backend != &backend || live.event.device != device) continue;
    const bool is_named = is_some(id) ? live.allocation == id : live.event_is_own;
    if (!is_named || !std::equal(live.event_handle.begin(), live.event_handle.end(), handle, handle + size)) continue;
    return all.take(env, live, ClaimKind::event, live.event_is_own ? OpenPath::self : OpenPath::cached);
  }
  std::list<Resource> fresh;
  Resource& resource = fresh.emplace_back(ResourceKind::event, &backend);
  resource.allocation = id;
  resource.event_handle.assign(handle, handle + size);
  resource.event_is_own = false;
  resource.event = events.open(device, handle, size);
  resource.driver_owned = true;
  fault_point("event.register");
  return all.admit(env, fresh, ClaimKind::event, OpenPath::mapped);
}

EventInfo Registry::event(EnvironmentId env, ClaimId claim) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  const Claim& own = all.own(env, claim);
  const Resource& resource = *own.resource;
  if (resource.kind != ResourceKind::event) {
    throw Failure(FailureKind::argument, "not-an-event", "claim " + std::to_string(claim) + " is not an event's");
  }
  return {resource.backend->events(), &resource.event, own.path};
}

}  // namespace usm_ipc
