#include "fd_channel/loop.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "fault.h"
#include "fd_channel/address.h"

namespace usm_ipc {
namespace {

Failure closed() { return Failure(FailureKind::state, "closed", "the channel is closed"); }

bool has_passed(const Deadline& deadline) { return deadline && *deadline <= Clock::now(); }

Frame copy_frame(const FrameView& view) {
  Frame frame;
  frame.descriptors.reserve(view.count);
  for (size_t i = 0; i < view.count; ++i) {
    fault_point("channel.duplicate");
    UniqueFd duplicate = duplicate_fd(view.descriptors[i]);
    if (!duplicate) {
      throw system_failure(
          "fd_channel", "fcntl", errno,
          errno == EBADF ? "a descriptor of the frame is not open" : "this process has too many descriptors open");
    }
    frame.descriptors.push_back(std::move(duplicate));
  }
  frame.bytes.assign(view.bytes, view.bytes + view.nbytes);
  return frame;
}

void admit(Port& port, Direction direction) {
  if (port.closed) throw *port.closed;
  if (port.unsettled_in(direction) < kMaxUnsettled) return;
  throw Failure(FailureKind::state, "queue-full",
                "64 requests of this kind are pending on the channel: wait for one of them");
}

}  // namespace

PortRef Loop::add(PortKind kind, UniqueFd&& socket) {
  if (stopping_) throw closed();
  auto port = std::make_shared<Port>(++last_port_, kind);
  SocketNumber number(socket.get());
  ports_.emplace(port->id, port);
  port->number = std::move(number);
  port->socket = std::move(socket);
  return port;
}

PortRef Loop::add_channel(UniqueFd&& socket) {
  const Lock lock(mutex_);
  return add(PortKind::channel, std::move(socket));
}

PortRef Loop::add_listener(UniqueFd&& socket, BoundName&& name) {
  const Lock lock(mutex_);
  PortRef port = add(PortKind::listener, std::move(socket));
  port->name = std::move(name);
  return port;
}

RequestId Loop::send(const PortRef& port, const uint8_t* bytes, size_t nbytes, const std::vector<int>& descriptors,
                     const Deadline& deadline, Outcome* now) {
  check_frame(nbytes, descriptors.size());
  return begin(port, Direction::out, deadline, {bytes, nbytes, descriptors.data(), descriptors.size()}, now);
}

RequestId Loop::receive(const PortRef& port, const Deadline& deadline, bool takes_descriptors, Outcome* now) {
  FrameView taken;
  taken.takes_descriptors = takes_descriptors;
  return begin(port, Direction::in, deadline, taken, now);
}

void Loop::release(const PortRef& port, size_t descriptors) {
  Lock lock(mutex_);
  const bool was_full = port->is_full();
  port->held -= std::min(descriptors, port->held);
  if (was_full && !port->is_full() && !port->closed) rearm(port);
  notify(std::move(lock));
}

RequestId Loop::connect(const std::string& path, const Deadline& deadline) {
  check_path(path);
  Lock lock(mutex_);
  const PortRef port = add(PortKind::connector, new_socket());
  port->path = path;
  lock.unlock();
  try {
    return begin(port, Direction::out, deadline, {});
  } catch (...) {
    close(port);
    throw;
  }
}

bool Loop::cancel(RequestId request) {
  const Lock lock(mutex_);
  const auto found = waiting_.find(request);
  if (found == waiting_.end()) return false;
  const PortRef port = ports_.at(found->second.port);
  const Direction direction = found->second.direction;
  dequeue(*port, direction, request);
  --port->unsettled_in(direction);
  if (port->kind == PortKind::connector) close_port(port, closed());
  return true;
}

void Loop::close(const PortRef& port) {
  Lock lock(mutex_);
  close_port(port, closed());
  notify(std::move(lock));
}

void Loop::shut(const PortRef& port) {
  Lock lock(mutex_);
  if (!port->closed) ::shutdown(port->socket.get(), SHUT_RDWR);
  close_port(port, closed());
  notify(std::move(lock));
}

bool Loop::is_closed(const PortRef& port) {
  const Lock lock(mutex_);
  return port->closed.has_value();
}

int Loop::descriptor(const PortRef& port) {
  const Lock lock(mutex_);
  if (port->closed) throw *port->closed;
  return port->socket.get();
}

std::optional<Completion> Loop::take() {
  const Lock lock(mutex_);
  if (completions_.empty()) {
    notified_ = false;
    return std::nullopt;
  }
  Entry entry = std::move(completions_.front());
  completions_.pop_front();
  if (entry.port) --entry.port->unsettled_in(entry.direction);
  return std::move(entry.completion);
}

void Loop::discard_completions() {
  const Lock lock(mutex_);
  completions_.clear();
}

RequestId Loop::begin(const PortRef& port, Direction direction, const Deadline& deadline, const FrameView& frame,
                       Outcome* now) {
  Lock lock(mutex_);
  admit(*port, direction);
  Outcome outcome;
  Progress progress = Progress::blocked;
  if (port->queue(direction).empty()) progress = try_request(*port, direction, frame, scratch_, outcome);
  size_t& at_once = port->at_once_in(direction);
  if (now != nullptr && progress == Progress::done && !outcome.failure && port->unsettled_in(direction) == 0 &&
      ++at_once <= kMaxAtOnce) {
    *now = std::move(outcome);
    return 0;
  }
  at_once = 0;
  const bool waits = progress == Progress::blocked || progress == Progress::retry;
  const RequestId id = ++last_request_;
  if (waits && !has_passed(deadline)) {
    enqueue(*port, direction, {id, deadline, copy_frame(frame), frame.takes_descriptors}, progress);
  } else {
    if (waits) outcome.failure = port->timeout();
    settle(port, direction, id, std::move(outcome), progress);
  }
  ++port->unsettled_in(direction);
  notify(std::move(lock));
  return id;
}

// Strong: nothing has changed when it throws.
void Loop::enqueue(Port& port, Direction direction, Request request, Progress progress) {
  start();
  const RequestId id = request.id;
  const Deadline deadline = request.deadline;
  waiting_.emplace(id, Place{port.id, direction});
  port.queue(direction).push_back(std::move(request));
  try {
    if (deadline) {
      deadlines_.emplace(*deadline, id);
      expect_timer(*deadline);
    }
    if (progress == Progress::retry) retry_later(port);
    arm(port);
  } catch (...) {
    dequeue(port, direction, id);
    throw;
  }
}

Request Loop::dequeue(Port& port, Direction direction, RequestId id) {
  auto& queue = port.queue(direction);
  const auto found =
      std::find_if(queue.begin(), queue.end(), [id](const Request& waiting) { return waiting.id == id; });
  Request request = std::move(*found);
  queue.erase(found);
  waiting_.erase(id);
  if (request.deadline) deadlines_.erase({*request.deadline, id});
  return request;
}

void Loop::settle(const PortRef& port, Direction direction, RequestId request, Outcome outcome, Progress progress) {
  std::string reason;
  if (progress == Progress::broken) reason = outcome.failure->reason;
  complete(request, std::move(outcome), port, direction);
  if (progress == Progress::broken) {
    ::shutdown(port->socket.get(), SHUT_RDWR);  // the peer is to notice even where another process holds the socket too
    close_port(port,
               Failure(FailureKind::state, "closed", "the channel was shut after a broken frame (" + reason + ")"));
  } else if (port->kind == PortKind::connector) {
    close_port(port, closed());
  }
}

void Loop::complete(RequestId request, Outcome outcome, PortRef port, Direction direction) {
  completions_.push_back({{request, std::move(outcome)}, std::move(port), direction});
  if (!notified_) notified_ = must_wake_ = true;
}

// Takes a reference of its own: the caller's may be the map's.
void Loop::close_port(PortRef port, const Failure& why) {
  if (port->closed) return;
  port->closed = why;
  if (port->registered) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, port->socket.get(), nullptr);
  end_exit_watch(*port, PeerExit::closed);
  port->name.remove();
  port->number.reset();
  port->socket.reset();
  for (const Direction direction : {Direction::in, Direction::out}) {
    while (!port->queue(direction).empty()) {
      const Request request = dequeue(*port, direction, port->queue(direction).front().id);
      Outcome outcome;
      outcome.failure = why;
      complete(request.id, std::move(outcome), port, direction);
    }
  }
  if (port->hangup != 0) complete(std::exchange(port->hangup, 0), {}, nullptr, Direction::in);
  retries_.erase(port->id);
  ports_.erase(port->id);
}

void Loop::notify(Lock lock) {
  const bool wake = std::exchange(must_wake_, false);
  lock.unlock();
  if (wake) wake_();
}

}  // namespace usm_ipc
