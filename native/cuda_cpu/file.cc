#include "cuda_cpu/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>

namespace usm_ipc::cuda_cpu {
namespace {

constexpr uint64_t kAlignment = 2 << 20;
constexpr char kName[] = "usm-ipc-cuda-";

uint16_t new_token() {
  static std::atomic<uint16_t> last{static_cast<uint16_t>(std::random_device{}())};
  return ++last;
}

uint8_t* aligned(uint64_t nbytes, int protection) {
  if (nbytes > (1ull << 46)) return nullptr;
  void* const raw = ::mmap(nullptr, nbytes + kAlignment, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto from = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t at = (from + kAlignment - 1) / kAlignment * kAlignment;
  if (at > from) ::munmap(raw, at - from);
  const uintptr_t end = from + nbytes + kAlignment;
  const uintptr_t used = (at + nbytes + 4095) / 4096 * 4096;
  if (end > used) ::munmap(reinterpret_cast<void*>(used), end - used);
  return reinterpret_cast<uint8_t*>(at);
}

bool is_called(const std::string& path, const std::string& beginning) {
  char link[64];
  const ssize_t length = ::readlink(path.c_str(), link, sizeof link);
  return length > 0 && std::string(link, static_cast<size_t>(length)).compare(0, beginning.size(), beginning) == 0;
}

}  // namespace

std::shared_ptr<File> make_file(uint64_t nbytes) {
  auto file = std::make_shared<File>();
  file->token = new_token();
  const std::string name = kName + std::to_string(file->token);
  file->fd = UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC));
  file->nbytes = nbytes;
  if (!file->fd || ::ftruncate(file->fd.get(), static_cast<off_t>(nbytes)) != 0) return nullptr;
  return file;
}

std::shared_ptr<File> file_of(uint32_t process, uint32_t fd, uint32_t token) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(fd);
  const std::string wanted = "/memfd:" + std::string(kName) + std::to_string(token) + " ";
  if (!is_called(path, wanted)) return nullptr;  // nothing else is opened
  auto file = std::make_shared<File>();
  file->fd = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  // The number may have come to mean something else in between.
  if (!file->fd || !is_called("/proc/self/fd/" + std::to_string(file->fd.get()), wanted)) return nullptr;
  const off_t size = ::lseek(file->fd.get(), 0, SEEK_END);
  if (size < 0) return nullptr;
  file->nbytes = static_cast<uint64_t>(size);
  file->token = static_cast<uint16_t>(token);
  return file;
}

MappedFile::~MappedFile() {
  if (base != nullptr) ::munmap(base, nbytes);
}

std::shared_ptr<MappedFile> map_file(std::shared_ptr<File> file, uint64_t nbytes) {
  auto mapped = std::make_shared<MappedFile>();
  uint8_t* const at = aligned(nbytes, file == nullptr ? PROT_READ | PROT_WRITE : PROT_NONE);
  if (at == nullptr) return nullptr;
  mapped->base = at;
  mapped->nbytes = nbytes;
  if (file != nullptr && !put(at, nbytes, *file)) return nullptr;
  mapped->file = std::move(file);
  return mapped;
}

uint8_t* reserve(uint64_t nbytes) { return aligned(nbytes, PROT_NONE); }

bool put(uint8_t* at, uint64_t nbytes, const File& file) {
  return ::mmap(at, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.fd.get(), 0) != MAP_FAILED;
}

void take_away(uint8_t* at, uint64_t nbytes) {
  ::mmap(at, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void release(uint8_t* at, uint64_t nbytes) { ::munmap(at, nbytes); }

int export_file(const File& file, const Shareable& about) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const UniqueFd sender(ends[0]);
  UniqueFd receiver(ends[1]);
  iovec part{const_cast<Shareable*>(&about), sizeof about};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.fd.get();
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return ::sendmsg(sender.get(), &message, MSG_NOSIGNAL) == sizeof about ? receiver.release() : -1;
}

std::shared_ptr<File> import_file(int fd, Shareable& about) {
  iovec part{&about, sizeof about};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_LEN(sizeof(int));  // room for one descriptor
  // Looking duplicates the descriptor and leaves the message for who looks next.
  const ssize_t got = ::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const head = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS || head->cmsg_len < CMSG_LEN(sizeof(int))) return nullptr;
  auto file = std::make_shared<File>();
  int received = -1;
  std::memcpy(&received, CMSG_DATA(head), sizeof received);
  file->fd = UniqueFd(received);
  if (got != sizeof about || about.magic != kShareableMagic) return nullptr;
  file->nbytes = about.nbytes;
  file->token = about.token;
  return file;
}

}  // namespace usm_ipc::cuda_cpu
