// What Level Zero does by itself: a program over the loader alone, told line by line what to do. It shares no code with
// the package, and declares for itself what it calls.
//
//   alloc NAME BYTES VALUE | get NAME | free NAME | open NAME HANDLE | read NAME | close NAME
//   memfd BYTES VALUE | fetch PID FD
//
// Each line is answered by one: "ok [RESULT]" or "error RESULT".
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace {

using Handle = void*;
struct Desc {  // ze_context_desc_t, ze_device_mem_alloc_desc_t (flags, ordinal)
  int type;
  const void* next;
  uint32_t flags, ordinal;
};
struct QueueDesc {  // ze_command_queue_desc_t
  int type;
  const void* next;
  uint32_t ordinal, index, flags;
  int mode, priority;
};
struct Ipc {
  unsigned char data[64];
};

void* loader;

struct Refused {
  int result;
};

template <typename... Arguments>
void ze(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(loader, name));
  if (function == nullptr) throw Refused{-1};
  const int result = function(arguments...);
  if (result != 0) throw Refused{result};
}

Handle context, device, list;
std::map<std::string, void*> memories;

void start() {
  ze("zeInit", 0u);
  uint32_t count = 1;
  Handle driver;
  ze("zeDriverGet", &count, &driver);
  count = 1;
  ze("zeDeviceGet", driver, &count, &device);
  const Desc desc{0xd, nullptr, 0, 0};
  ze("zeContextCreate", driver, &desc, &context);
  const QueueDesc queue{0xe, nullptr, 0, 0, 0, 1, 0};
  ze("zeCommandListCreateImmediate", context, device, &queue, &list);
}

std::string hexadecimal(const Ipc& handle) {
  char text[129];
  for (int i = 0; i < 64; i++) snprintf(text + 2 * i, 3, "%02x", handle.data[i]);
  return text;
}

Ipc parsed(const std::string& text) {
  Ipc handle;
  for (int i = 0; i < 64; i++) {
    handle.data[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

std::string run(std::istringstream& words) {
  std::string what, name;
  words >> what >> name;
  if (what == "alloc") {
    size_t bytes;
    int value;
    words >> bytes >> value;
    const Desc desc{0x15, nullptr, 0, 0};
    ze("zeMemAllocDevice", context, &desc, bytes, size_t{0}, device, &memories[name]);
    const unsigned char pattern = static_cast<unsigned char>(value);
    ze("zeCommandListAppendMemoryFill", list, memories[name], &pattern, size_t{1}, bytes, Handle{}, 0u, Handle{});
    std::ostringstream address;
    address << memories[name];
    return address.str();
  }
  if (what == "get") {
    Ipc handle;
    ze("zeMemGetIpcHandle", context, memories[name], &handle);
    return hexadecimal(handle);
  }
  if (what == "free") {
    ze("zeMemFree", context, memories[name]);
    return "";
  }
  if (what == "open") {
    std::string handle;
    words >> handle;
    ze("zeMemOpenIpcHandle", context, device, parsed(handle), 0u, &memories[name]);
    return "";
  }
  if (what == "read") {
    unsigned char value = 0;
    ze("zeCommandListAppendMemoryCopy", list, &value, memories[name], size_t{1}, Handle{}, 0u, Handle{});
    return std::to_string(value);
  }
  if (what == "close") {
    ze("zeMemCloseIpcHandle", context, memories[name]);
    return "";
  }
  if (what == "memfd") {
    const size_t bytes = std::stoul(name);
    int value;
    words >> value;
    const int fd = memfd_create("private", MFD_CLOEXEC);
    if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) throw Refused{errno};
    const std::string content(bytes, static_cast<char>(value));
    if (pwrite(fd, content.data(), bytes, 0) != static_cast<ssize_t>(bytes)) throw Refused{errno};
    return std::to_string(fd);
  }
  if (what == "fetch") {
    int fd;
    words >> fd;
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, std::stoi(name), 0));
    if (pidfd < 0) throw Refused{errno};
    const int fetched = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
    const int error = errno;
    close(pidfd);
    if (fetched < 0) throw Refused{error};
    return std::to_string(fetched);
  }
  throw Refused{-2};
}

}  // namespace

int main(int, char** arguments) {
  loader = dlopen(arguments[1], RTLD_NOW);
  if (loader == nullptr) {
    std::cout << "error " << dlerror() << std::endl;
    return 1;
  }
  bool started = false;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      if (!started) start();
      started = true;
      std::istringstream words(line);
      const std::string result = run(words);
      std::cout << "ok " << result << std::endl;
    } catch (const Refused& refused) {
      std::cout << "error 0x" << std::hex << refused.result << std::dec << std::endl;
    }
  }
}
