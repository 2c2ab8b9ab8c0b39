// What is checked before a driver sees a handle; units.test.ts runs it with an empty folder as its argument. Each check
// is a line "ok NAME" or "FAILED NAME".
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "backends/descriptor_identity.h"
#include "backends/level_zero_handle.h"
#include "backends/sealed_memfd.h"
#include "failure.h"
#include "little_endian.h"

using namespace usm_ipc;

namespace {

int failed = 0;

void check(const char* name, bool passed, const std::string& saw = "") {
  if (!passed) ++failed;
  std::printf("%s %s%s%s\n", passed ? "ok" : "FAILED", name, saw.empty() ? "" : ": ", saw.c_str());
  std::fflush(stdout);
}

std::string reason_of(const std::function<void()>& run) {
  try {
    run();
    return "";
  } catch (const Failure& failure) {
    return failure.reason;
  }
}

void check_reason(const char* name, const char* reason, const std::function<void()>& run) {
  const std::string saw = reason_of(run);
  check(name, saw == reason, saw == reason ? "" : saw);
}

struct Bytes {
  uint8_t data[kLevelZeroHandleSize] = {};
};

Bytes classic(uint64_t fd) {
  Bytes bytes;
  store_little_endian<uint64_t>(bytes.data, fd);
  store_little_endian<uint64_t>(bytes.data + 8, 0x1000);
  return bytes;
}

Bytes opaque(uint64_t fd, uint32_t pid, uint64_t mirror = 0) {
  Bytes bytes = classic(fd);
  store_little_endian<uint32_t>(bytes.data + 16, pid);
  store_little_endian<uint64_t>(bytes.data + 22, mirror);
  bytes.data[62] = 1;
  return bytes;
}

void patches() {
  const auto own = static_cast<uint32_t>(::getpid());
  check("a handle with a pid is opaque", form_of_own_handle(opaque(7, own).data) == LevelZeroForm::opaque);
  check("a handle without is classic", form_of_own_handle(classic(7).data) == LevelZeroForm::classic);

  Bytes handle = classic(7);
  patch_level_zero_handle(handle.data, LevelZeroForm::classic, 40);
  check("classic: the descriptor is ours, all else as it was",
        level_zero_fd(handle.data) == 40 && std::memcmp(handle.data + 8, classic(7).data + 8, 56) == 0);

  handle = opaque(7, 999999);
  patch_level_zero_handle(handle.data, LevelZeroForm::opaque, 40);
  check("opaque: descriptor and pid are ours, all else as it was",
        std::memcmp(handle.data, opaque(40, own).data, sizeof handle.data) == 0);

  handle = opaque(7, 999999, 7);
  patch_level_zero_handle(handle.data, LevelZeroForm::opaque, 40);
  check("opaque with a mirror: one that differs, so that the number is imported as it is",
        std::memcmp(handle.data, opaque(40, own, ~uint64_t{40}).data, sizeof handle.data) == 0);

  const struct {
    const char* name;
    Bytes bytes;
    LevelZeroForm form;
    const char* reason = "invalid-vendor-handle";
  } refused[] = {
      {"a classic driver gets no opaque handle", opaque(7, 4242), LevelZeroForm::classic, "wrong-handle-form"},
      {"an opaque driver gets no classic handle", classic(7), LevelZeroForm::opaque, "wrong-handle-form"},
      {"a negative pid", opaque(7, 0x80000001), LevelZeroForm::opaque, "wrong-handle-form"},
      {"a negative descriptor", classic(0xfffffffe), LevelZeroForm::classic},
      {"a descriptor number of 64 bits", classic(0x100000007), LevelZeroForm::classic},
      {"a mirror that differs", opaque(7, 4242, 8), LevelZeroForm::opaque},
  };
  for (const auto& entry : refused) {
    Bytes bytes = entry.bytes;
    check_reason(entry.name, entry.reason,
                 [&] { patch_level_zero_handle(bytes.data, entry.form, 40); });
    check("... and is left as it was", std::memcmp(bytes.data, entry.bytes.data, sizeof bytes.data) == 0);
  }
  Bytes nt = opaque(7, 4242);
  nt.data[20] = 1;
  check_reason("an NT handle", "invalid-vendor-handle",
               [&] { patch_level_zero_handle(nt.data, LevelZeroForm::opaque, 40); });
  Bytes type = classic(7);
  type.data[16] = 16;
  check_reason("a memory type that no driver has", "invalid-vendor-handle",
               [&] { patch_level_zero_handle(type.data, LevelZeroForm::classic, 40); });
}

UniqueFd memfd(uint64_t nbytes, int seals) {
  UniqueFd fd = create_memfd(nbytes);
  if (seals != 0 && ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) std::abort();
  return fd;
}

void descriptors() {
  constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const UniqueFd file = memfd(8192, kSealed);
  const DescriptorEntry identity = identity_of_descriptor(file.get());
  struct stat st;
  ::fstat(file.get(), &st);
  check("a memfd's identity", identity.kind == DescriptorKind::memfd && identity.device == st.st_dev &&
                                  identity.inode == st.st_ino);
  const DescriptorEntry any{};
  check("a sealed memfd passes", check_descriptor(file.get(), identity, 8192).inode == st.st_ino);
  check("also where nothing is expected", check_descriptor(file.get(), any, 1).inode == st.st_ino);
  const auto refuse = [](const char* name, const char* reason, int fd, const DescriptorEntry& wanted, uint64_t nbytes) {
    check_reason(name, reason, [&] { check_descriptor(fd, wanted, nbytes); });
  };
  refuse("a memfd that is too small", "descriptor-too-small", file.get(), identity, 8193);
  refuse("any size", "descriptor-too-small", file.get(), any, UINT64_MAX);
  const UniqueFd other = memfd(8192, kSealed);
  refuse("another memfd", "descriptor-foreign", other.get(), identity, 8192);
  DescriptorEntry dmabuf = identity;
  dmabuf.kind = DescriptorKind::dmabuf;
  refuse("a memfd where a dma-buf is wanted", "descriptor-wrong-kind", file.get(), dmabuf, 8192);
  const int seals[] = {0, F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_GROW, kSealed & ~F_SEAL_SHRINK, kSealed | F_SEAL_WRITE,
                       kSealed | 0x10 /* F_SEAL_FUTURE_WRITE */};
  for (const int given : seals) {
    refuse("a memfd with other seals", "descriptor-unsealed", memfd(8192, given).get(), any, 8192);
  }
  for (const char* path : {"/dev/null", "/proc/self/maps", "/", "/proc/self/exe"}) {
    const UniqueFd opened(::open(path, O_RDONLY | O_CLOEXEC));
    refuse(path, "descriptor-wrong-kind", opened.get(), any, 0);
    check_reason(path, "descriptor-wrong-kind", [&] { identity_of_descriptor(opened.get()); });
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  refuse("a pipe", "descriptor-wrong-kind", ends[0], any, 0);
  const int closed = ::dup(0);
  ::close(closed);
  refuse("a closed descriptor", "system-call-failed", closed, any, 0);
}

// A file whose server counts what it is asked about after it has been opened.
class FuseFile {
 public:
  // At `path`, which must be there.
  explicit FuseFile(const std::string& path) : device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    const std::string options = "fd=" + std::to_string(device_) + ",rootmode=100644,user_id=0,group_id=0";
    mounted = device_ >= 0 && ::mount("usm-ipc-test", path.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    if (mounted) std::thread([this] { serve(); }).detach();
  }
  bool mounted;
  std::atomic<int> asked{0};

 private:
  // As long as the process lives.
  void serve() {
    std::vector<uint8_t> request(1 << 20);
    for (;;) {
      const ssize_t length = ::read(device_, request.data(), request.size());
      if (length < static_cast<ssize_t>(sizeof(fuse_in_header))) {
        if (length < 0 && errno == EINTR) continue;
        return;
      }
      fuse_in_header header;
      std::memcpy(&header, request.data(), sizeof header);
      answer(header);
    }
  }

  void answer(const fuse_in_header& header) {
    switch (header.opcode) {
      case FUSE_INIT: {
        fuse_init_out init{};
        init.major = FUSE_KERNEL_VERSION;
        init.minor = FUSE_KERNEL_MINOR_VERSION;
        init.max_write = 1 << 16;
        return reply(header, 0, &init, sizeof init);
      }
      case FUSE_OPEN: {
        fuse_open_out opened{};
        return reply(header, 0, &opened, sizeof opened);
      }
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        return reply(header, 0, nullptr, 0);
      default:
        ++asked;
        return reply(header, -EIO, nullptr, 0);
    }
  }

  void reply(const fuse_in_header& to, int error, const void* body, size_t size) {
    std::vector<uint8_t> message(sizeof(fuse_out_header) + size);
    const fuse_out_header header{static_cast<uint32_t>(message.size()), error, to.unique};
    std::memcpy(message.data(), &header, sizeof header);
    if (size > 0) std::memcpy(message.data() + sizeof header, body, size);
    if (::write(device_, message.data(), message.size()) < 0) std::perror("the FUSE server");
  }

  const int device_;
};

// Under a root where its path is like a dma-buf's link. In a process of its own, for its root and its mounts.
void fuse(const std::string& root) {
  const char* const folder = root.c_str();
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", folder, "tmpfs", 0, nullptr) != 0) {
    std::printf("skipped a FUSE file: %s\n", std::strerror(errno));
    return;
  }
  const std::string path = root + "/dmabuf:heap";
  ::close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  ::mkdir((root + "/proc").c_str(), 0755);
  FuseFile file(path);
  const bool ready = file.mounted && ::mount("/proc", (root + "/proc").c_str(), nullptr, MS_BIND, nullptr) == 0;
  const UniqueFd fd(ready ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1);
  if (!fd || ::chroot(folder) != 0 || ::chdir("/") != 0) {
    std::printf("skipped a FUSE file: %s\n", std::strerror(errno));
    return;
  }
  char link[64] = {};
  if (::readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), link, sizeof link - 1) < 0) std::abort();
  check("the FUSE file's link is like a dma-buf's", std::string(link) == "/dmabuf:heap", link);
  const int before = file.asked;
  check_reason("a FUSE file", "descriptor-wrong-kind", [&] { check_descriptor(fd.get(), {}, 1); });
  check_reason("a FUSE file's identity", "descriptor-wrong-kind", [&] { identity_of_descriptor(fd.get()); });
  check("... was asked for nothing", file.asked == before);
  struct stat st;
  check("... and would have been asked by a stat", ::fstat(fd.get(), &st) != 0 && file.asked > before);
}

}  // namespace

int main(int, char** arguments) {
  patches();
  descriptors();
  const pid_t child = ::fork();
  if (child == 0) {
    failed = 0;
    fuse(arguments[1]);
    std::fflush(stdout);
    ::_exit(failed);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return failed == 0 && status == 0 ? 0 : 1;
}
