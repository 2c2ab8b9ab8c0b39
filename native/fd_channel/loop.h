// The channels of one environment: their requests, who waits for them (a thread of the loop's own, or whoever polls its
// descriptor and calls turn()), and what came of them.
//
// One lock covers all, the system calls on the sockets too (they never block), so an attempt, a cancellation, a
// deadline and a close can only happen one after the other. A request is tried on the caller's thread first, when no
// older one is waiting; the thread only serves those that had to wait. Nothing is read from a socket before a receive
// asks for it: the kernel's buffer is the back-pressure.
//
// All but `wake` runs on the environment's thread or on the loop's own.
#pragma once

#include <sys/epoll.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "fd_channel/port.h"

namespace usm_ipc {

constexpr size_t kMaxUnsettled = 64;  // requests of a port in each direction
constexpr size_t kMaxAtOnce = 16;     // requests of a port in a row; the next one lets the environment do other things
static_assert(kMaxUnsettled * kMaxFrameBytes <= 4u << 20, "a port may hold 4 MiB of unsent bytes");

using PortRef = std::shared_ptr<Port>;

struct Completion {
  RequestId request = 0;
  Outcome outcome;
};

class Loop {
 public:
  // `wake` says that take() has something to give. It is not called again before take() has given nothing. It may run
  // on any thread and must not throw or call the loop.
  // `poll` may take over the waiting before the thread is started: it says whether it will call turn() whenever the
  // descriptor is readable.
  explicit Loop(std::function<void()> wake, std::function<bool(int descriptor)> poll = nullptr)
      : wake_(std::move(wake)), poll_(std::move(poll)) {}
  ~Loop() { shutdown(); }

  // Take the socket only when they do not throw.
  PortRef add_channel(UniqueFd&& socket);
  PortRef add_listener(UniqueFd&& socket, BoundName&& name);

  // All throw Failure when the request cannot be taken (state/"closed", state/"queue-full", an argument's); a request
  // that was taken has exactly one completion, unless it is cancelled. One that succeeds at once, with none before it
  // that its owner has not heard of, has none when there is a `now` to put its outcome into: its id is 0.
  RequestId send(const PortRef& port, const uint8_t* bytes, size_t nbytes, const std::vector<int>& descriptors,
                 const Deadline& deadline, Outcome* now = nullptr);
  // A frame of a channel, a connection of a listener.
  RequestId receive(const PortRef& port, const Deadline& deadline, bool takes_descriptors = true,
                    Outcome* now = nullptr);
  // The owner has closed so many of the descriptors that it received: receives that waited for room are tried again.
  void release(const PortRef& port, size_t descriptors);
  RequestId connect(const std::string& path, const Deadline& deadline);
  // Completes when the peer has hung up, or the port is closed. Once for a port.
  RequestId watch_hangup(const PortRef& port);
  // Completes when the process at the other end has exited, or the port is closed. Once for a port at a time.
  RequestId watch_exit(const PortRef& port);
  // True when the request was waiting: it had no effect and has no completion.
  bool cancel(RequestId request);

  void close(const PortRef& port);
  // And ends the connection, whatever other process has its socket too. What was sent before is still received.
  void shut(const PortRef& port);
  bool is_closed(const PortRef& port);
  int descriptor(const PortRef& port);

  std::optional<Completion> take();

  // What there is to do now, for whoever polls; it does not wake, so take() has to be called after it. Gives the
  // milliseconds until it wants to be called again, negative for no such time.
  int turn();

  // Joins the thread and closes every port. Idempotent; later requests are refused.
  void shutdown();
  // Closes what completions carry.
  void discard_completions();

  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Entry {
    Completion completion;
    PortRef port;  // whose request it was; none: a watch
    Direction direction;
  };
  static constexpr uint64_t kPeerBit = uint64_t{1} << 63;  // epoll's word for a port's peer is its id with this
  struct Place {
    uint64_t port;
    Direction direction;
  };

  // loop.cc: requests
  PortRef add(PortKind kind, UniqueFd&& socket);
  RequestId begin(const PortRef& port, Direction direction, const Deadline& deadline, const FrameView& frame,
                  Outcome* now = nullptr);
  void enqueue(Port& port, Direction direction, Request request, Progress progress);
  Request dequeue(Port& port, Direction direction, RequestId request);
  void settle(const PortRef& port, Direction direction, RequestId request, Outcome outcome, Progress progress);
  void complete(RequestId request, Outcome outcome, PortRef port, Direction direction);
  void close_port(PortRef port, const Failure& why);
  void notify(Lock lock);

  // loop_watch.cc: the peer
  void end_exit_watch(Port& port, PeerExit how);
  void complete_exit(RequestId request, PeerExit how);

  // loop_thread.cc: waiting
  void start();
  void run();
  void serve_all(const epoll_event* events, int count);
  void serve(const PortRef& port, uint32_t events);
  void pump(const PortRef& port, Direction direction);
  void arm(Port& port);
  void rearm(const PortRef& port);
  void retry_later(Port& port);
  void fire_timers();
  int sleep_time();
  void expect_timer(Clock::time_point time);
  void poke();

  const std::function<void()> wake_;
  const std::function<bool(int)> poll_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, PortRef> ports_;
  std::unordered_map<RequestId, Place> waiting_;
  std::set<std::pair<Clock::time_point, RequestId>> deadlines_;
  std::map<uint64_t, Clock::time_point> retries_;  // by port
  std::deque<Entry> completions_;
  bool notified_ = false;   // wake_ has been called, or is about to be, for what is in completions_
  bool must_wake_ = false;  // whoever holds the lock calls wake_ after unlocking
  uint64_t last_port_ = 0;
  RequestId last_request_ = 0;

  UniqueFd epoll_;
  UniqueFd event_;
  std::thread thread_;
  bool stopping_ = false;
  Clock::time_point sleeping_until_ = Clock::time_point::max();
  uint8_t scratch_[kMaxFrameBytes];
};

}  // namespace usm_ipc
