// The two ways in which a peer can be gone: its end is closed, its process has exited. A child of the peer's that holds
// the socket delays the first, not the second.
#include <sys/epoll.h>

#include <cerrno>

#include "fd_channel/loop.h"

namespace usm_ipc {
namespace {

Failure watched_already(const char* what) {
  return Failure(FailureKind::state, "already-watched", std::string("the channel's ") + what + " is watched already");
}

}  // namespace

RequestId Loop::watch_hangup(const PortRef& port) {
  Lock lock(mutex_);
  const RequestId id = ++last_request_;
  if (port->closed) {
    complete(id, {}, nullptr, Direction::in);
  } else {
    if (port->hangup != 0) throw watched_already("hang-up");
    start();
    port->hangup = id;
    try {
      arm(*port);
    } catch (...) {
      port->hangup = 0;  // the next one may try again
      throw;
    }
  }
  notify(std::move(lock));
  return id;
}

RequestId Loop::watch_exit(const PortRef& port) {
  Lock lock(mutex_);
  const RequestId id = ++last_request_;
  if (port->closed) {
    complete_exit(id, PeerExit::closed);
  } else {
    if (port->exit != 0) throw watched_already("peer");
    PeerProcess peer = peer_process(port->socket.get());
    if (peer.state == PeerState::running) {
      start();
      epoll_event interest{};
      interest.events = EPOLLIN;
      interest.data.u64 = port->id | kPeerBit;
      if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peer.pidfd.get(), &interest) != 0)
        throw system_failure("fd_channel", "epoll_ctl", errno);
      port->peer = std::move(peer.pidfd);
      port->exit = id;
    } else {
      complete_exit(id, peer.state == PeerState::exited ? PeerExit::exited : PeerExit::unavailable);
    }
  }
  notify(std::move(lock));
  return id;
}

void Loop::end_exit_watch(Port& port, PeerExit how) {
  if (port.exit == 0) return;
  // By name: a copy of the descriptor in a forked child would keep it in the set.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, port.peer.get(), nullptr);
  port.peer.reset();
  complete_exit(std::exchange(port.exit, 0), how);
}

void Loop::complete_exit(RequestId request, PeerExit how) {
  Outcome outcome;
  outcome.exit = how;
  complete(request, std::move(outcome), nullptr, Direction::in);
}

}  // namespace usm_ipc
