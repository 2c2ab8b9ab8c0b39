// What `usm-ipc doctor` tries for real: the kernel's answers, without a judgement.
#pragma once

#include <string>
#include <vector>

namespace usm_ipc::doctor {

// 0: it worked; an errno; kNotTried: something before it had failed.
using Answer = int;
constexpr Answer kNotTried = -1;

struct PidfdAnswer {
  Answer open = kNotTried;
  Answer getfd = kNotTried;
};

struct PidfdAnswers {
  PidfdAnswer self;
  PidfdAnswer child;         // Yama lets a parent trace its children
  PidfdAnswer sibling;       // tried by another child: as two processes that do not descend from each other
  PidfdAnswer non_dumpable;  // a child that has made itself non-dumpable
};

// Forks: for a process that is made for this. The children end with it, and before this returns.
PidfdAnswers try_pidfd();

struct MemfdAnswers {
  Answer create = kNotTried;        // with MFD_NOEXEC_SEAL where the kernel knows it
  Answer noexec = kNotTried;        // MFD_NOEXEC_SEAL itself
  Answer executable = kNotTried;    // without it, as other programs and older drivers do
  Answer seal = kNotTried;          // SHRINK, GROW, SEAL
  Answer future_write = kNotTried;  // FUTURE_WRITE
  Answer map = kNotTried;
  int seals = 0;                    // read back
};

MemfdAnswers try_memfd();

struct SocketAnswers {
  Answer pair = kNotTried;         // AF_UNIX, SOCK_SEQPACKET
  Answer rights = kNotTried;       // a descriptor through it; EBADF where another file came out
  Answer credentials = kNotTried;  // SO_PEERCRED
  Answer peer_pidfd = kNotTried;   // SO_PEERPIDFD
};

SocketAnswers try_sockets();

struct LibraryAnswer {
  std::string path;            // of the file that was loaded; "" where none was
  std::string error;           // the loader's words
  std::vector<bool> has;       // as `symbols`
};

// Loads it, for good: for a process that is made for this.
LibraryAnswer try_library(const std::string& name, const std::vector<std::string>& symbols);

// "2.36"; "" where the C library is not glibc.
std::string glibc_version();

}  // namespace usm_ipc::doctor
