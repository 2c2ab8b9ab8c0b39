// Another process of the same program, made before the driver is used, which a fork would break.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "program.h"

namespace usm_ipc::cu {

class Party {
 public:
  explicit Party(void (*run)(int socket)) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    pid_ = fork();
    EXPECT(pid_ >= 0);
    if (pid_ == 0) {
      close(ends[0]);
      run(ends[1]);
      std::exit(0);
    }
    close(ends[1]);
    socket_ = ends[0];
  }
  int socket() const { return socket_; }

  void end() {
    int status = 0;
    EXPECT(waitpid(pid_, &status, 0) == pid_);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  void kill() {
    int status = 0;
    EXPECT(::kill(pid_, SIGKILL) == 0);
    EXPECT(waitpid(pid_, &status, 0) == pid_);
    EXPECT(WIFSIGNALED(status));
  }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

template <typename T>
void tell(int socket, const T& what, int fd = -1) {
  T copy = what;
  iovec data{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  EXPECT(sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof copy);
}

template <typename T>
T hear(int socket, int* fd = nullptr) {
  T what{};
  iovec data{&what, sizeof what};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  EXPECT(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == sizeof what);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  EXPECT((header != nullptr) == (fd != nullptr));
  if (fd != nullptr) std::memcpy(fd, CMSG_DATA(header), sizeof *fd);
  return what;
}

inline void say(int socket, char word) { tell(socket, word); }
inline void expect(int socket, char wanted) { EXPECT(hear<char>(socket) == wanted); }

}  // namespace usm_ipc::cu
