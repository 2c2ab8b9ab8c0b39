#include "backends/descriptor_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "backends/sealed_memfd.h"
#include "failure.h"
#include "fault.h"
#include "process_identity.h"

namespace usm_ipc {
namespace {

constexpr char kWanted[] = "the exporter's memfd or dma-buf";

// The link's text alone proves nothing: a peer can make its FUSE file the root of a mount namespace and call it that.
// What fdinfo says the kernel has written itself. Neither asks the file.
bool is_dmabuf(int fd) {
  const std::string number = std::to_string(fd);
  char link[16];
  const ssize_t length = ::readlink(("/proc/self/fd/" + number).c_str(), link, sizeof link);
  if (length < 0) throw system_failure("host", "readlink(/proc/self/fd)", errno, "is /proc mounted?");
  const std::string prefix = "/dmabuf:";
  if (std::string(link, length).compare(0, prefix.size(), prefix) != 0) return false;
  return read_proc("/proc/self/fdinfo/" + number).find("\nexp_name:\t") != std::string::npos;
}

DescriptorEntry identity_of_file(int fd, DescriptorKind kind) {
  fault_point("open.stat");
  struct stat st;
  if (::fstat(fd, &st) != 0) throw system_failure("host", "fstat", errno);
  return {kind, st.st_dev, st.st_ino};
}

DescriptorEntry dmabuf_identity(int fd) {
  if (!is_dmabuf(fd)) throw wrong_kind("neither a file with seals nor a dma-buf", kWanted);
  return identity_of_file(fd, DescriptorKind::dmabuf);
}

}  // namespace

DescriptorEntry identity_of_descriptor(int fd) {
  return seals_of(fd) < 0 ? dmabuf_identity(fd) : identity_of_file(fd, DescriptorKind::memfd);
}

DescriptorEntry check_descriptor(int fd, const DescriptorEntry& expected, uint64_t nbytes) {
  const bool any = expected.inode == 0;
  const int seals = seals_of(fd);
  if (seals >= 0) {
    if (!any && expected.kind != DescriptorKind::memfd) throw wrong_kind("a memfd", "the exporter's dma-buf");
    return check_sealed(fd, seals, expected, false, nbytes);
  }
  const DescriptorEntry found = dmabuf_identity(fd);
  if (!any && expected.kind != DescriptorKind::dmabuf) throw wrong_kind("a dma-buf", "the exporter's memfd");
  if (!any && (found.device != expected.device || found.inode != expected.inode)) {
    throw Failure(FailureKind::descriptor, "descriptor-foreign",
                  "the descriptor is another dma-buf than the handle names");
  }
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < 0) throw system_failure("host", "lseek", errno);
  if (static_cast<uint64_t>(size) < nbytes) {
    throw Failure(FailureKind::descriptor, "descriptor-too-small",
                  "the dma-buf has " + std::to_string(size) + " bytes, the handle says " + std::to_string(nbytes));
  }
  return found;
}

UniqueFd duplicate_of_memory(const char* backend, int fd, const Memory& memory) {
  const auto gone = [] {
    return Failure(FailureKind::state, "memory-gone",
                   "the memory was freed while a handle of it was open, and its descriptor went with it");
  };
  UniqueFd copy = duplicate_fd(fd);
  if (!copy && errno == EBADF) throw gone();
  if (!copy) throw system_failure(backend, "fcntl(F_DUPFD_CLOEXEC)", errno);
  DescriptorEntry found{};
  try {
    found = identity_of_descriptor(copy.get());
  } catch (const Failure& failure) {
    if (failure.kind == FailureKind::descriptor) throw gone();
    throw;
  }
  if (found.inode != memory.identity.inode || found.device != memory.identity.device) throw gone();
  return copy;
}

}  // namespace usm_ipc
