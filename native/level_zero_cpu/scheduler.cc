#include "level_zero_cpu/scheduler.h"

#include <algorithm>
#include <chrono>

namespace usm_ipc::ze {
namespace {

bool ready(const Operation& operation) {
  return std::all_of(operation.waits.begin(), operation.waits.end(),
                     [](const SignalPtr& signal) { return signal->signaled; });
}

// Waits first: a command may wait for the event that it signals.
Operation resolve(Command&& command, const Stream& stream) {
  Operation operation;
  for (const EventCorePtr& event : command.waits) operation.waits.push_back(event->signal);
  if (command.signal != nullptr) {
    if (command.signal->counter_based) command.signal->signal = std::make_shared<Signal>();
    operation.signal = command.signal->signal;
  }
  operation.work = std::move(command.work);
  operation.book = std::move(command.book);
  // What runs at once is in its caller's hands; what waits may outlive them.
  if (stream.idle() && ready(operation)) return operation;
  for (const void* const pointer : command.touches) {
    auto mapping = MemoryTable::instance().mapping(pointer);
    if (mapping != nullptr) operation.uses.push_back(std::move(mapping));
  }
  return operation;
}

}  // namespace

Scheduler& Scheduler::instance() {
  static Scheduler* const scheduler = new Scheduler;  // threads may outlive static destruction
  return *scheduler;
}

void Scheduler::submit(const StreamPtr& stream, std::vector<Command> commands, const SignalPtr& done) {
  auto guard = lock();
  for (Command& command : commands) stream->pending.push_back(resolve(std::move(command), *stream));
  if (done != nullptr) stream->pending.push_back({{}, done, {}, {}, {}});
  if (stream->running || stream->pending.empty()) return;  // whoever runs it goes on with these
  if (std::find(waiting_.begin(), waiting_.end(), stream) == waiting_.end()) waiting_.push_back(stream);
  pump(guard);
}

void Scheduler::signal(const SignalPtr& signal) {
  auto guard = lock();
  signal->signaled = true;
  changed_.notify_all();
  pump(guard);
}

void Scheduler::pump(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                   [](const StreamPtr& stream) { return ready(stream->pending.front()); });
    if (next == waiting_.end()) return;
    const StreamPtr stream = std::move(*next);
    waiting_.erase(next);
    run(*stream, lock);
    if (!stream->pending.empty()) waiting_.push_back(stream);
  }
}

void Scheduler::run(Stream& stream, std::unique_lock<std::mutex>& lock) {
  stream.running = true;
  while (!stream.pending.empty() && ready(stream.pending.front())) {
    Operation operation = std::move(stream.pending.front());
    stream.pending.pop_front();
    const uint64_t start = timestamp();
    if (operation.work) {
      lock.unlock();
      operation.work();
      operation.uses.clear();
      lock.lock();
    }
    if (operation.book) operation.book();
    if (!operation.signal) continue;
    operation.signal->signaled = true;
    operation.signal->time = {start, timestamp()};
    changed_.notify_all();
  }
  stream.running = false;
  if (stream.pending.empty()) changed_.notify_all();
}

template <typename Condition>
Result Scheduler::wait_until(uint64_t timeout, Condition&& condition) {
  auto guard = lock();
  if (condition()) return kSuccess;
  if (timeout == 0) return kNotReady;
  // A hundred years are for ever, and still fit the clock.
  constexpr uint64_t kLongest = uint64_t{100} * 365 * 24 * 3600 * 1'000'000'000 / 2;
  if (timeout > kLongest) {
    changed_.wait(guard, condition);
    return kSuccess;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout);
  return changed_.wait_until(guard, end, condition) ? kSuccess : kNotReady;
}

Result Scheduler::wait(const SignalPtr& signal, uint64_t timeout) {
  return wait_until(timeout, [&] { return signal->signaled; });
}

Result Scheduler::wait(const StreamPtr& stream, uint64_t timeout) {
  return wait_until(timeout, [&] { return stream->idle(); });
}

}  // namespace usm_ipc::ze
