// Events that processes share, as claims.
#include <array>
#include <cstring>
#include <string>

#include "addon/arguments.h"
#include "addon/claims.h"
#include "addon/methods.h"

namespace usm_ipc {
namespace {

napi_value create_event(Call& call) {
  Backend& backend = backend_argument(call, 0);
  const uint32_t device = call.integer(1, "device", UINT32_MAX);
  const AllocationId id = allocation_id(call.bytes(2, "core"), call.integer(3, "idAt"));
  return deliver(call, Registry::instance().create_event(call.environment(), backend, device, id), 4,
                 "event.finalizer");
}

napi_value open_event(Call& call) {
  Backend& backend = backend_argument(call, 0);
  const uint32_t device = call.integer(1, "device", UINT32_MAX);
  const Span core = call.bytes(2, "core");
  const uint64_t size = call.integer(4, "handleLength", kMaxVendorHandle);
  // Read once: another thread may write to a shared core memory while we look.
  std::array<uint8_t, kMaxVendorHandle> handle;
  std::memcpy(handle.data(), core.part(call.integer(3, "handleAt"), size, "the event's handle"), size);
  AllocationId id;
  if (!call.negative(5)) id = allocation_id(core, call.integer(5, "idAt"));
  const EnvironmentId env = call.environment();
  return deliver(call, Registry::instance().open_event(env, backend, device, handle.data(), size, id), 6,
                 "event.finalizer");
}

EventInfo event_argument(const Call& call) {
  return Registry::instance().event(call.environment(), call.integer(0, "claim"));
}

napi_value get_event(Call& call) {
  const EventInfo info = event_argument(call);
  std::array<uint8_t, kMaxVendorHandle> handle;
  if (info.path != OpenPath::none) {
    throw Failure(FailureKind::state, "ipc-event",
                  "an event that was opened from a handle is not exported again; pass the exporter's handle on");
  }
  const size_t size = info.events->get(*info.event, handle.data());
  const uint64_t capacity = call.integer(3, "handleCapacity");
  if (size > capacity) {
    throw Failure(FailureKind::argument, "capacity", "the event's handle takes " + std::to_string(size) + " bytes");
  }
  std::memcpy(call.bytes(1, "core").part(call.integer(2, "handleAt"), size, "the event's handle"), handle.data(), size);
  return call.number(size);
}

napi_value event_record(Call& call) {
  const EventInfo info = event_argument(call);
  info.events->record(*info.event, call.bigint(1, "stream"));
  return nullptr;
}

napi_value event_query(Call& call) {
  const EventInfo info = event_argument(call);
  return call.boolean(info.events->query(*info.event));
}

napi_value event_wait(Call& call) {
  const EventInfo info = event_argument(call);
  info.events->wait(*info.event, call.bigint(1, "stream"));
  return nullptr;
}

}  // namespace

void add_events(Methods& methods) {
  methods.push_back(method<create_event>("createEvent"));
  methods.push_back(method<open_event>("openEvent"));
  methods.push_back(method<get_event>("getEvent"));
  methods.push_back(method<event_record>("eventRecord"));
  methods.push_back(method<event_query>("eventQuery"));
  methods.push_back(method<event_wait>("eventWait"));
}

}  // namespace usm_ipc
