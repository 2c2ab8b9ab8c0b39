#include "doctor/kernel.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "unique_fd.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace usm_ipc::doctor {
namespace {

constexpr char kName[] = "usm-ipc-doctor";
constexpr size_t kPage = 4096;

Answer answer_of(bool worked) { return worked ? 0 : errno; }

Answer send_descriptor(int socket, int fd) {
  char byte = 1;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return answer_of(::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1);
}

// -1 and errno where there is none.
int receive_descriptor(int socket) {
  char byte;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  errno = EBADF;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

Answer pass_descriptor(int from, int to) {
  const UniqueFd file(::memfd_create(kName, MFD_CLOEXEC));
  if (!file) return errno;
  const Answer sent = send_descriptor(from, file.get());
  if (sent != 0) return sent;
  const UniqueFd received(receive_descriptor(to));
  struct stat ours {};
  struct stat theirs {};
  if (!received || ::fstat(file.get(), &ours) != 0 || ::fstat(received.get(), &theirs) != 0) return errno;
  return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev ? 0 : EBADF;
}

}  // namespace

MemfdAnswers try_memfd() {
  MemfdAnswers answers;
  answers.executable = answer_of(static_cast<bool>(UniqueFd(::memfd_create(kName, MFD_CLOEXEC))));
  UniqueFd fd(::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  answers.noexec = answer_of(static_cast<bool>(fd));
  if (!fd) fd = UniqueFd(::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  answers.create = answer_of(fd && ::ftruncate(fd.get(), kPage) == 0);
  if (answers.create != 0) return answers;
  void* const address = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  answers.map = answer_of(address != MAP_FAILED);
  if (address != MAP_FAILED) {
    *static_cast<char*>(address) = 1;
    ::munmap(address, kPage);
  }
  answers.future_write = answer_of(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);
  answers.seal = answer_of(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  answers.seals = seals < 0 ? 0 : seals;
  return answers;
}

SocketAnswers try_sockets() {
  SocketAnswers answers;
  int ends[2];
  answers.pair = answer_of(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  if (answers.pair != 0) return answers;
  const UniqueFd here(ends[0]);
  const UniqueFd there(ends[1]);
  answers.rights = pass_descriptor(here.get(), there.get());
  ucred credentials{};
  socklen_t length = sizeof credentials;
  answers.credentials = answer_of(::getsockopt(here.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0);
  int pidfd = -1;
  length = sizeof pidfd;
  answers.peer_pidfd = answer_of(::getsockopt(here.get(), SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0);
  if (answers.peer_pidfd == 0) UniqueFd(pidfd).reset();
  return answers;
}

LibraryAnswer try_library(const std::string& name, const std::vector<std::string>& symbols) {
  LibraryAnswer answer;
  void* const library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = ::dlerror();
    answer.error = error == nullptr ? "" : error;
    return answer;
  }
  const link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) answer.path = map->l_name;
  for (const std::string& symbol : symbols) answer.has.push_back(::dlsym(library, symbol.c_str()) != nullptr);
  return answer;
}

std::string glibc_version() {
  void* const function = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  return function == nullptr ? "" : reinterpret_cast<const char* (*)()>(function)();
}

}  // namespace usm_ipc::doctor
