#include "backends/cuda_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <string>

#include "backends/sealed_memfd.h"

namespace usm_ipc {

uint64_t rounded_up(uint64_t nbytes, uint64_t unit) {
  const uint64_t rest = nbytes % unit;
  if (rest == 0) return nbytes;
  if (nbytes > UINT64_MAX - (unit - rest)) require_cuda("cuMemAlloc_v2", cu::kOutOfMemory);
  return nbytes + (unit - rest);
}

Extent cuda_range(cu::DevicePtr pointer) {
  cu::DevicePtr base = 0;
  size_t nbytes = 0;
  USM_IPC_CUDA(cuMemGetAddressRange_v2, &base, &nbytes, pointer);
  return {pointer_to(base), nbytes};
}

uint64_t bytes_from(const Extent& extent, cu::DevicePtr pointer) {
  const auto base = reinterpret_cast<cu::DevicePtr>(extent.base);
  if (pointer < base || pointer - base > extent.nbytes) return 0;
  return extent.nbytes - (pointer - base);
}

void zero(cu::DevicePtr pointer, uint64_t nbytes) {
  USM_IPC_CUDA(cuMemsetD8Async, pointer, 0, nbytes, nullptr);
  USM_IPC_CUDA(cuStreamSynchronize, nullptr);
}

void check_owner(const CudaDevice& device, cu::DevicePtr pointer, const char* call) {
  if (pointer == 0) throw cuda_failure(call, "null-base", std::string(call) + " gave no address, and no error");
  unsigned type = 0;
  int ordinal = -1;
  USM_IPC_CUDA(cuPointerGetAttribute, &type, cu::kPointerMemoryType, pointer);
  USM_IPC_CUDA(cuPointerGetAttribute, &ordinal, cu::kPointerDeviceOrdinal, pointer);
  if (type == cu::kMemoryTypeDevice && ordinal == device.device) return;
  throw cuda_failure(call, "extent-mismatch",
                     std::string(call) + " opened memory of another device, or no device memory; the handle does not "
                                         "describe this memory");
}

UniqueFd cuda_descriptor(const CudaState& state) {
  if (state.kind == CudaKind::legacy) {
    throw Failure(FailureKind::state, "no-descriptor", "no descriptor travels beside CUDA's legacy handles");
  }
  if (!state.fd) {
    throw Failure(FailureKind::state, "not-exported", "memory has a descriptor while it is exported");
  }
  UniqueFd copy = duplicate_fd(state.fd.get());
  if (!copy) throw system_failure("cuda", "fcntl(F_DUPFD_CLOEXEC)", errno);
  return copy;
}

void check_cuda_descriptor(int fd, const char* layout) {
  if (fd < 0) {
    throw Failure(FailureKind::descriptor, "descriptor-missing",
                  std::string("a ") + layout +
                      " handle is opened through the exporter's descriptor, which must come beside it: receive it over "
                      "an FdChannel, or pass it as `descriptor`");
  }
  if (cuda().software) return;
  // Nobody is asked: a peer's file system may answer when it likes.
  struct statx given;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &given) != 0) {
    throw system_failure("cuda", "statx", errno);
  }
  struct stat control;
  const bool is_known = ::stat("/dev/nvidiactl", &control) == 0;
  const auto device = makedev(given.stx_rdev_major, given.stx_rdev_minor);
  if (S_ISCHR(given.stx_mode) && (!is_known || device == control.st_rdev)) return;
  throw wrong_kind("no descriptor of NVIDIA's driver", "one that CUDA exported");
}

}  // namespace usm_ipc
