#include "torch/ref_counter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

constexpr uint64_t kCounters = 10000;
constexpr size_t kHeader = 64;
constexpr size_t kFileSize = kHeader + kCounters * sizeof(int64_t);

std::string path_of(const std::string& name) { return kFolder + name; }

bool is_torch_name(const std::string& name) {
  const size_t prefix = sizeof kPrefix - 1;
  if (name.size() <= prefix || name.size() > kLongestName || name.compare(0, prefix, kPrefix) != 0) return false;
  return name.find_first_not_of("0123456789_", prefix) == std::string::npos;
}

// No link is followed, and no pipe waited for.
UniqueFd open_file(const std::string& name) {
  return UniqueFd(::open(path_of(name).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

bool is_counter_file(const struct stat& file) {
  return S_ISREG(file.st_mode) && file.st_size >= static_cast<off_t>(kFileSize);
}

// A mapping of the whole file.
class Mapped {
 public:
  explicit Mapped(int fd) : base_(::mmap(nullptr, kFileSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {}
  ~Mapped() {
    if (*this) ::munmap(base_, kFileSize);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  explicit operator bool() const { return base_ != MAP_FAILED; }

  int32_t* mappings() const { return static_cast<int32_t*>(base_); }
  int64_t* counter(uint64_t index) const {
    return reinterpret_cast<int64_t*>(static_cast<uint8_t*>(base_) + kHeader) + index;
  }

 private:
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
  if (!is_counter_file(file)) return CountDown::failed;
  const Mapped mapped(fd.get());
  if (!mapped) return CountDown::failed;
  __atomic_add_fetch(mapped.mappings(), 1, __ATOMIC_ACQ_REL);
  const bool was_counted = take_one(mapped.counter(counter.index));
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
                  "PyTorch names its ref-counter files /torch_, and then digits and underscores");
  }
  if (index >= kCounters) {
    throw Failure(FailureKind::argument, "invalid-ref-counter",
                  "a ref-counter file of PyTorch's has " + std::to_string(kCounters) + " counters: there is no number " +
                      std::to_string(index));
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
  if (!S_ISREG(file.st_mode)) throw bad_file(name, "it is no regular file");
  if (!is_counter_file(file)) {
    throw bad_file(name, std::to_string(file.st_size) + " bytes are less than " + std::to_string(kFileSize));
  }
  const Mapped mapped(fd.get());
  if (!mapped) throw system_failure("system", "mmap", errno);
  if (__atomic_load_n(mapped.mappings(), __ATOMIC_ACQUIRE) <= 0) throw bad_file(name, "nobody has it mapped");
  if (__atomic_load_n(mapped.counter(index), __ATOMIC_ACQUIRE) <= 0) {
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
