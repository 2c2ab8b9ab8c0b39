#include "backends/sealed_memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "failure.h"
#include "fault.h"
#include "process_identity.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

namespace usm_ipc {
namespace {

int required_seals(bool read_only) {
  return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (read_only ? F_SEAL_FUTURE_WRITE : 0);
}

std::string seal_names(int seals) {
  const struct {
    int bit;
    const char* name;
  } all[] = {{F_SEAL_SEAL, "F_SEAL_SEAL"},   {F_SEAL_SHRINK, "F_SEAL_SHRINK"},
             {F_SEAL_GROW, "F_SEAL_GROW"},   {F_SEAL_WRITE, "F_SEAL_WRITE"},
             {F_SEAL_FUTURE_WRITE, "F_SEAL_FUTURE_WRITE"}};
  std::string names;
  for (const auto& seal : all) {
    if ((seals & seal.bit) == 0) continue;
    if (!names.empty()) names += "|";
    names += seal.name;
    seals &= ~seal.bit;
  }
  if (seals != 0) names += (names.empty() ? "" : "|") + std::to_string(seals);
  return names;
}

// "" where these are the seals that are required; whether it may be executed is nobody's concern here.
std::string seal_difference(int seals, bool read_only) {
  const int difference = (seals & ~F_SEAL_EXEC) ^ required_seals(read_only);
  const int missing = difference & ~seals;
  const int extra = difference & seals;
  std::string text;
  if (missing != 0) text = seal_names(missing) + " missing";
  if (extra != 0) text += (text.empty() ? "" : ", ") + seal_names(extra) + " too much";
  return text;
}

UniqueFd unsized_memfd() {
  fault_point("allocate.memfd");
  const char* const name = "usm-ipc";
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  // Before Linux 6.3
  if (!fd && errno == EINVAL) fd = UniqueFd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  fd = above_stdio(std::move(fd));
  if (!fd) throw system_failure("host", "memfd_create", errno, errno == EMFILE ? "raise `ulimit -n`" : "");
  return fd;
}

// Under strict accounting a page that was not reserved is refused at its first touch: by SIGBUS.
bool must_reserve() { return std::atoi(read_proc("/proc/sys/vm/overcommit_memory").c_str()) == 2; }

Failure descriptor_failure(const char* reason, const std::string& message) {
  return Failure(FailureKind::descriptor, reason, message);
}

// All memfds of a kernel are on one internal file system, but for those of huge pages: whose mappings have other sizes
// than asked for, so that munmap() would refuse ours.
uint64_t memfd_file_system() {
  static const uint64_t device = [] {
    const UniqueFd probe(::memfd_create("usm-ipc-probe", MFD_CLOEXEC));
    struct stat st;
    if (!probe || ::fstat(probe.get(), &st) != 0) throw system_failure("host", "memfd_create", errno);
    return static_cast<uint64_t>(st.st_dev);
  }();
  return device;
}

}  // namespace

UniqueFd create_memfd(uint64_t nbytes) {
  UniqueFd fd = unsized_memfd();
  fault_point("allocate.resize");
  const auto size = static_cast<off_t>(nbytes);
  if (must_reserve()) {
    int error;
    do {
      error = ::posix_fallocate(fd.get(), 0, size);
    } while (error == EINTR);
    if (error != 0) throw system_failure("host", "posix_fallocate", error, "vm.overcommit_memory=2 reserves all of it");
  } else if (::ftruncate(fd.get(), size) != 0) {
    throw system_failure("host", "ftruncate", errno);
  }
  return fd;
}

void seal_memfd(int fd, bool read_only) {
  fault_point("allocate.seal");
  if (::fcntl(fd, F_ADD_SEALS, required_seals(read_only)) != 0) {
    throw system_failure("host", "fcntl(F_ADD_SEALS)", errno, read_only ? "read-only sharing needs Linux 5.1" : "");
  }
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) throw system_failure("host", "fcntl(F_GET_SEALS)", errno);
  const std::string difference = seal_difference(seals, read_only);
  if (!difference.empty()) throw system_failure("host", "fcntl(F_ADD_SEALS)", EPERM, "the kernel has " + difference);
}

DescriptorEntry identity_of_memfd(int fd) {
  struct stat st;
  if (::fstat(fd, &st) != 0) throw system_failure("host", "fstat", errno);
  return {DescriptorKind::memfd, st.st_dev, st.st_ino};
}

int seals_of(int fd) {
  fault_point("open.seals");
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 && ::fcntl(fd, F_GETFD) < 0) throw system_failure("host", "fcntl(F_GET_SEALS)", errno);
  return seals;
}

Failure wrong_kind(const std::string& what, const char* wanted) {
  return descriptor_failure("descriptor-wrong-kind", "the descriptor is " + what + "; the handle wants " + wanted);
}

DescriptorEntry check_sealed(int fd, int seals, const DescriptorEntry& expected, bool read_only, uint64_t nbytes) {
  const char* const wanted = "the exporter's memfd";
  fault_point("open.stat");
  struct stat st;
  if (::fstat(fd, &st) != 0) throw system_failure("host", "fstat", errno);
  if (!S_ISREG(st.st_mode)) throw wrong_kind("no regular file", wanted);
  if (expected.inode != 0 && (st.st_dev != expected.device || st.st_ino != expected.inode)) {
    throw descriptor_failure("descriptor-foreign",
                             "the descriptor is another memfd (device " + std::to_string(st.st_dev) + ", inode " +
                                 std::to_string(st.st_ino) + ") than the handle names (device " +
                                 std::to_string(expected.device) + ", inode " + std::to_string(expected.inode) + ")");
  }
  const std::string difference = seal_difference(seals, read_only);
  if (!difference.empty()) {
    throw descriptor_failure("descriptor-unsealed",
                             "the memfd's seals are not those that the handle requires: " + difference);
  }
  const auto size = static_cast<uint64_t>(st.st_size);
  if (size < nbytes) {
    throw descriptor_failure("descriptor-too-small", "the memfd has " + std::to_string(size) +
                                                         " bytes, the handle says " + std::to_string(nbytes));
  }
  if (st.st_dev != memfd_file_system()) throw wrong_kind("a memfd of huge pages", wanted);
  return {DescriptorKind::memfd, st.st_dev, st.st_ino};
}

void check_memfd(int fd, const HostHandle& handle, uint64_t nbytes) {
  const int seals = seals_of(fd);
  if (seals < 0) throw wrong_kind("a file without seals", "the exporter's memfd");
  check_sealed(fd, seals, {DescriptorKind::memfd, handle.device, handle.inode}, handle.read_only,
               std::max(handle.nbytes, nbytes));
}

}  // namespace usm_ipc
