#include "level_zero_cpu/commands.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

Scheduler& scheduler() { return Scheduler::instance(); }

}  // namespace

USM_IPC_ZE_API Result zeCommandQueueCreate(Context context, Device device, const CommandQueueDesc* desc,
                                           CommandQueue* out) {
  return entry("zeCommandQueueCreate", Reach::device, [&] {
    object(context);
    object(device);
    check_queue(desc);
    required(out);
    *out = new CommandQueueHandle{Kind::queue, desc->mode == kModeSynchronous};
  });
}

USM_IPC_ZE_API Result zeCommandQueueDestroy(CommandQueue handle) {
  return entry("zeCommandQueueDestroy", Reach::release, [&] { delete &object(handle); });
}

USM_IPC_ZE_API Result zeCommandQueueExecuteCommandLists(CommandQueue handle, uint32_t count, CommandList* lists,
                                                        Fence fence) {
  return entry("zeCommandQueueExecuteCommandLists", Reach::device, [&]() -> Result {
    const CommandQueueHandle& queue = object(handle);
    required(lists);
    require(count != 0, kInvalidSize);
    const SignalPtr done = fence == nullptr ? nullptr : object(fence).signal;
    std::vector<Command> commands;
    for (uint32_t i = 0; i < count; i++) {
      const CommandListHandle& list = object(lists[i]);
      require(list.stream == nullptr, kInvalidCommandListType);
      require(list.closed, kInvalidArgument);
      commands.insert(commands.end(), list.commands.begin(), list.commands.end());
    }
    const StreamPtr stream = queue.stream;
    scheduler().submit(stream, std::move(commands), done);
    return queue.synchronous ? scheduler().wait(stream, kForever) : kSuccess;
  });
}

USM_IPC_ZE_API Result zeCommandQueueSynchronize(CommandQueue handle, uint64_t timeout) {
  return entry("zeCommandQueueSynchronize", Reach::device,
               [&] { return scheduler().wait(object(handle).stream, timeout); });
}

USM_IPC_ZE_API Result zeFenceCreate(CommandQueue queue, const FenceDesc* desc, Fence* out) {
  return entry("zeFenceCreate", Reach::device, [&] {
    object(queue);
    require((required(desc).flags & ~kFenceSignaled) == 0, kInvalidEnumeration);
    required(out);
    *out = new FenceHandle;
    (*out)->signal->signaled = desc->flags == kFenceSignaled;
  });
}

USM_IPC_ZE_API Result zeFenceDestroy(Fence handle) {
  return entry("zeFenceDestroy", Reach::release, [&] { delete &object(handle); });
}

USM_IPC_ZE_API Result zeFenceHostSynchronize(Fence handle, uint64_t timeout) {
  return entry("zeFenceHostSynchronize", Reach::device,
               [&] { return scheduler().wait(object(handle).signal, timeout); });
}

USM_IPC_ZE_API Result zeFenceQueryStatus(Fence handle) {
  return entry("zeFenceQueryStatus", Reach::device, [&] { return scheduler().wait(object(handle).signal, 0); });
}

USM_IPC_ZE_API Result zeFenceReset(Fence handle) {
  return entry("zeFenceReset", Reach::device, [&] {
    const FenceHandle& fence = object(handle);
    const auto guard = scheduler().lock();
    fence.signal->signaled = false;
  });
}

}  // namespace usm_ipc::ze
