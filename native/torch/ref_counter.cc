#include "torch/ref_counter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <tuple>
#include <utility>

#include "failure.h"
#include "unique_fd.h"

namespace usm_ipc {
namespace {

constexpr char kFolder[] = "/dev/shm";
// Of what is in that folder nothing else is touched, whatever a peer's name says.
constexpr char kPrefix[] = "/torch_";
constexpr size_t kLongestName = 255;

constexpr uint64_t kHeader = 64;

// Bytes from the file's beginning to the end of that counter.
constexpr uint64_t end_of(uint64_t index) { return kHeader + (index + 1) * sizeof(int64_t); }

std::string path_of(const std::string& name) { return kFolder + name; }

bool is_torch_name(const std::string& name) {
  const size_t prefix = sizeof kPrefix - 1;
  // The limit is of the name in its folder, without the slash.
  if (name.size() <= prefix || name.size() > kLongestName + 1 || name.compare(0, prefix, kPrefix) != 0) return false;
  return name.find_first_of(std::string_view("/\0", 2), prefix) == std::string::npos;
}

// No link is followed, and no pipe waited for.
UniqueFd open_file(const std::string& name) {
  return UniqueFd(::open(path_of(name).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

// What the file would have to be, where it is no file with that counter; else null.
const char* missing(const struct stat& file, uint64_t index) {
  if (!S_ISREG(file.st_mode)) return "it is no regular file";
  if (file.st_uid != ::geteuid()) return "it belongs to another user";
  if (static_cast<uint64_t>(file.st_size) < end_of(index)) return "it has no counter of that number";
  return nullptr;
}

// The file up to the counter's end. Its producer does not make it shorter.
class Mapped {
 public:
  Mapped(int fd, uint64_t index)
      : size_(end_of(index)), base_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {}
  ~Mapped() {
    if (*this) ::munmap(base_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  explicit operator bool() const { return base_ != MAP_FAILED; }

  int32_t* mappings() const { return static_cast<int32_t*>(base_); }
  int64_t* counter() const {
    return reinterpret_cast<int64_t*>(static_cast<uint8_t*>(base_) + size_ - sizeof(int64_t));
  }

 private:
  const uint64_t size_;
  void* const base_;
};

// False: it is 0, or no count at all.
bool take_one(int64_t* counter) {
  int64_t value = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
  while (value > 0) {
    if (__atomic_compare_exchange_n(counter, &value, value - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return true;
  }
  return false;
}

bool is_same_file(const struct stat& file, const TorchCounter& counter) {
  return file.st_dev == counter.device && file.st_ino == counter.inode;
}

// The name may be another file's by now.
void remove_file(const TorchCounter& counter) {
  const std::string path = path_of(counter.name);
  struct stat file;
  if (::lstat(path.c_str(), &file) == 0 && is_same_file(file, counter)) ::unlink(path.c_str());
}

CountDown count(const TorchCounter& counter) {
  const UniqueFd fd = open_file(counter.name);
  if (!fd) return errno == ENOENT ? CountDown::gone : CountDown::failed;
  struct stat file;
  if (::fstat(fd.get(), &file) != 0) return CountDown::failed;
  if (!is_same_file(file, counter)) return CountDown::gone;
  if (missing(file, counter.index) != nullptr) return CountDown::failed;
  const Mapped mapped(fd.get(), counter.index);
  if (!mapped) return CountDown::failed;
  __atomic_add_fetch(mapped.mappings(), 1, __ATOMIC_ACQ_REL);
  const bool was_counted = take_one(mapped.counter());
  if (__atomic_sub_fetch(mapped.mappings(), 1, __ATOMIC_ACQ_REL) == 0) remove_file(counter);
  return was_counted ? CountDown::counted : CountDown::spent;
}

Failure bad_file(const std::string& name, const std::string& why) {
  return Failure(FailureKind::descriptor, "bad-ref-counter", path_of(name) + " is no ref-counter file of PyTorch's: " + why);
}

}  // namespace

bool TorchCounter::operator<(const TorchCounter& other) const {
  return std::tie(device, inode, index) < std::tie(other.device, other.inode, other.index);
}

TorchCounter find_torch_counter(const std::string& name, uint64_t index) {
  if (!is_torch_name(name)) {
    throw Failure(FailureKind::argument, "invalid-ref-counter",
                  "PyTorch names its ref-counter files /torch_... : one slash, and 255 bytes behind it at most");
  }
  const UniqueFd fd = open_file(name);
  if (!fd) {
    if (errno == ENOENT) {
      throw Failure(FailureKind::peer, "exporter-gone",
                    "there is no " + path_of(name) + ": who shared this has ended, or has a /dev/shm of its own");
    }
    if (errno == ELOOP) throw bad_file(name, "it is a symbolic link");
    if (errno == EISDIR) throw bad_file(name, "it is a folder");
    throw system_failure("system", "open", errno, path_of(name));
  }
  struct stat file;
  if (::fstat(fd.get(), &file) != 0) throw system_failure("system", "fstat", errno);
  if (const char* const why = missing(file, index)) throw bad_file(name, why);
  const Mapped mapped(fd.get(), index);
  if (!mapped) throw system_failure("system", "mmap", errno);
  if (__atomic_load_n(mapped.mappings(), __ATOMIC_ACQUIRE) <= 0) throw bad_file(name, "nobody has it mapped");
  if (__atomic_load_n(mapped.counter(), __ATOMIC_ACQUIRE) <= 0) {
    throw Failure(FailureKind::descriptor, "stale-handle",
                  "counter " + std::to_string(index) + " of " + path_of(name) +
                      " is 0: what was shared was received and given back, and PyTorch may use its memory for something else");
  }
  return {name, index, file.st_dev, file.st_ino};
}

CountDown count_down(const TorchCounter& counter) noexcept {
  try {
    return count(counter);
  } catch (const std::exception&) {
    return CountDown::failed;
  }
}

}  // namespace usm_ipc
