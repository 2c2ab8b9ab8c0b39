// Command lists, queues, fences and events.
#include <atomic>
#include <chrono>
#include <thread>

#include "program.h"

using namespace usm_ipc::ze;

namespace {

constexpr uint64_t kMillisecond = 1'000'000;

Result copy(CommandList list, void* to, const void* from, size_t size, Event signal = nullptr,
            std::vector<Event> waits = {}) {
  return ZE(zeCommandListAppendMemoryCopy)(list, to, from, size, signal, static_cast<uint32_t>(waits.size()),
                                           waits.empty() ? nullptr : waits.data());
}

Result fill(CommandList list, void* to, std::vector<uint8_t> pattern, size_t size, Event signal = nullptr) {
  return ZE(zeCommandListAppendMemoryFill)(list, to, pattern.data(), pattern.size(), size, signal, 0, nullptr);
}

CommandList recorded(const Setup& it) {
  const CommandListDesc desc;
  CommandList list = nullptr;
  GIVES(ZE(zeCommandListCreate)(it.context, it.device, &desc, &list), kSuccess);
  return list;
}

CommandQueue queue(const Setup& it, uint32_t mode = kModeAsynchronous) {
  CommandQueueDesc desc;
  desc.mode = mode;
  CommandQueue made = nullptr;
  GIVES(ZE(zeCommandQueueCreate)(it.context, it.device, &desc, &made), kSuccess);
  return made;
}

Fence fence(CommandQueue of, uint32_t flags = 0) {
  FenceDesc desc;
  desc.flags = flags;
  Fence made = nullptr;
  GIVES(ZE(zeFenceCreate)(of, &desc, &made), kSuccess);
  return made;
}

}  // namespace

CASE(copies_and_fills) {
  Setup it;
  auto* const memory = it.allocate(4096);
  for (const uint32_t mode : {kModeDefault, kModeSynchronous, kModeAsynchronous}) {
    const CommandList list = it.immediate(mode);
    std::vector<uint8_t> bytes(4096);
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<uint8_t>(i * 7 + mode);
    std::vector<uint8_t> back(4096);
    GIVES(copy(list, memory, bytes.data(), 4096), kSuccess);
    GIVES(copy(list, back.data(), memory, 4096), kSuccess);
    GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kSuccess);
    EXPECT(back == bytes);
    // A size that the pattern does not divide, a pattern that is longer than the size, one that is all the same.
    GIVES(fill(list, memory, {1, 2, 3, 4}, 10), kSuccess);
    GIVES(fill(list, memory + 10, {5, 6}, 1), kSuccess);
    GIVES(fill(list, memory + 11, {9}, 3), kSuccess);
    GIVES(fill(list, memory + 20, {1}, 0), kSuccess);
    const uint8_t wanted[] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 5, 9, 9, 9};
    EXPECT(std::memcmp(memory, wanted, sizeof wanted) == 0 && memory[14] == bytes[14] && memory[20] == bytes[20]);
    // Overlapping.
    GIVES(copy(list, memory + 1, memory, 4), kSuccess);
    EXPECT(memory[1] == 1 && memory[4] == 4);
    GIVES(copy(list, memory, memory, 0), kSuccess);
    GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  }
  it.free(memory);
}

CASE(copies_of_regions) {
  Setup it;
  const CommandList list = it.immediate();
  uint8_t from[4 * 3 * 2];
  for (size_t i = 0; i < sizeof from; i++) from[i] = static_cast<uint8_t>(i);
  uint8_t to[100] = {};
  CopyRegion source;
  source.origin_x = 1;
  source.width = 2;
  source.height = 3;
  source.depth = 2;
  CopyRegion target = source;
  target.origin_x = 0;
  target.origin_y = 1;
  GIVES(ZE(zeCommandListAppendMemoryCopyRegion)(list, to, &target, 10, 50, from, &source, 4, 12, nullptr, 0, nullptr),
        kSuccess);
  for (size_t z = 0; z < 2; z++) {
    for (size_t y = 0; y < 3; y++) {
      for (size_t x = 0; x < 2; x++) EXPECT(to[z * 50 + (y + 1) * 10 + x] == z * 12 + y * 4 + x + 1);
    }
  }
  EXPECT(to[0] == 0 && to[12] == 0);
  target.width = 3;
  GIVES(ZE(zeCommandListAppendMemoryCopyRegion)(list, to, &target, 10, 50, from, &source, 4, 12, nullptr, 0, nullptr),
        kInvalidSize);
  GIVES(ZE(zeCommandListAppendMemoryCopyRegion)(list, to, nullptr, 10, 50, from, &source, 4, 12, nullptr, 0, nullptr),
        kInvalidNullPointer);
  GIVES(ZE(zeCommandListAppendMemoryCopyFromContext)(list, to, it.context, from, 5, nullptr, 0, nullptr), kSuccess);
  EXPECT(std::memcmp(to, from, 5) == 0);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
}

CASE(events_on_the_host) {
  Setup it;
  const EventPool pool = it.pool(2);
  const Event event = it.event(pool);
  GIVES(ZE(zeEventQueryStatus)(event), kNotReady);
  GIVES(ZE(zeEventHostSynchronize)(event, 0), kNotReady);
  GIVES(ZE(zeEventHostSynchronize)(event, 2 * kMillisecond), kNotReady);
  GIVES(ZE(zeEventHostSignal)(event), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kSuccess);
  GIVES(ZE(zeEventHostSynchronize)(event, kForever), kSuccess);
  GIVES(ZE(zeEventHostReset)(event), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kNotReady);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    GIVES(ZE(zeEventHostSignal)(event), kSuccess);
  });
  GIVES(ZE(zeEventHostSynchronize)(event, kForever - 1), kSuccess);
  other.join();
  GIVES(ZE(zeEventDestroy)(event), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
}

// What waits for an event runs when that is signaled, by whomever; the order of a list is kept.
CASE(pending_commands) {
  Setup it;
  const EventPool pool = it.pool(3);
  const Event start = it.event(pool, 0);
  const Event middle = it.event(pool, 1);
  const Event end = it.event(pool, 2);
  auto* const memory = it.allocate(16);
  const CommandList first = it.immediate();
  const CommandList second = it.immediate();
  uint64_t value = 1;
  // The second list waits for the first, which waits for the host.
  GIVES(copy(second, memory + 8, memory, 8, end, {middle}), kSuccess);
  GIVES(copy(first, memory, &value, 8, middle, {start}), kSuccess);
  GIVES(ZE(zeCommandListAppendBarrier)(first, nullptr, 0, nullptr), kSuccess);
  GIVES(ZE(zeCommandListHostSynchronize)(first, 0), kNotReady);
  GIVES(ZE(zeCommandListHostSynchronize)(second, kMillisecond), kNotReady);
  GIVES(ZE(zeEventQueryStatus)(end), kNotReady);
  value = 77;  // read when the command runs
  GIVES(ZE(zeEventHostSignal)(start), kSuccess);
  GIVES(ZE(zeCommandListHostSynchronize)(first, kForever), kSuccess);
  GIVES(ZE(zeEventHostSynchronize)(end, kForever), kSuccess);
  EXPECT(*reinterpret_cast<uint64_t*>(memory + 8) == 77);
  for (const Event event : {start, middle, end}) GIVES(ZE(zeEventDestroy)(event), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
  for (const CommandList list : {first, second}) GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  it.free(memory);
}

// What the commands use is given back before they run: they run all the same, on what they were given.
CASE(freed_under_pending_commands) {
  Setup it;
  const EventPool pool = it.pool(1);
  const Event start = it.event(pool);
  auto* const from = it.allocate(8);
  auto* const to = it.allocate(8);
  const CommandList list = it.immediate();
  GIVES(copy(list, to, from, 8, nullptr, {start}), kSuccess);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  it.free(from);
  const MemoryFreeExtDesc policy;
  GIVES(ZE(zeMemFreeExt)(it.context, &policy, to), kSuccess);
  GIVES(ZE(zeEventHostSignal)(start), kSuccess);
  GIVES(ZE(zeEventDestroy)(start), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
}

CASE(synchronous_list_waits_for_another_thread) {
  Setup it;
  const EventPool pool = it.pool(1);
  const Event start = it.event(pool);
  const CommandList list = it.immediate(kModeSynchronous);
  std::atomic<bool> signaled{false};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    signaled = true;
    GIVES(ZE(zeEventHostSignal)(start), kSuccess);
  });
  int from = 5;
  int to = 0;
  GIVES(copy(list, &to, &from, sizeof to, nullptr, {start}), kSuccess);
  EXPECT(signaled && to == 5);
  other.join();
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  GIVES(ZE(zeEventDestroy)(start), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
}

CASE(each_command_waits_for_its_own_event) {
  Setup it;
  const EventPool pool = it.pool(2);
  const Event first = it.event(pool, 0);
  const Event second = it.event(pool, 1);
  const CommandList list = it.immediate();
  int value = 1;
  int to[2] = {};
  GIVES(copy(list, &to[0], &value, sizeof value, nullptr, {first}), kSuccess);
  GIVES(copy(list, &to[1], &value, sizeof value, nullptr, {second}), kSuccess);
  GIVES(ZE(zeEventHostSignal)(first), kSuccess);
  EXPECT(to[0] == 1 && to[1] == 0);
  GIVES(ZE(zeCommandListHostSynchronize)(list, 0), kNotReady);
  GIVES(ZE(zeEventHostSignal)(second), kSuccess);
  GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kSuccess);
  EXPECT(to[1] == 1);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  for (const Event event : {first, second}) GIVES(ZE(zeEventDestroy)(event), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
}

// A command of some milliseconds runs on one thread; what another appends to the list meanwhile comes after it.
CASE(order_between_threads) {
  Setup it;
  constexpr size_t size = size_t{256} << 20;
  auto* const memory = it.allocate(size);
  std::memset(memory, 0, size);
  const CommandList list = it.immediate();
  std::thread other([&] { GIVES(fill(list, memory, {1}, size), kSuccess); });
  const volatile uint8_t* const begun = memory;
  while (*begun == 0) std::this_thread::yield();
  uint8_t last = 0;
  GIVES(copy(list, &last, memory + size - 1, 1), kSuccess);
  GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kSuccess);
  EXPECT(last == 1);
  other.join();
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  it.free(memory);
}

// Somebody waits for a list that somebody else gets going, and that signals nothing.
CASE(waiting_for_a_list) {
  Setup it;
  constexpr size_t size = size_t{64} << 20;
  auto* const memory = it.allocate(size);
  const EventPool pool = it.pool(1);
  const Event start = it.event(pool);
  const CommandList list = it.immediate();
  GIVES(ZE(zeCommandListAppendWaitOnEvents)(list, 1, const_cast<Event*>(&start)), kSuccess);
  GIVES(fill(list, memory, {1}, size), kSuccess);
  std::thread other([&] { GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kSuccess); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  GIVES(ZE(zeEventHostSignal)(start), kSuccess);
  other.join();
  EXPECT(memory[size - 1] == 1);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  GIVES(ZE(zeEventDestroy)(start), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
  it.free(memory);
}

CASE(events_in_lists) {
  Setup it;
  const EventPool pool = it.pool(2, kPoolHostVisible | kPoolKernelTimestamp);
  const Event event = it.event(pool, 0);
  Event other = it.event(pool, 1);
  const CommandList list = it.immediate();
  GIVES(ZE(zeCommandListAppendWaitOnEvents)(list, 1, &other), kSuccess);
  GIVES(ZE(zeCommandListAppendSignalEvent)(list, event), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kNotReady);
  KernelTimestampResult time;
  GIVES(ZE(zeEventQueryKernelTimestamp)(event, &time), kNotReady);
  GIVES(ZE(zeEventHostSignal)(other), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kSuccess);
  GIVES(ZE(zeEventQueryKernelTimestamp)(event, &time), kSuccess);
  EXPECT(time.global.start > 0 && time.global.end >= time.global.start);
  GIVES(ZE(zeCommandListAppendEventReset)(list, event), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kNotReady);
  GIVES(ZE(zeCommandListAppendBarrier)(list, event, 1, &other), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kSuccess);
  uint64_t now = 0;
  GIVES(ZE(zeCommandListAppendWriteGlobalTimestamp)(list, &now, nullptr, 0, nullptr), kSuccess);
  EXPECT(now > time.global.end);
  KernelTimestampResult queried[2];
  const size_t offset = sizeof queried[0];
  Event queried_event = event;
  GIVES(ZE(zeCommandListAppendQueryKernelTimestamps)(list, 1, &queried_event, queried, &offset, nullptr, 0, nullptr),
        kSuccess);
  EXPECT(queried[0].global.start == 0 && queried[1].global.start > time.global.end);
  const void* range = &now;
  const size_t size = sizeof now;
  GIVES(ZE(zeCommandListAppendMemoryRangesBarrier)(list, 1, &size, &range, nullptr, 0, nullptr), kSuccess);
  GIVES(ZE(zeCommandListAppendMemoryPrefetch)(list, &now, 8), kSuccess);
  GIVES(ZE(zeCommandListAppendMemAdvise)(list, it.device, &now, 8, 0), kSuccess);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  for (const Event made : {event, other}) GIVES(ZE(zeEventDestroy)(made), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
}

// Such an event means its latest use, and is never reset.
CASE(counter_based_events) {
  Setup it;
  BaseProperties counter_based;  // ze_event_pool_counter_based_exp_desc_t begins like this
  counter_based.stype = 0x00020014;
  const EventPool pool = it.pool(1, kPoolHostVisible, &counter_based);
  const EventPool plain = it.pool(1);
  const Event event = it.event(pool);
  const Event gate = it.event(plain);
  const CommandList list = it.immediate();
  int from = 1;
  int to = 0;
  GIVES(copy(list, &to, &from, sizeof to, event), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kSuccess);
  from = 2;
  GIVES(copy(list, &to, &from, sizeof to, event, {gate}), kSuccess);
  GIVES(ZE(zeEventQueryStatus)(event), kNotReady);
  GIVES(ZE(zeEventHostSignal)(gate), kSuccess);
  GIVES(ZE(zeEventHostSynchronize)(event, kForever), kSuccess);
  EXPECT(to == 2);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  for (const Event made : {event, gate}) GIVES(ZE(zeEventDestroy)(made), kSuccess);
  for (const EventPool made : {pool, plain}) GIVES(ZE(zeEventPoolDestroy)(made), kSuccess);
}

CASE(recorded_lists) {
  Setup it;
  const CommandQueue on = queue(it);
  const Fence done = fence(on);
  CommandList list = recorded(it);
  int value = 1;
  int to = 0;
  GIVES(copy(list, &to, &value, sizeof to), kSuccess);
  // Not before it is closed, and nothing more afterwards.
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 1, &list, nullptr), kInvalidArgument);
  GIVES(ZE(zeCommandListClose)(list), kSuccess);
  GIVES(copy(list, &to, &value, sizeof to), kInvalidArgument);
  EXPECT(to == 0);
  GIVES(ZE(zeFenceQueryStatus)(done), kNotReady);
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 1, &list, done), kSuccess);
  GIVES(ZE(zeFenceHostSynchronize)(done, kForever), kSuccess);
  EXPECT(to == 1);
  // Again: what it reads is as it is then.
  value = 2;
  GIVES(ZE(zeFenceReset)(done), kSuccess);
  GIVES(ZE(zeFenceHostSynchronize)(done, 0), kNotReady);
  CommandList twice[] = {list, list};
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 2, twice, done), kSuccess);
  GIVES(ZE(zeCommandQueueSynchronize)(on, kForever), kSuccess);
  GIVES(ZE(zeFenceQueryStatus)(done), kSuccess);
  EXPECT(to == 2);
  GIVES(ZE(zeCommandListReset)(list), kSuccess);
  GIVES(fill(list, &to, {0}, sizeof to), kSuccess);
  GIVES(ZE(zeCommandListClose)(list), kSuccess);
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 1, &list, nullptr), kSuccess);
  EXPECT(to == 0);
  const Fence born = fence(on, kFenceSignaled);
  GIVES(ZE(zeFenceQueryStatus)(born), kSuccess);
  for (const Fence made : {done, born}) GIVES(ZE(zeFenceDestroy)(made), kSuccess);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  GIVES(ZE(zeCommandQueueDestroy)(on), kSuccess);
}

CASE(queues_with_pending_commands) {
  Setup it;
  const EventPool pool = it.pool(1);
  const Event start = it.event(pool);
  const CommandQueue on = queue(it);
  const Fence done = fence(on);
  CommandList list = recorded(it);
  int value = 1;
  int to = 0;
  GIVES(copy(list, &to, &value, sizeof to, nullptr, {start}), kSuccess);
  GIVES(ZE(zeCommandListClose)(list), kSuccess);
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 1, &list, done), kSuccess);
  GIVES(ZE(zeCommandQueueSynchronize)(on, 0), kNotReady);
  GIVES(ZE(zeFenceQueryStatus)(done), kNotReady);
  GIVES(ZE(zeEventHostSignal)(start), kSuccess);
  GIVES(ZE(zeFenceHostSynchronize)(done, kForever), kSuccess);
  EXPECT(to == 1);
  const CommandQueue synchronous = queue(it, kModeSynchronous);
  to = 0;
  GIVES(ZE(zeEventHostReset)(start), kSuccess);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    GIVES(ZE(zeEventHostSignal)(start), kSuccess);
  });
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(synchronous, 1, &list, nullptr), kSuccess);
  EXPECT(to == 1);
  other.join();
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  GIVES(ZE(zeFenceDestroy)(done), kSuccess);
  for (const CommandQueue made : {on, synchronous}) GIVES(ZE(zeCommandQueueDestroy)(made), kSuccess);
  GIVES(ZE(zeEventDestroy)(start), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
}

CASE(bad_arguments) {
  Setup it;
  CommandQueueDesc desc;
  CommandList list = nullptr;
  GIVES(ZE(zeCommandListCreateImmediate)(it.context, it.device, nullptr, &list), kInvalidNullPointer);
  GIVES(ZE(zeCommandListCreateImmediate)(it.context, nullptr, &desc, &list), kInvalidNullHandle);
  GIVES(ZE(zeCommandListCreateImmediate)(it.context, it.device, &desc, nullptr), kInvalidNullPointer);
  desc.mode = 9;
  GIVES(ZE(zeCommandListCreateImmediate)(it.context, it.device, &desc, &list), kInvalidEnumeration);
  desc.mode = kModeDefault;
  desc.ordinal = 1;
  GIVES(ZE(zeCommandListCreateImmediate)(it.context, it.device, &desc, &list), kInvalidArgument);
  list = it.immediate();
  int value = 0;
  GIVES(copy(nullptr, &value, &value, 1), kInvalidNullHandle);
  GIVES(copy(reinterpret_cast<CommandList>(it.context), &value, &value, 1), kInvalidArgument);
  GIVES(copy(list, nullptr, &value, 1), kInvalidNullPointer);
  GIVES(copy(list, &value, nullptr, 1), kInvalidNullPointer);
  GIVES(copy(list, &value, &value, 1, nullptr, {nullptr}), kInvalidNullHandle);
  GIVES(ZE(zeCommandListAppendBarrier)(list, nullptr, 1, nullptr), kInvalidSize);
  GIVES(fill(list, &value, {1, 2, 3}, 4), kInvalidSize);
  GIVES(ZE(zeCommandListAppendSignalEvent)(list, nullptr), kInvalidNullHandle);
  GIVES(ZE(zeCommandListAppendWaitOnEvents)(list, 1, nullptr), kInvalidNullPointer);
  // What an immediate list cannot do, and what only it can.
  GIVES(ZE(zeCommandListClose)(list), kInvalidCommandListType);
  GIVES(ZE(zeCommandListReset)(list), kInvalidCommandListType);
  const CommandQueue on = queue(it);
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 1, &list, nullptr), kInvalidCommandListType);
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 1, nullptr, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeCommandQueueExecuteCommandLists)(on, 0, &list, nullptr), kInvalidSize);
  const CommandList regular = recorded(it);
  GIVES(ZE(zeCommandListHostSynchronize)(regular, 0), kInvalidCommandListType);
  for (const CommandList made : {list, regular}) GIVES(ZE(zeCommandListDestroy)(made), kSuccess);
  GIVES(ZE(zeCommandQueueDestroy)(on), kSuccess);
  EventPoolDesc pool;
  EventPool made = nullptr;
  GIVES(ZE(zeEventPoolCreate)(it.context, &pool, 0, nullptr, &made), kInvalidSize);
  pool.count = 1;
  pool.flags = kPoolIpc;
  GIVES(ZE(zeEventPoolCreate)(it.context, &pool, 0, nullptr, &made), kUnsupportedFeature);
  pool.flags = 0x80;
  GIVES(ZE(zeEventPoolCreate)(it.context, &pool, 0, nullptr, &made), kInvalidEnumeration);
  const EventPool one = it.pool(1);
  EventDesc event;
  Event none = nullptr;
  event.index = 1;
  GIVES(ZE(zeEventCreate)(one, &event, &none), kInvalidArgument);
  event.index = 0;
  event.wait = 0x80;
  GIVES(ZE(zeEventCreate)(one, &event, &none), kInvalidEnumeration);
  GIVES(ZE(zeEventPoolDestroy)(one), kSuccess);
  FenceDesc fence;
  Fence no_fence = nullptr;
  GIVES(ZE(zeFenceCreate)(nullptr, &fence, &no_fence), kInvalidNullHandle);
  GIVES(ZE(zeFenceHostSynchronize)(nullptr, 0), kInvalidNullHandle);
  GIVES(ZE(zeEventHostSignal)(nullptr), kInvalidNullHandle);
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
