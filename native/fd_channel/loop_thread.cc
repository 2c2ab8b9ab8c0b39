#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <system_error>

#include "fault.h"
#include "fd_channel/loop.h"

namespace usm_ipc {
namespace {

constexpr const char* kBackend = "fd_channel";
constexpr uint64_t kPoked = 0;  // epoll's word for the eventfd; ports count from 1
constexpr auto kConnectRetry = std::chrono::milliseconds(10);
constexpr auto kAcceptRetry = std::chrono::milliseconds(100);

// The host program's signal handlers are not to run on this thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

FrameView view_of(const Request& request, std::array<int, kMaxFrameDescriptors>& descriptors) {
  const Frame& frame = request.frame;
  std::transform(frame.descriptors.begin(), frame.descriptors.end(), descriptors.begin(),
                 [](const UniqueFd& fd) { return fd.get(); });
  return {frame.bytes.data(), frame.bytes.size(), descriptors.data(), frame.descriptors.size(),
          request.takes_descriptors};
}

}  // namespace

void Loop::start() {
  if (epoll_) return;
  fault_point("channel.start");
  UniqueFd epoll = above_stdio(UniqueFd(::epoll_create1(EPOLL_CLOEXEC)));
  if (!epoll) throw system_failure(kBackend, "epoll_create1", errno);
  UniqueFd event = above_stdio(UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!event) throw system_failure(kBackend, "eventfd", errno);
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.u64 = kPoked;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &interest) != 0)
    throw system_failure(kBackend, "epoll_ctl", errno);
  if (poll_ && poll_(epoll.get())) {
    epoll_ = std::move(epoll);
    event_ = std::move(event);
    return;
  }
  epoll_ = std::move(epoll);
  event_ = std::move(event);
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    epoll_.reset();
    event_.reset();
    throw system_failure(kBackend, "pthread_create", error.code().value(), "this process may not start more threads");
  }
  pthread_setname_np(thread_.native_handle(), "usm-ipc-channel");
}

void Loop::shutdown() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    poke();
  }
  if (thread_.joinable()) thread_.join();
  Lock lock(mutex_);
  while (!ports_.empty())
    close_port(ports_.begin()->second, Failure(FailureKind::state, "closed", "channels have been shut down"));
  epoll_.reset();
  event_.reset();
  notify(std::move(lock));
}

void Loop::run() {
  std::array<epoll_event, 64> events;
  for (;;) {
    Lock lock(mutex_);
    if (stopping_) return;
    const int timeout = sleep_time();
    lock.unlock();
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
    lock.lock();
    if (stopping_) return;
    serve_all(events.data(), count);
    notify(std::move(lock));
  }
}

int Loop::turn() {
  const Lock lock(mutex_);
  if (stopping_ || !epoll_) return -1;
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  notified_ = true;
  serve_all(events.data(), count);
  return sleep_time();
}

void Loop::serve_all(const epoll_event* events, int count) {
  sleeping_until_ = Clock::time_point::min();
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kPoked) {
      uint64_t pokes;
      while (::read(event_.get(), &pokes, sizeof pokes) < 0 && errno == EINTR) {
      }
      continue;
    }
    const auto found = ports_.find(events[i].data.u64 & ~kPeerBit);
    if (found == ports_.end()) continue;
    if ((events[i].data.u64 & kPeerBit) != 0) {
      end_exit_watch(*found->second, PeerExit::exited);
    } else {
      serve(PortRef(found->second), events[i].events);
    }
  }
  fire_timers();
}

void Loop::serve(const PortRef& port, uint32_t events) {
  port->armed = 0;
  if (port->hangup != 0 && (events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
    complete(std::exchange(port->hangup, 0), {}, nullptr, Direction::in);
  }
  pump(port, Direction::in);
  pump(port, Direction::out);
  rearm(port);
}

void Loop::pump(const PortRef& port, Direction direction) {
  auto& queue = port->queue(direction);
  while (!queue.empty()) {
    std::array<int, kMaxFrameDescriptors> descriptors;
    Outcome outcome;
    const Progress progress = try_request(*port, direction, view_of(queue.front(), descriptors), scratch_, outcome);
    if (progress == Progress::retry) retry_later(*port);
    if (progress == Progress::retry || progress == Progress::blocked) return;
    const Request request = dequeue(*port, direction, queue.front().id);
    settle(port, direction, request.id, std::move(outcome), progress);
  }
}

// One report at a time (EPOLLONESHOT): a hang-up, which epoll reports whether asked to or not, would keep the thread
// busy while nobody waits. Events that nobody wants any more cost one idle report at most.
void Loop::arm(Port& port) {
  const uint32_t wanted = port.closed ? 0 : port.wanted();
  if ((wanted & ~port.armed) == 0) return;
  epoll_event interest{};
  interest.events = wanted | EPOLLONESHOT;
  interest.data.u64 = port.id;
  if (::epoll_ctl(epoll_.get(), port.registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, port.socket.get(), &interest) != 0) {
    throw system_failure(kBackend, "epoll_ctl", errno);
  }
  port.registered = true;
  port.armed = wanted;
}

// On the thread, where nobody could catch: requests that could never be served are failed instead.
void Loop::rearm(const PortRef& port) {
  try {
    arm(*port);
  } catch (const Failure& failure) {
    close_port(port, failure);
  }
}

void Loop::retry_later(Port& port) {
  const auto time =
      Clock::now() + (port.kind == PortKind::listener ? Clock::duration(kAcceptRetry) : Clock::duration(kConnectRetry));
  retries_[port.id] = time;
  expect_timer(time);
}

// Attempts come before deadlines: what can still be done in time is.
void Loop::fire_timers() {
  const auto now = Clock::now();
  std::vector<PortRef> due;
  for (auto retry = retries_.begin(); retry != retries_.end();) {
    if (retry->second > now) {
      ++retry;
      continue;
    }
    due.push_back(ports_.at(retry->first));
    retry = retries_.erase(retry);
  }
  for (const PortRef& port : due) {
    pump(port, port->kind == PortKind::listener ? Direction::in : Direction::out);
    rearm(port);
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const RequestId id = deadlines_.begin()->second;
    const Place place = waiting_.at(id);
    const PortRef port = ports_.at(place.port);
    Outcome outcome;
    outcome.failure = port->timeout();
    dequeue(*port, place.direction, id);
    settle(port, place.direction, id, std::move(outcome), Progress::done);
  }
}

// For epoll_wait; rounded up, so that the thread does not wake before there is something to do.
int Loop::sleep_time() {
  sleeping_until_ = Clock::time_point::max();
  if (!deadlines_.empty()) sleeping_until_ = deadlines_.begin()->first;
  for (const auto& retry : retries_) sleeping_until_ = std::min(sleeping_until_, retry.second);
  if (sleeping_until_ == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(sleeping_until_ - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

void Loop::expect_timer(Clock::time_point time) {
  if (time < sleeping_until_) poke();
}

void Loop::poke() {
  const uint64_t one = 1;
  if (event_) (void)!::write(event_.get(), &one, sizeof one);
}

}  // namespace usm_ipc
