#include "level_zero_cpu/commands.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

// ze_event_pool_counter_based_exp_desc_t, whose content does not matter here.
constexpr uint32_t kCounterBasedPoolDesc = 0x00020014;

bool counter_based(const EventPoolDesc& desc) {
  for (auto* it = static_cast<const BaseProperties*>(desc.next); it != nullptr;
       it = static_cast<const BaseProperties*>(it->next)) {
    if (it->stype == kCounterBasedPoolDesc) return true;
  }
  return false;
}

Scheduler& scheduler() { return Scheduler::instance(); }

SignalPtr signal_of(EventHandle& event) {
  const auto guard = scheduler().lock();
  return event.core->signal;
}

}  // namespace

USM_IPC_ZE_API Result zeEventPoolCreate(Context context, const EventPoolDesc* desc, uint32_t count, Device* devices,
                                        EventPool* out) {
  return entry("zeEventPoolCreate", Reach::device, [&] {
    object(context);
    constexpr uint32_t known = kPoolHostVisible | kPoolIpc | kPoolKernelTimestamp | kPoolMappedTimestamp;
    require((required(desc).flags & ~known) == 0, kInvalidEnumeration);
    require(desc->count != 0, kInvalidSize);
    require(count == 0 || devices != nullptr, kInvalidNullPointer);
    for (uint32_t i = 0; i < count; i++) object(devices[i]);
    required(out);
    require((desc->flags & kPoolIpc) == 0, kUnsupportedFeature);
    *out = new EventPoolHandle{Kind::event_pool, desc->flags, desc->count, counter_based(*desc)};
  });
}

USM_IPC_ZE_API Result zeEventPoolDestroy(EventPool handle) {
  return entry("zeEventPoolDestroy", Reach::release, [&] { delete &object(handle); });
}

USM_IPC_ZE_API Result zeEventCreate(EventPool handle, const EventDesc* desc, Event* out) {
  return entry("zeEventCreate", Reach::device, [&] {
    const EventPoolHandle& pool = object(handle);
    constexpr uint32_t scopes = kScopeSubdevice | kScopeDevice | kScopeHost;
    require(((required(desc).signal | desc->wait) & ~scopes) == 0, kInvalidEnumeration);
    require(desc->index < pool.count, kInvalidArgument);
    required(out);
    auto core = std::make_shared<EventCore>();
    core->counter_based = pool.counter_based;
    core->signal->signaled = pool.counter_based;  // nothing has been asked of it that could be outstanding
    *out = new EventHandle{Kind::event, std::move(core)};
  });
}

USM_IPC_ZE_API Result zeEventDestroy(Event handle) {
  return entry("zeEventDestroy", Reach::release, [&] { delete &object(handle); });
}

USM_IPC_ZE_API Result zeEventHostSignal(Event handle) {
  return entry("zeEventHostSignal", Reach::device, [&] { scheduler().signal(signal_of(object(handle))); });
}

USM_IPC_ZE_API Result zeEventHostReset(Event handle) {
  return entry("zeEventHostReset", Reach::device, [&] {
    EventHandle& event = object(handle);
    const auto guard = scheduler().lock();
    *event.core->signal = {};
  });
}

USM_IPC_ZE_API Result zeEventHostSynchronize(Event handle, uint64_t timeout) {
  return entry("zeEventHostSynchronize", Reach::device,
               [&] { return scheduler().wait(signal_of(object(handle)), timeout); });
}

USM_IPC_ZE_API Result zeEventQueryStatus(Event handle) {
  return entry("zeEventQueryStatus", Reach::device, [&] { return scheduler().wait(signal_of(object(handle)), 0); });
}

// One clock: what a device and what a context measured are the same.
USM_IPC_ZE_API Result zeEventQueryKernelTimestamp(Event handle, KernelTimestampResult* result) {
  return entry("zeEventQueryKernelTimestamp", Reach::device, [&]() -> Result {
    EventHandle& event = object(handle);
    required(result);
    const auto guard = scheduler().lock();
    const Signal& signal = *event.core->signal;
    if (!signal.signaled) return kNotReady;
    *result = {signal.time, signal.time};
    return kSuccess;
  });
}

}  // namespace usm_ipc::ze
