#include "process_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "failure.h"
#include "unique_fd.h"

namespace usm_ipc {
namespace {

Failure malformed(const std::string& path) {
  return system_failure("system", "read", EPROTO, path + " is not as proc(5) describes it");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string read_proc(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_failure("system", "open", errno, path + (errno == ENOENT ? " is needed: is /proc mounted?" : " is needed"));
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t n = ::read(fd.get(), part, sizeof part);
    if (n == 0) return text;
    if (n > 0) {
      text.append(part, static_cast<size_t>(n));
    } else if (errno != EINTR) {
      throw system_failure("system", "read", errno, path);
    }
  }
}

uint64_t start_time_of(const std::string& folder) {
  const std::string path = folder + "/stat";
  const std::string text = read_proc(path);
  // Field 2, the name, may hold spaces and parentheses; nothing after it holds a parenthesis. Field 22 is 20 further.
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; field++) at = text.find(' ', at + 1);
  if (at == std::string::npos) throw malformed(path);
  uint64_t start_time = 0;
  const char* const first = text.data() + at + 1;
  if (std::from_chars(first, text.data() + text.size(), start_time).ec != std::errc()) throw malformed(path);
  return start_time;
}

uint64_t pid_namespace_of(const std::string& folder) {
  struct stat st;
  const std::string path = folder + "/ns/pid";
  if (::stat(path.c_str(), &st) != 0) throw system_failure("system", "stat", errno, path);
  return st.st_ino;
}

BootId boot_id() {
  const char* const path = "/proc/sys/kernel/random/boot_id";
  BootId id{};
  size_t digits = 0;
  for (const char c : read_proc(path)) {
    const int digit = hex_digit(c);
    if (digit < 0) continue;
    if (digits == 32) throw malformed(path);
    id[digits / 2] = static_cast<uint8_t>(id[digits / 2] << 4 | digit);
    digits++;
  }
  if (digits != 32) throw malformed(path);
  return id;
}

ProcessIdentity process_identity() {
  return {::getpid(), start_time_of("/proc/self"), pid_namespace_of("/proc/self"), boot_id()};
}

}  // namespace usm_ipc
