// The system calls of a channel, each tried once and never blocking. No state but the socket's own.
#pragma once

#include <sys/un.h>

#include <optional>
#include <string>
#include <utility>

#include "failure.h"
#include "fd_channel/frame.h"

namespace usm_ipc {

// The stream of frames cannot be trusted any more (the peer broke a rule, or a frame was lost): drop the channel.
struct BrokenChannel : Failure {
  using Failure::Failure;
};

Failure peer_gone();

UniqueFd new_socket();
std::pair<UniqueFd, UniqueFd> socket_pair();
// Checks a foreign descriptor and sets it up; it stays the caller's when this throws.
UniqueFd adopt_socket(int fd);

// Length rules of a frame that is to be sent. Throws Failure{argument}.
void check_frame(size_t nbytes, size_t descriptors);
// False: it would block, and nothing was sent.
bool send_frame(int socket, const uint8_t* bytes, size_t nbytes, const int* descriptors, size_t count);
// Nothing: no frame is waiting. Throws peer_gone() at the end of the stream. `scratch` is kMaxFrameBytes long. Where no
// descriptors are expected, those of a frame never get into this process.
std::optional<Frame> receive_frame(int socket, uint8_t* scratch, bool takes_descriptors);

// 0 or errno.
int try_connect(int socket, const sockaddr_un& address);
// False: the listener's backlog is full, and there is nothing to poll for: try again later.
bool connect_socket(int socket, const std::string& path);

struct Accepted {
  UniqueFd socket;  // none: nobody is waiting, or `error`
  int error = 0;    // a shortage (EMFILE, ...): the connection is still waiting
};
Accepted accept_socket(int listener);

}  // namespace usm_ipc
