// Who is at the other end of a socket: its credentials, and a hold on the process itself.
#pragma once

#include <cstdint>

#include "unique_fd.h"

namespace usm_ipc {

struct Credentials {
  int64_t pid = 0;
  int64_t uid = 0;
  int64_t gid = 0;
  // One of the ids is what the kernel shows for those that this process's user namespace has no number for.
  bool overflow = false;
};

bool peer_has_hung_up(int socket);

// Of the process that connected, or called listen(), at that time.
Credentials peer_credentials(int socket);

enum class PeerState : uint8_t {
  running,
  exited,
  unknown,  // the kernel does not say which process it is
};

struct PeerProcess {
  PeerState state = PeerState::unknown;
  UniqueFd pidfd;  // of a running one: polls readable when it has exited
};

// The process that the credentials are of. Other processes that hold the socket do not count.
PeerProcess peer_process(int socket);

}  // namespace usm_ipc
