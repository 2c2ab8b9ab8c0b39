// Events, lists, queues and fences as handles point at them.
#pragma once

#include "level_zero_cpu/scheduler.h"

namespace usm_ipc::ze {

struct EventPoolHandle {
  Kind kind = Kind::event_pool;
  uint32_t flags;
  uint32_t count;
  bool counter_based;
};

struct EventHandle {
  Kind kind = Kind::event;
  EventCorePtr core;
};

struct CommandQueueHandle {
  Kind kind = Kind::queue;
  bool synchronous;
  StreamPtr stream = std::make_shared<Stream>();
};

struct FenceHandle {
  Kind kind = Kind::fence;
  SignalPtr signal = std::make_shared<Signal>();
};

struct CommandListHandle {
  Kind kind = Kind::list;
  DeviceHandle* device;
  ContextHandle* context;
  StreamPtr stream;  // an immediate list's; the others record:
  bool synchronous = false;
  bool closed = false;
  std::vector<Command> commands{};
};

inline EventPoolHandle& object(EventPool handle) { return check_kind(handle, Kind::event_pool), *handle; }
inline EventHandle& object(Event handle) { return check_kind(handle, Kind::event), *handle; }
inline CommandQueueHandle& object(CommandQueue handle) { return check_kind(handle, Kind::queue), *handle; }
inline FenceHandle& object(Fence handle) { return check_kind(handle, Kind::fence), *handle; }
inline CommandListHandle& object(CommandList handle) { return check_kind(handle, Kind::list), *handle; }

// The one queue of the one group that a device has. Throws Refusal.
void check_queue(const CommandQueueDesc* desc);

}  // namespace usm_ipc::ze
