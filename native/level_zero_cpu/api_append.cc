// Commands: what they do, and to which list they go.
#include <algorithm>
#include <cstring>

#include "level_zero_cpu/commands.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

// The list first: its handle is what a caller most likely got wrong.
Command command(CommandList list, Event signal, uint32_t count, Event* waits) {
  object(list);
  Command made;
  require(count == 0 || waits != nullptr, kInvalidSize);
  for (uint32_t i = 0; i < count; i++) made.waits.push_back(object(waits[i]).core);
  if (signal != nullptr) made.signal = object(signal).core;
  return made;
}

Result append(CommandList handle, Command made) {
  CommandListHandle& list = *handle;
  if (list.stream == nullptr) {
    require(!list.closed, kInvalidArgument);
    list.commands.push_back(std::move(made));
    return kSuccess;
  }
  const StreamPtr stream = list.stream;
  const bool synchronous = list.synchronous;
  std::vector<Command> one;
  one.push_back(std::move(made));
  Scheduler::instance().submit(stream, std::move(one));
  return synchronous ? Scheduler::instance().wait(stream, kForever) : kSuccess;
}

void fill(uint8_t* to, const std::vector<uint8_t>& pattern, size_t size) {
  const bool same = std::all_of(pattern.begin(), pattern.end(), [&](uint8_t byte) { return byte == pattern[0]; });
  if (same) {
    std::memset(to, pattern[0], size);
    return;
  }
  // Doubling what is there already, a pattern's worth at first.
  size_t done = std::min(pattern.size(), size);
  std::memcpy(to, pattern.data(), done);
  while (done < size) {
    const size_t more = std::min(done, size - done);
    std::memcpy(to + done, to, more);
    done += more;
  }
}

struct Pitches {
  size_t row;
  size_t slice;
};

Pitches pitches(const CopyRegion& region, uint32_t pitch, uint32_t slice_pitch) {
  const size_t row = pitch != 0 ? pitch : region.width;
  return {row, slice_pitch != 0 ? slice_pitch : row * region.height};
}

size_t start(const CopyRegion& region, const Pitches& by) {
  return region.origin_z * by.slice + region.origin_y * by.row + region.origin_x;
}

}  // namespace

USM_IPC_ZE_API Result zeCommandListAppendBarrier(CommandList list, Event signal, uint32_t count, Event* waits) {
  return entry("zeCommandListAppendBarrier", Reach::device,
               [&] { return append(list, command(list, signal, count, waits)); });
}

USM_IPC_ZE_API Result zeCommandListAppendMemoryRangesBarrier(CommandList list, uint32_t ranges, const size_t* sizes,
                                                             const void** pointers, Event signal, uint32_t count,
                                                             Event* waits) {
  return entry("zeCommandListAppendMemoryRangesBarrier", Reach::device, [&] {
    Command made = command(list, signal, count, waits);
    require(ranges == 0 || (sizes != nullptr && pointers != nullptr), kInvalidNullPointer);
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendMemoryCopy(CommandList list, void* to, const void* from, size_t size,
                                                    Event signal, uint32_t count, Event* waits) {
  return entry("zeCommandListAppendMemoryCopy", Reach::device, [&] {
    Command made = command(list, signal, count, waits);
    require(to != nullptr && from != nullptr, kInvalidNullPointer);
    made.work = [=] { std::memmove(to, from, size); };
    made.touches = {to, from};
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendMemoryFill(CommandList list, void* to, const void* pattern,
                                                    size_t pattern_size, size_t size, Event signal, uint32_t count,
                                                    Event* waits) {
  return entry("zeCommandListAppendMemoryFill", Reach::device, [&] {
    Command made = command(list, signal, count, waits);
    require(to != nullptr && pattern != nullptr, kInvalidNullPointer);
    require(pattern_size != 0 && (pattern_size & (pattern_size - 1)) == 0, kInvalidSize);
    // The caller may change it as soon as this returns.
    const auto* const bytes = static_cast<const uint8_t*>(pattern);
    made.work = [=, kept = std::vector<uint8_t>(bytes, bytes + pattern_size)] {
      fill(static_cast<uint8_t*>(to), kept, size);
    };
    made.touches = {to};
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendMemoryCopyRegion(CommandList list, void* to, const CopyRegion* to_region,
                                                          uint32_t to_pitch, uint32_t to_slice_pitch, const void* from,
                                                          const CopyRegion* from_region, uint32_t from_pitch,
                                                          uint32_t from_slice_pitch, Event signal, uint32_t count,
                                                          Event* waits) {
  return entry("zeCommandListAppendMemoryCopyRegion", Reach::device, [&] {
    Command made = command(list, signal, count, waits);
    require(to != nullptr && from != nullptr, kInvalidNullPointer);
    const CopyRegion target = required(to_region);
    const CopyRegion source = required(from_region);
    require(target.width == source.width && target.height == source.height && target.depth == source.depth,
            kInvalidSize);
    const Pitches target_by = pitches(target, to_pitch, to_slice_pitch);
    const Pitches source_by = pitches(source, from_pitch, from_slice_pitch);
    made.work = [=] {
      auto* const out = static_cast<uint8_t*>(to) + start(target, target_by);
      auto* const in = static_cast<const uint8_t*>(from) + start(source, source_by);
      for (size_t z = 0; z < std::max(source.depth, 1u); z++) {
        for (size_t y = 0; y < source.height; y++) {
          std::memmove(out + z * target_by.slice + y * target_by.row, in + z * source_by.slice + y * source_by.row,
                       source.width);
        }
      }
    };
    made.touches = {to, from};
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendMemoryCopyFromContext(CommandList list, void* to, Context context,
                                                               const void* from, size_t size, Event signal,
                                                               uint32_t count, Event* waits) {
  return entry("zeCommandListAppendMemoryCopyFromContext", Reach::device, [&] {
    Command made = command(list, signal, count, waits);
    object(context);
    require(to != nullptr && from != nullptr, kInvalidNullPointer);
    made.work = [=] { std::memmove(to, from, size); };
    made.touches = {to, from};
    return append(list, std::move(made));
  });
}

// Advice: there is one memory, so that following it takes nothing.
USM_IPC_ZE_API Result zeCommandListAppendMemoryPrefetch(CommandList list, const void* pointer, size_t) {
  return entry("zeCommandListAppendMemoryPrefetch", Reach::device, [&] {
    Command made = command(list, nullptr, 0, nullptr);
    require(pointer != nullptr, kInvalidNullPointer);
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendMemAdvise(CommandList list, Device device, const void* pointer, size_t,
                                                   uint32_t) {
  return entry("zeCommandListAppendMemAdvise", Reach::device, [&] {
    Command made = command(list, nullptr, 0, nullptr);
    object(device);
    require(pointer != nullptr, kInvalidNullPointer);
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendSignalEvent(CommandList list, Event event) {
  return entry("zeCommandListAppendSignalEvent", Reach::device, [&] {
    object(list);
    object(event);
    return append(list, command(list, event, 0, nullptr));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendWaitOnEvents(CommandList list, uint32_t count, Event* events) {
  return entry("zeCommandListAppendWaitOnEvents", Reach::device, [&] {
    object(list);
    required(events);
    return append(list, command(list, nullptr, count, events));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendEventReset(CommandList list, Event event) {
  return entry("zeCommandListAppendEventReset", Reach::device, [&] {
    Command made = command(list, nullptr, 0, nullptr);
    made.book = [core = object(event).core] { *core->signal = {}; };
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendWriteGlobalTimestamp(CommandList list, uint64_t* to, Event signal,
                                                              uint32_t count, Event* waits) {
  return entry("zeCommandListAppendWriteGlobalTimestamp", Reach::device, [&] {
    Command made = command(list, signal, count, waits);
    required(to);
    made.work = [=] { *to = timestamp(); };
    made.touches = {to};
    return append(list, std::move(made));
  });
}

USM_IPC_ZE_API Result zeCommandListAppendQueryKernelTimestamps(CommandList list, uint32_t events, Event* of, void* to,
                                                               const size_t* offsets, Event signal, uint32_t count,
                                                               Event* waits) {
  return entry("zeCommandListAppendQueryKernelTimestamps", Reach::device, [&] {
    Command made = command(list, signal, count, waits);
    require(of != nullptr && to != nullptr, kInvalidNullPointer);
    std::vector<std::pair<size_t, EventCorePtr>> queried;
    for (uint32_t i = 0; i < events; i++) {
      queried.emplace_back(offsets != nullptr ? offsets[i] : i * sizeof(KernelTimestampResult), object(of[i]).core);
    }
    made.book = [=] {
      for (const auto& [offset, core] : queried) {
        const KernelTimestampResult result{core->signal->time, core->signal->time};
        std::memcpy(static_cast<uint8_t*>(to) + offset, &result, sizeof result);
      }
    };
    made.touches = {to};
    return append(list, std::move(made));
  });
}

}  // namespace usm_ipc::ze
