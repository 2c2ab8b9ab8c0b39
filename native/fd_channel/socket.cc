#include "fd_channel/socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "fault.h"
#include "fd_channel/address.h"
#include "fd_channel/peer.h"

namespace usm_ipc {
namespace {

constexpr const char* kBackend = "fd_channel";
constexpr int kFlags = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
// Room for one descriptor more than a frame may have: a frame with too many is then told from a lack of descriptor
// numbers in this process, and few are installed before it is refused. The padding may make room for further ones.
constexpr size_t kReceiveControl = CMSG_SPACE((kMaxFrameDescriptors + 1) * sizeof(int));
constexpr size_t kReceiveCapacity = (kReceiveControl - CMSG_LEN(0)) / sizeof(int);
constexpr int kPassPidfd = 76;  // SO_PASSPIDFD, Linux 6.5

int socket_option(int socket, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  if (::getsockopt(socket, SOL_SOCKET, option, &value, &length) != 0)
    throw system_failure(kBackend, "getsockopt", errno);
  return value;
}

std::vector<UniqueFd> take_descriptors(msghdr& message) {
  std::array<UniqueFd, kReceiveCapacity> owned;  // before anything that can throw
  size_t total = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count && total < owned.size(); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      owned[total++] = above_stdio(UniqueFd(fd));
    }
  }
  std::vector<UniqueFd> descriptors;
  descriptors.reserve(total);
  std::move(owned.begin(), owned.begin() + total, std::back_inserter(descriptors));
  return descriptors;
}

BrokenChannel descriptors_lost() {
  BrokenChannel failure(
      FailureKind::driver, "descriptors-lost",
      "the kernel could not hand over all descriptors of a frame, most likely because this process has "
      "too many open; the channel was shut: raise the limit (ulimit -n) or close descriptors, and connect again");
  failure.backend = kBackend;
  failure.call = "recvmsg";
  failure.result = "MSG_CTRUNC";
  return failure;
}

const char* connect_advice(int error) {
  switch (error) {
    case ENOENT:
      return "there is no such socket: is the listener running, and is the path the same in its mount namespace?";
    case ECONNREFUSED:
      return "nobody listens there: the listener has ended without removing the file, or it is no seqpacket listener";
    case EACCES:
      return "this user may not write to the socket: the listener's mode option decides who may (0o600 is its own user "
             "only)";
    case EPROTOTYPE: return "the socket is of another type: it belongs to another program";
    case ENOTDIR: return "a part of the path is not a directory";
    default: return "";
  }
}

Failure connect_failure(const char* call, int error) {
  Failure failure = system_failure(kBackend, call, error, connect_advice(error));
  if (error == ENOENT || error == ECONNREFUSED) failure.reason = "no-listener";
  return failure;
}

}  // namespace

Failure peer_gone() {
  return Failure(FailureKind::peer, "peer-gone", "the peer has closed the channel, or its process has ended");
}

UniqueFd new_socket() {
  UniqueFd socket = above_stdio(UniqueFd(::socket(AF_UNIX, kFlags, 0)));
  if (!socket) throw system_failure(kBackend, "socket", errno);
  return socket;
}

std::pair<UniqueFd, UniqueFd> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, kFlags, 0, ends) != 0) throw system_failure(kBackend, "socketpair", errno);
  UniqueFd first(ends[0]);
  UniqueFd second(ends[1]);
  first = above_stdio(std::move(first));
  second = above_stdio(std::move(second));
  if (!first || !second) throw system_failure(kBackend, "fcntl", errno);
  return {std::move(first), std::move(second)};
}

UniqueFd adopt_socket(int fd) {
  int domain = 0;
  int type = 0;
  int listening = 0;
  try {
    domain = socket_option(fd, SO_DOMAIN);
    type = socket_option(fd, SO_TYPE);
    listening = socket_option(fd, SO_ACCEPTCONN);
  } catch (const Failure&) {
    // Not a socket, or not a descriptor at all: the same refusal.
  }
  sockaddr_un address{};
  socklen_t length = sizeof address;
  const bool connected = ::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (domain != AF_UNIX || type != SOCK_SEQPACKET || listening != 0 || !connected) {
    throw Failure(FailureKind::argument, "not-a-seqpacket-socket",
                  "descriptor " + std::to_string(fd) + " is not a connected AF_UNIX SOCK_SEQPACKET socket");
  }
  // Whoever made it may have asked for ancillary data that a frame has no place for, descriptors among it.
  const int off = 0;
  for (const int option : {SO_PASSCRED, SO_PASSSEC, kPassPidfd}) ::setsockopt(fd, SOL_SOCKET, option, &off, sizeof off);
  const int status = ::fcntl(fd, F_GETFL);
  if (status < 0 || ::fcntl(fd, F_SETFL, status | O_NONBLOCK) != 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    throw system_failure(kBackend, "fcntl", errno);
  }
  return UniqueFd(fd);
}

void check_frame(size_t nbytes, size_t descriptors) {
  if (nbytes == 0) {
    throw Failure(FailureKind::argument, "empty-frame",
                  "a frame has at least one byte: an empty packet looks like the end of the stream");
  }
  if (nbytes > kMaxFrameBytes) {
    throw Failure(FailureKind::argument, "frame-too-large",
                  "a frame has at most 65536 bytes, this one has " + std::to_string(nbytes) +
                      ": send a memory's handle, not its content");
  }
  if (descriptors > kMaxFrameDescriptors) {
    throw Failure(FailureKind::argument, "too-many-descriptors",
                  "a frame has at most 16 descriptors, this one has " + std::to_string(descriptors));
  }
}

bool send_frame(int socket, const uint8_t* bytes, size_t nbytes, const int* descriptors, size_t count) {
  fault_point("channel.send");
  iovec vector{const_cast<uint8_t*>(bytes), nbytes};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFrameDescriptors * sizeof(int))] = {};
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    switch (errno) {
      case EINTR: continue;
      case EAGAIN: return false;
      case EPIPE:
      case ECONNRESET:
      case ECONNREFUSED:
      case ENOTCONN: throw peer_gone();
      case ETOOMANYREFS:
        throw system_failure(kBackend, "sendmsg", errno,
                             "too many descriptors are on their way: wait until the peers have received them");
      case EMSGSIZE:
      case ENOBUFS:
        throw system_failure(kBackend, "sendmsg", errno,
                             "the socket's send buffer is too small: raise net.core.wmem_default");
      case EBADF: throw system_failure(kBackend, "sendmsg", errno, "a descriptor of the frame is not open");
      default: throw system_failure(kBackend, "sendmsg", errno);
    }
  }
}

std::optional<Frame> receive_frame(int socket, uint8_t* scratch, bool takes_descriptors) {
  fault_point("channel.receive");
  iovec vector{scratch, kMaxFrameBytes};
  alignas(cmsghdr) char control[kReceiveControl];
  msghdr message{};
  ssize_t received;
  bool was_reset = false;
  for (;;) {
    message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    if (takes_descriptors) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
    }
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (received >= 0) break;
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return std::nullopt;
    // A peer that closed without having read all that we sent: the kernel reports that once, before frames of the
    // peer's that are still waiting.
    if (errno == ECONNRESET && !was_reset) {
      was_reset = true;
      continue;
    }
    if (errno == ECONNRESET || errno == ENOTCONN) throw peer_gone();
    throw system_failure(kBackend, "recvmsg", errno);
  }

  Frame frame;
  frame.descriptors = take_descriptors(message);
  if (received == 0) {
    if (frame.descriptors.empty() && peer_has_hung_up(socket)) throw peer_gone();
    throw BrokenChannel(FailureKind::peer, "empty-frame", "the peer sent an empty frame; the channel was shut");
  }
  if (!takes_descriptors && (message.msg_flags & MSG_CTRUNC) != 0) {
    throw BrokenChannel(FailureKind::peer, "unexpected-descriptors",
                        "the peer sent descriptors where none were expected; they were closed, and the channel was "
                        "shut");
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    throw BrokenChannel(FailureKind::peer, "frame-too-large",
                        "the peer sent a frame of more than 65536 bytes; the channel was shut");
  }
  if (frame.descriptors.size() > kMaxFrameDescriptors) {
    throw BrokenChannel(FailureKind::peer, "too-many-descriptors",
                        "the peer sent a frame with more than 16 descriptors; the channel was shut");
  }
  const auto& descriptors = frame.descriptors;
  if ((message.msg_flags & MSG_CTRUNC) != 0 ||
      !std::all_of(descriptors.begin(), descriptors.end(), [](const UniqueFd& fd) { return bool(fd); })) {
    throw descriptors_lost();
  }
  frame.bytes.assign(scratch, scratch + received);
  return frame;
}

int try_connect(int socket, const sockaddr_un& address) {
  int error;
  do {
    error = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error;
}

bool connect_socket(int socket, const std::string& path) {
  UniqueFd file;
  if (!fits_address(path)) {
    file = UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!file && errno == ENAMETOOLONG) throw path_too_long(path);
    if (!file) throw connect_failure("open", errno);
  }
  const int error = try_connect(socket, socket_address(file ? proc_path(file.get()) : path));
  if (error == 0) return true;
  if (error == EAGAIN) return false;
  if (error == ENOENT && file) throw no_proc(path);
  throw connect_failure("connect", error);
}

Accepted accept_socket(int listener) {
  for (;;) {
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) socket = above_stdio(std::move(socket));
    if (socket) return {std::move(socket), 0};
    switch (errno) {
      case EINTR:
      case ECONNABORTED: continue;
      case EAGAIN: return {};
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM: return {UniqueFd(), errno};
      default: throw system_failure(kBackend, "accept4", errno);
    }
  }
}

}  // namespace usm_ipc
