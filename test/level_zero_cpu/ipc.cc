// Two processes: the parent exports, a child of its own program imports. `program DRIVER CASE` as the others.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

using namespace usm_ipc::ze;

namespace {

void store_fd(IpcMemHandle& handle, int fd) { std::memcpy(handle.data, &fd, sizeof fd); }

int fd_of(const IpcMemHandle& handle) {
  int fd;
  std::memcpy(&fd, handle.data, sizeof fd);
  return fd;
}

// A child that runs `importer` with a socket to us; made before the driver is used, which a fork would break.
class Child {
 public:
  explicit Child(void (*importer)(int socket)) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    pid_ = fork();
    EXPECT(pid_ >= 0);
    if (pid_ == 0) {
      close(ends[0]);
      importer(ends[1]);
      std::exit(0);
    }
    close(ends[1]);
    socket_ = ends[0];
  }
  int socket() const { return socket_; }
  void end() {
    close(socket_);
    int status = 0;
    EXPECT(waitpid(pid_, &status, 0) == pid_);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

 private:
  pid_t pid_;
  int socket_;
};

void send_handle(int socket, const IpcMemHandle& handle, int fd = -1) {
  iovec data{const_cast<IpcMemHandle*>(&handle), sizeof handle};
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
  EXPECT(sendmsg(socket, &message, 0) == sizeof handle);
}

// The descriptor that came along, or -1.
int receive_handle(int socket, IpcMemHandle& handle) {
  iovec data{&handle, sizeof handle};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  EXPECT(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == sizeof handle);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return -1;
  int fd;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

void say(int socket, char word) { EXPECT(send(socket, &word, 1, 0) == 1); }
void hear(int socket, char wanted) {
  char word = 0;
  EXPECT(recv(socket, &word, 1, 0) == 1 && word == wanted);
}

IpcMemHandle handle_of(const Setup& it, const void* pointer) {
  IpcMemHandle handle;
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
  return handle;
}

Result open_handle(const Setup& it, const IpcMemHandle& handle, void** out) {
  return ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, out);
}

std::string form() {
  const char* const value = std::getenv("USM_IPC_ZE_HANDLES");
  return value == nullptr ? "opaque-mirror" : value;
}

// Numbers that the exporter has open are not open here, and the other way round.
void shift_descriptors() {
  for (int i = 0; i < 20; i++) EXPECT(fcntl(0, F_DUPFD_CLOEXEC, 100) >= 0);
}

void read_and_write(int socket, const Setup& it, const IpcMemHandle& handle) {
  void* opened = nullptr;
  GIVES(open_handle(it, handle, &opened), kSuccess);
  auto* const bytes = static_cast<uint8_t*>(opened);
  EXPECT(bytes[0] == 1 && bytes[4999] == 2);
  bytes[1] = 3;
  say(socket, 'w');
  hear(socket, 'f');
  // The exporter has freed it: this mapping goes on.
  EXPECT(bytes[0] == 1 && bytes[1] == 3);
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, opened), kSuccess);
}

void export_and_check(Child& child, Setup& it, bool with_descriptor) {
  auto* const memory = it.allocate(5000);
  memory[0] = 1;
  memory[4999] = 2;
  const IpcMemHandle handle = handle_of(it, memory);
  send_handle(child.socket(), handle, with_descriptor ? fd_of(handle) : -1);
  hear(child.socket(), 'w');
  EXPECT(memory[1] == 3);
  it.free(memory);
  say(child.socket(), 'f');
  child.end();
}

}  // namespace

// As an importer does that got the descriptor by SCM_RIGHTS and puts its number into the handle: good for the classic
// form, and for the opaque form with a mirror.
CASE(descriptor_put_into_the_handle) {
  Child child([](int socket) {
    Setup it;
    IpcMemHandle handle;
    const int fd = receive_handle(socket, handle);
    store_fd(handle, fd);
    // The driver keeps nothing of ours open, and closes nothing of ours.
    read_and_write(socket, it, handle);
    EXPECT(fcntl(fd, F_GETFD) >= 0);
  });
  Setup it;
  shift_descriptors();
  export_and_check(child, it, true);
}

// The opaque forms as they are: the driver fetches the exporter's descriptor.
CASE(descriptor_fetched_by_the_driver) {
  Child child([](int socket) {
    Setup it;
    shift_descriptors();
    IpcMemHandle handle;
    EXPECT(receive_handle(socket, handle) == -1);
    read_and_write(socket, it, handle);
  });
  Setup it;
  export_and_check(child, it, false);
}

// The older opaque form: the number is one of the process that the handle names, so both are changed together.
CASE(descriptor_and_process_put_into_the_handle) {
  Child child([](int socket) {
    Setup it;
    IpcMemHandle handle;
    const int fd = receive_handle(socket, handle);
    store_fd(handle, fd);
    const int pid = getpid();
    std::memcpy(handle.data + 16, &pid, sizeof pid);
    const auto mirror = static_cast<uint64_t>(fd);
    if (form() == "opaque-mirror") std::memcpy(handle.data + 22, &mirror, sizeof mirror);
    read_and_write(socket, it, handle);
  });
  Setup it;
  shift_descriptors();
  export_and_check(child, it, true);
}

// What a real driver does as well: a classic handle opens whatever has its number in the importer, an opaque one
// whatever has it in the exporter by now.
CASE(reused_number_opens_the_wrong_memory) {
  Child child([](int socket) {
    Setup it;
    IpcMemHandle handle;
    receive_handle(socket, handle);
    void* opened = nullptr;
    if (form() == "classic") {
      GIVES(open_handle(it, handle, &opened), kInvalidArgument);  // nothing here has that number
      auto* const mine = it.allocate(5000);
      mine[0] = 99;
      EXPECT(dup2(fd_of(handle_of(it, mine)), fd_of(handle)) == fd_of(handle));
    } else {
      say(socket, 'r');
      hear(socket, 'r');
    }
    GIVES(open_handle(it, handle, &opened), kSuccess);
    EXPECT(static_cast<uint8_t*>(opened)[0] == 99);
    say(socket, 'd');
  });
  Setup it;
  auto* const memory = it.allocate(5000);
  memory[0] = 1;
  IpcMemHandle handle = handle_of(it, memory);
  const int far = 250;  // as if the exporter had that many open
  if (form() == "classic") store_fd(handle, far);
  send_handle(child.socket(), handle);
  if (form() != "classic") {
    hear(child.socket(), 'r');
    const int number = fd_of(handle);
    GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kSuccess);
    auto* const other = it.allocate(5000);
    other[0] = 99;
    const int wrong = fd_of(handle_of(it, other));
    if (wrong != number) EXPECT(dup2(wrong, number) == number);
    say(child.socket(), 'r');
  }
  hear(child.socket(), 'd');
  child.end();
}

// The reason is not the driver's to tell: an invalid argument, as a real one says.
CASE(exporter_that_may_not_be_asked) {
  if (geteuid() == 0) EXPECT(setresuid(65534, 65534, 65534) == 0);
  Child child([](int socket) {
    Setup it;
    IpcMemHandle handle;
    receive_handle(socket, handle);
    void* opened = nullptr;
    GIVES(open_handle(it, handle, &opened), kInvalidArgument);
    EXPECT(opened == nullptr);
    say(socket, 'd');
  });
  Setup it;
  auto* const memory = it.allocate(5000);
  EXPECT(prctl(PR_SET_DUMPABLE, 0) == 0);
  send_handle(child.socket(), handle_of(it, memory));
  hear(child.socket(), 'd');
  child.end();
}

CASE(exporter_that_is_gone) {
  Child child([](int socket) {
    Child exporter([](int to) {
      Setup it;
      send_handle(to, handle_of(it, it.allocate(5000)));
      hear(to, 'x');
    });
    IpcMemHandle handle;
    receive_handle(exporter.socket(), handle);
    say(exporter.socket(), 'x');
    exporter.end();
    Setup it;
    void* opened = nullptr;
    GIVES(open_handle(it, handle, &opened), kInvalidArgument);
    say(socket, 'd');
  });
  hear(child.socket(), 'd');
  child.end();
}

// Prints the first device's UUID as this process and a child see it.
CASE(uuid_of_two_processes) {
  const auto uuid = [] {
    Setup it;
    DeviceProperties properties;
    GIVES(ZE(zeDeviceGetProperties)(it.device, &properties), kSuccess);
    return properties.uuid;
  };
  Child child([](int socket) {
    Setup it;
    DeviceProperties properties;
    GIVES(ZE(zeDeviceGetProperties)(it.device, &properties), kSuccess);
    EXPECT(send(socket, &properties.uuid, sizeof properties.uuid, 0) == sizeof properties.uuid);
  });
  usm_ipc::ze::Uuid theirs;
  EXPECT(recv(child.socket(), &theirs, sizeof theirs, 0) == sizeof theirs);
  const auto ours = uuid();
  EXPECT(std::memcmp(&ours, &theirs, sizeof ours) == 0);
  child.end();
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
