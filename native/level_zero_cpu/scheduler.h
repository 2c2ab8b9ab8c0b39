// Runs what command lists hold. There are no threads here: a command runs on the thread that appends it where nothing
// holds it up, otherwise on the one that signals the event it waits for. A stream (an immediate list, a queue) keeps
// its order, as the hardware's does.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "level_zero_cpu/memory.h"

namespace usm_ipc::ze {

// What one use of an event, or a fence, waits for. Guarded by the scheduler's lock.
struct Signal {
  bool signaled = false;
  KernelTimestamp time;
};
using SignalPtr = std::shared_ptr<Signal>;

// What commands share with the event that they name.
struct EventCore {
  SignalPtr signal = std::make_shared<Signal>();
  bool counter_based = false;  // each use as a command's signal begins anew: nobody resets it
};
using EventCorePtr = std::shared_ptr<EventCore>;

// A command as a list holds it: its events are looked at when it is given to a stream.
struct Command {
  std::vector<EventCorePtr> waits;
  EventCorePtr signal;
  std::function<void()> work;        // outside the scheduler's lock
  std::function<void()> book;        // under it, after `work`: what touches events
  std::vector<const void*> touches;  // USM, which stays mapped until the command has run
};

struct Operation {
  std::vector<SignalPtr> waits;
  SignalPtr signal;
  std::function<void()> work;
  std::function<void()> book;
  std::vector<std::shared_ptr<Mapping>> uses;
};

struct Stream {
  std::deque<Operation> pending;
  bool running = false;
  bool idle() const { return pending.empty() && !running; }
};
using StreamPtr = std::shared_ptr<Stream>;

class Scheduler {
 public:
  static Scheduler& instance();

  // Held while signals are looked at and changed; run() and the waits take it themselves.
  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex_); }

  // `done`, where there is one, is signaled behind the commands.
  void submit(const StreamPtr& stream, std::vector<Command> commands, const SignalPtr& done = nullptr);
  // From the host.
  void signal(const SignalPtr& signal);

  // kSuccess, or kNotReady where the time (nanoseconds; kForever) is over first.
  Result wait(const SignalPtr& signal, uint64_t timeout);
  Result wait(const StreamPtr& stream, uint64_t timeout);

 private:
  template <typename Condition>
  Result wait_until(uint64_t timeout, Condition&& condition);
  // Runs every stream that can go on, until none can.
  void pump(std::unique_lock<std::mutex>& lock);
  void run(Stream& stream, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<StreamPtr> waiting_;  // with commands pending, and not running
};

}  // namespace usm_ipc::ze
