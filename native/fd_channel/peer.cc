#include "fd_channel/peer.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>

#include "failure.h"
#include "fault.h"
#include "pidfd.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace usm_ipc {
namespace {

constexpr const char* kBackend = "fd_channel";
constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, Linux 6.5

int64_t overflow_id(const char* path) {
  int64_t id = 65534;  // the kernel's default
  std::ifstream(path) >> id;
  return id;
}

bool is_overflow(const ucred& credentials) {
  static const int64_t user = overflow_id("/proc/sys/kernel/overflowuid");
  static const int64_t group = overflow_id("/proc/sys/kernel/overflowgid");
  return credentials.uid == user || credentials.gid == group;
}

ucred socket_credentials(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    throw system_failure(kBackend, "getsockopt", errno);
  }
  return credentials;
}

PeerProcess held(const char* call, UniqueFd pidfd) {
  pidfd = above_stdio(std::move(pidfd));
  if (!pidfd) throw system_failure(kBackend, call, errno);
  if (has_exited(pidfd)) return {PeerState::exited, UniqueFd()};
  return {PeerState::running, std::move(pidfd)};
}

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

// Nothing where the kernel does not have it.
std::optional<PeerProcess> from_socket(int socket) {
  try {
    fault_point("channel.peerpidfd");
  } catch (const Failure&) {
    return std::nullopt;
  }
  int pidfd = -1;
  socklen_t length = sizeof pidfd;
  if (::getsockopt(socket, SOL_SOCKET, kPeerPidfd, &pidfd, &length) == 0) return held("getsockopt", UniqueFd(pidfd));
  switch (errno) {
    case ESRCH:
    case EINVAL: return PeerProcess{PeerState::exited, UniqueFd()};  // and has been reaped
    case ENOPROTOOPT: return std::nullopt;
    case ENODATA: return PeerProcess{};
    default: throw system_failure(kBackend, "getsockopt", errno);
  }
}

// By its pid, which may have been given to another process by now. That one is not taken for it where the peer's end is
// closed already; where a child keeps that end open, nothing can tell.
PeerProcess from_pid(int socket) {
  const pid_t pid = socket_credentials(socket).pid;
  if (pid <= 0) return {};  // in a pid namespace that this process cannot see
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u)));
  if (!pidfd) {
    // No process has it, or a thread of another process.
    if (errno == ESRCH || errno == EINVAL) return {PeerState::exited, UniqueFd()};
    if (is_shortage(errno)) throw system_failure(kBackend, "pidfd_open", errno);
    return {};
  }
  if (peer_has_hung_up(socket)) return {};
  return held("pidfd_open", std::move(pidfd));
}

}  // namespace

bool peer_has_hung_up(int socket) {
  pollfd poll{socket, POLLRDHUP, 0};
  return ::poll(&poll, 1, 0) == 1 && (poll.revents & (POLLRDHUP | POLLHUP)) != 0;
}

Credentials peer_credentials(int socket) {
  const ucred credentials = socket_credentials(socket);
  return {credentials.pid, credentials.uid, credentials.gid, is_overflow(credentials)};
}

PeerProcess peer_process(int socket) {
  if (std::optional<PeerProcess> peer = from_socket(socket)) return std::move(*peer);
  return from_pid(socket);
}

}  // namespace usm_ipc
