// Many threads at once on everything that the driver shares: for ThreadSanitizer, and as a test of its own.
#include <atomic>
#include <thread>

#include "program.h"

using namespace usm_ipc::ze;

namespace {

constexpr int kThreads = 6;
constexpr int kRounds = 300;

void on_threads(void (*work)(Setup& it, int thread)) {
  Setup it;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) threads.emplace_back([&it, work, i] { work(it, i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

CASE(allocations_and_handles) {
  on_threads([](Setup& it, int thread) {
    for (int i = 0; i < kRounds; i++) {
      auto* const memory = it.allocate(1000);
      memory[999] = static_cast<uint8_t>(thread);
      IpcMemHandle handle;
      void* opened = nullptr;
      GIVES(ZE(zeMemGetIpcHandle)(it.context, memory, &handle), kSuccess);
      GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &opened), kSuccess);
      EXPECT(static_cast<uint8_t*>(opened)[999] == thread);
      void* base = nullptr;
      GIVES(ZE(zeMemGetAddressRange)(it.context, memory + 5, &base, nullptr), kSuccess);
      EXPECT(base == memory);
      if (i % 2 == 0) GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kSuccess);
      it.free(memory);
      GIVES(ZE(zeMemCloseIpcHandle)(it.context, opened), kSuccess);
    }
  });
}

// All threads get and put the handle of one allocation.
CASE(one_exported_allocation) {
  static uint8_t* memory = nullptr;
  Setup outer;
  memory = outer.allocate(100);
  on_threads([](Setup& it, int) {
    for (int i = 0; i < kRounds; i++) {
      IpcMemHandle handle;
      void* opened = nullptr;
      GIVES(ZE(zeMemGetIpcHandle)(it.context, memory, &handle), kSuccess);
      GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &opened), kSuccess);
      GIVES(ZE(zeMemCloseIpcHandle)(it.context, opened), kSuccess);
      GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kSuccess);
    }
  });
  outer.free(memory);
}

// A ring: each thread's list waits for the event of the one before, thread 0's for the host.
CASE(events_across_threads) {
  static std::vector<Event> events;
  static uint64_t* memory = nullptr;
  Setup outer;
  const EventPool pool = outer.pool(kThreads + 1);
  for (uint32_t i = 0; i <= kThreads; i++) events.push_back(outer.event(pool, i));
  memory = outer.allocate<uint64_t>((kThreads + 1) * 8);
  for (int round = 0; round < kRounds; round++) {
    memory[0] = static_cast<uint64_t>(round);
    for (const Event event : events) GIVES(ZE(zeEventHostReset)(event), kSuccess);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++) {
      threads.emplace_back([&outer, i] {
        const CommandList list = outer.immediate(i % 2 == 0 ? kModeSynchronous : kModeAsynchronous);
        Event before = events[static_cast<size_t>(i)];
        GIVES(ZE(zeCommandListAppendMemoryCopy)(list, memory + i + 1, memory + i, 8, events[static_cast<size_t>(i) + 1],
                                                1, &before),
              kSuccess);
        GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kSuccess);
        GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
      });
    }
    GIVES(ZE(zeEventHostSignal)(events[0]), kSuccess);
    GIVES(ZE(zeEventHostSynchronize)(events[kThreads], kForever), kSuccess);
    for (std::thread& thread : threads) thread.join();
    EXPECT(memory[kThreads] == static_cast<uint64_t>(round));
  }
  for (const Event event : events) GIVES(ZE(zeEventDestroy)(event), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
  outer.free(memory);
}

// One in-order list for all: whoever finds it idle runs what the others append.
CASE(one_list) {
  static CommandList list = nullptr;
  static uint64_t* memory = nullptr;
  Setup outer;
  list = outer.immediate();
  memory = outer.allocate<uint64_t>(kThreads * 8);
  on_threads([](Setup&, int thread) {
    for (uint64_t i = 0; i < kRounds; i++) {
      const uint64_t value = i;
      GIVES(ZE(zeCommandListAppendMemoryFill)(list, memory + thread, &value, sizeof value, sizeof value, nullptr, 0,
                                              nullptr),
            kSuccess);
      if (i % 16 == 0) GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kSuccess);
    }
  });
  GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kSuccess);
  for (int i = 0; i < kThreads; i++) EXPECT(memory[i] == kRounds - 1);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  outer.free(memory);
}

CASE(queues_and_fences) {
  on_threads([](Setup& it, int thread) {
    const CommandQueueDesc desc;
    CommandQueue queue = nullptr;
    GIVES(ZE(zeCommandQueueCreate)(it.context, it.device, &desc, &queue), kSuccess);
    const FenceDesc unsignaled;
    Fence fence = nullptr;
    GIVES(ZE(zeFenceCreate)(queue, &unsignaled, &fence), kSuccess);
    const CommandListDesc recorded;
    CommandList list = nullptr;
    GIVES(ZE(zeCommandListCreate)(it.context, it.device, &recorded, &list), kSuccess);
    int to = -1;
    GIVES(ZE(zeCommandListAppendMemoryFill)(list, &to, &thread, sizeof thread, sizeof to, nullptr, 0, nullptr),
          kSuccess);
    GIVES(ZE(zeCommandListClose)(list), kSuccess);
    for (int i = 0; i < kRounds; i++) {
      to = -1;
      GIVES(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, fence), kSuccess);
      GIVES(ZE(zeFenceHostSynchronize)(fence, kForever), kSuccess);
      EXPECT(to == thread);
      GIVES(ZE(zeFenceReset)(fence), kSuccess);
    }
    GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
    GIVES(ZE(zeFenceDestroy)(fence), kSuccess);
    GIVES(ZE(zeCommandQueueDestroy)(queue), kSuccess);
  });
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
