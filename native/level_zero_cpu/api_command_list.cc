#include "level_zero_cpu/commands.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

constexpr uint32_t kKnownListFlags = 0x3f;

Scheduler& scheduler() { return Scheduler::instance(); }

}  // namespace

// One group of one queue.
void check_queue(const CommandQueueDesc* desc) {
  constexpr uint32_t flags = 7;
  require((required(desc).flags & ~flags) == 0, kInvalidEnumeration);
  require(desc->mode <= kModeAsynchronous && desc->priority <= kPriorityHigh, kInvalidEnumeration);
  require(desc->ordinal == 0 && desc->index == 0, kInvalidArgument);
}

USM_IPC_ZE_API Result zeCommandListCreate(Context context, Device device, const CommandListDesc* desc,
                                          CommandList* out) {
  return entry("zeCommandListCreate", Reach::device, [&] {
    ContextHandle& owner = object(context);
    DeviceHandle& on = object(device);
    require((required(desc).flags & ~kKnownListFlags) == 0, kInvalidEnumeration);
    require(desc->ordinal == 0, kInvalidArgument);
    required(out);
    *out = new CommandListHandle{Kind::list, &on, &owner, nullptr};
  });
}

USM_IPC_ZE_API Result zeCommandListCreateImmediate(Context context, Device device, const CommandQueueDesc* desc,
                                                   CommandList* out) {
  return entry("zeCommandListCreateImmediate", Reach::device, [&] {
    ContextHandle& owner = object(context);
    DeviceHandle& on = object(device);
    check_queue(desc);
    required(out);
    const bool synchronous = desc->mode == kModeSynchronous;
    *out = new CommandListHandle{Kind::list, &on, &owner, std::make_shared<Stream>(), synchronous};
  });
}

// Commands that still wait are the stream's, which lives on until they have run.
USM_IPC_ZE_API Result zeCommandListDestroy(CommandList handle) {
  return entry("zeCommandListDestroy", Reach::release, [&] { delete &object(handle); });
}

USM_IPC_ZE_API Result zeCommandListClose(CommandList handle) {
  return entry("zeCommandListClose", Reach::device, [&] {
    CommandListHandle& list = object(handle);
    require(list.stream == nullptr, kInvalidCommandListType);
    list.closed = true;
  });
}

USM_IPC_ZE_API Result zeCommandListReset(CommandList handle) {
  return entry("zeCommandListReset", Reach::device, [&] {
    CommandListHandle& list = object(handle);
    require(list.stream == nullptr, kInvalidCommandListType);
    list.commands.clear();
    list.closed = false;
  });
}

USM_IPC_ZE_API Result zeCommandListHostSynchronize(CommandList handle, uint64_t timeout) {
  return entry("zeCommandListHostSynchronize", Reach::device, [&] {
    const CommandListHandle& list = object(handle);
    require(list.stream != nullptr, kInvalidCommandListType);
    return scheduler().wait(list.stream, timeout);
  });
}

}  // namespace usm_ipc::ze
