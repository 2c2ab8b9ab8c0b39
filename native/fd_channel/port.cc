#include "fd_channel/port.h"

#include <sys/epoll.h>

#include <new>

namespace usm_ipc {
namespace {

Progress receive(Port& port, bool takes_descriptors, uint8_t* scratch, Outcome& outcome) {
  if (port.ended) throw peer_gone();
  if (takes_descriptors && port.is_full()) return Progress::blocked;
  std::optional<Frame> frame;
  try {
    frame = receive_frame(port.socket.get(), scratch, takes_descriptors);
  } catch (const Failure& failure) {
    // Nothing after the end is read: an empty frame can look like the end.
    port.ended = failure.kind == FailureKind::peer;
    throw;
  }
  if (!frame) return Progress::blocked;
  port.held += frame->descriptors.size();
  outcome.frame = std::move(*frame);
  return Progress::done;
}

Progress accept(Port& port, Outcome& outcome) {
  Accepted accepted = accept_socket(port.socket.get());
  port.shortage = accepted.error;
  if (accepted.error != 0) return Progress::retry;
  if (!accepted.socket) return Progress::blocked;
  outcome.socket = std::move(accepted.socket);
  return Progress::done;
}

Progress connect(Port& port, Outcome& outcome) {
  if (!connect_socket(port.socket.get(), port.path)) return Progress::retry;
  outcome.socket = std::move(port.socket);
  return Progress::done;
}

Progress dispatch(Port& port, Direction direction, const FrameView& frame, uint8_t* scratch, Outcome& outcome) {
  if (port.kind == PortKind::listener) return accept(port, outcome);
  if (port.kind == PortKind::connector) return connect(port, outcome);
  if (direction == Direction::in) return receive(port, frame.takes_descriptors, scratch, outcome);
  const bool sent = send_frame(port.socket.get(), frame.bytes, frame.nbytes, frame.descriptors, frame.count);
  return sent ? Progress::done : Progress::blocked;
}

}  // namespace

uint32_t Port::wanted() const {
  if (kind == PortKind::connector) return 0;
  uint32_t events = 0;
  const auto& readers = waiting[static_cast<size_t>(Direction::in)];
  if (!readers.empty() && shortage == 0 && !(readers.front().takes_descriptors && is_full())) events |= EPOLLIN;
  if (!waiting[static_cast<size_t>(Direction::out)].empty()) events |= EPOLLOUT;
  if (hangup != 0) events |= EPOLLRDHUP;
  return events;
}

Failure Port::timeout() const {
  if (shortage != 0) {
    return system_failure("fd_channel", "accept4", shortage,
                          "a peer is waiting to be accepted: raise the limit of open files (ulimit -n), or close some");
  }
  const char* what =
      kind == PortKind::connector  ? "the listener took no connection within the time: its backlog is full"
      : kind == PortKind::listener ? "nobody connected within the time"
                                   : "the peer took or sent no frame within the time; the request had no effect";
  return Failure(FailureKind::peer, "timeout", what);
}

Progress try_request(Port& port, Direction direction, const FrameView& frame, uint8_t* scratch, Outcome& outcome) {
  try {
    return dispatch(port, direction, frame, scratch, outcome);
  } catch (const BrokenChannel& failure) {
    outcome.failure = failure;
    return Progress::broken;
  } catch (const Failure& failure) {
    outcome.failure = failure;
    return Progress::done;
  } catch (const std::bad_alloc&) {
    // On the loop's thread nobody else would catch it; what was read of a frame is lost, so the channel is.
    outcome.failure = Failure(FailureKind::driver, "out-of-memory", "there is no memory for the frame");
    outcome.failure->backend = "fd_channel";
    return Progress::broken;
  }
}

}  // namespace usm_ipc
