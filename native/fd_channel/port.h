// One socket and the requests that wait for it. Used under the loop's lock only.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "fd_channel/bound_name.h"
#include "fd_channel/peer.h"
#include "fd_channel/socket.h"
#include "fd_channel/socket_number.h"

namespace usm_ipc {

using RequestId = uint64_t;  // from 1, never reused in a loop
using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

enum class PortKind : uint8_t { channel, listener, connector };

// A send or a connect waits to write, a receive or an accept to read.
enum class Direction : uint8_t { in, out };

struct Request {
  RequestId id = 0;
  Deadline deadline;
  Frame frame;  // of a send: a copy of the bytes, duplicates of the descriptors
  bool takes_descriptors = true;  // of a receive
};

// How a watch for the peer's exit ended.
enum class PeerExit : uint8_t { exited, closed, unavailable };

// What a request came to. Owns what it carries, so nothing is lost if nobody takes it.
struct Outcome {
  std::optional<Failure> failure;
  Frame frame;      // of a receive
  UniqueFd socket;  // of an accept or a connect
  PeerExit exit = PeerExit::unavailable;  // of a watch for it
};

struct Port {
  Port(uint64_t id, PortKind kind) : id(id), kind(kind) {}

  const uint64_t id;
  const PortKind kind;
  UniqueFd socket;      // none: closed
  SocketNumber number;  // of `socket`
  std::deque<Request> waiting[2];  // by Direction
  // Requests whose completion has not been taken, the waiting ones included; by Direction.
  size_t unsettled[2] = {0, 0};
  size_t at_once[2] = {0, 0};     // requests in a row that were done at once; by Direction
  RequestId hangup = 0;           // the request that wants to know; 0: none, or told
  RequestId exit = 0;             // the request that waits for the peer's exit; 0: none
  UniqueFd peer;                  // its process, while `exit` waits
  size_t held = 0;                // descriptors of received frames that have not been released
  bool ended = false;             // the end of the stream has been seen
  std::optional<Failure> closed;  // why calls are refused
  BoundName name;                 // of a listener
  std::string path;               // of a connector
  int shortage = 0;               // of a listener: errno of an accept that is being tried again
  uint32_t armed = 0;             // the events that epoll will report once
  bool registered = false;        // with epoll

  std::deque<Request>& queue(Direction direction) { return waiting[static_cast<size_t>(direction)]; }
  size_t& at_once_in(Direction direction) { return at_once[static_cast<size_t>(direction)]; }
  size_t& unsettled_in(Direction direction) { return unsettled[static_cast<size_t>(direction)]; }
  // Whether a receive has to wait until descriptors have been released: all that a frame may bring must fit.
  bool is_full() const { return held + kMaxFrameDescriptors > kMaxHeldDescriptors; }
  // The events that the waiting requests, or the watch for a hang-up, need.
  uint32_t wanted() const;
  // What a request that has run out of time gets.
  Failure timeout() const;
};

enum class Progress : uint8_t {
  done,     // the outcome is there
  blocked,  // the socket will say when to try again
  retry,    // it will not: try again a little later
  broken,   // the outcome is there, and the channel has to be shut
};

// What to try: the frame of a send, borrowed; what a receive takes.
struct FrameView {
  const uint8_t* bytes = nullptr;
  size_t nbytes = 0;
  const int* descriptors = nullptr;
  size_t count = 0;
  bool takes_descriptors = true;
};

// One try, without waiting. `frame` is a send's; `scratch` is kMaxFrameBytes long.
Progress try_request(Port& port, Direction direction, const FrameView& frame, uint8_t* scratch, Outcome& outcome);

}  // namespace usm_ipc
