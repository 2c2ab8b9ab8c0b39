#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace usm_ipc {

// Not strerrorname_np: musl and older glibc lack it.
const char* errno_name(int error) {
#define USM_IPC_NAME(name) \
  case name:               \
    return #name;
  switch (error) {
    USM_IPC_NAME(EPERM)
    USM_IPC_NAME(ENOENT)
    USM_IPC_NAME(ESRCH)
    USM_IPC_NAME(EINTR)
    USM_IPC_NAME(EIO)
    USM_IPC_NAME(ENXIO)
    USM_IPC_NAME(E2BIG)
    USM_IPC_NAME(EBADF)
    USM_IPC_NAME(ECHILD)
    USM_IPC_NAME(EAGAIN)
    USM_IPC_NAME(ENOMEM)
    USM_IPC_NAME(EACCES)
    USM_IPC_NAME(EFAULT)
    USM_IPC_NAME(EBUSY)
    USM_IPC_NAME(EEXIST)
    USM_IPC_NAME(ENODEV)
    USM_IPC_NAME(ENOTDIR)
    USM_IPC_NAME(EISDIR)
    USM_IPC_NAME(EINVAL)
    USM_IPC_NAME(ENFILE)
    USM_IPC_NAME(EMFILE)
    USM_IPC_NAME(ENOTTY)
    USM_IPC_NAME(ETXTBSY)
    USM_IPC_NAME(EFBIG)
    USM_IPC_NAME(ENOSPC)
    USM_IPC_NAME(ESPIPE)
    USM_IPC_NAME(EROFS)
    USM_IPC_NAME(EPIPE)
    USM_IPC_NAME(ERANGE)
    USM_IPC_NAME(EDEADLK)
    USM_IPC_NAME(ENAMETOOLONG)
    USM_IPC_NAME(ENOSYS)
    USM_IPC_NAME(ELOOP)
    USM_IPC_NAME(EOVERFLOW)
    USM_IPC_NAME(ENOTSOCK)
    USM_IPC_NAME(EMSGSIZE)
    USM_IPC_NAME(EPROTOTYPE)
    USM_IPC_NAME(ENOPROTOOPT)
    USM_IPC_NAME(EPROTONOSUPPORT)
    USM_IPC_NAME(EOPNOTSUPP)
    USM_IPC_NAME(EADDRINUSE)
    USM_IPC_NAME(EADDRNOTAVAIL)
    USM_IPC_NAME(ENETDOWN)
    USM_IPC_NAME(ENETUNREACH)
    USM_IPC_NAME(ECONNABORTED)
    USM_IPC_NAME(ECONNRESET)
    USM_IPC_NAME(ENOBUFS)
    USM_IPC_NAME(EISCONN)
    USM_IPC_NAME(ENOTCONN)
    USM_IPC_NAME(ETOOMANYREFS)
    USM_IPC_NAME(ETIMEDOUT)
    USM_IPC_NAME(ECONNREFUSED)
    USM_IPC_NAME(EHOSTDOWN)
    USM_IPC_NAME(EHOSTUNREACH)
    USM_IPC_NAME(EALREADY)
    USM_IPC_NAME(EINPROGRESS)
    USM_IPC_NAME(ECANCELED)
    default:
      return "errno";
  }
#undef USM_IPC_NAME
}

Failure system_failure(const char* backend, const char* call, int error, const std::string& advice) {
  std::string message = std::string(call) + " failed: " + errno_name(error) + " (" + std::strerror(error) + ")";
  if (!advice.empty()) message += "; " + advice;
  Failure failure(FailureKind::driver, "system-call-failed", message);
  failure.backend = backend;
  failure.call = call;
  failure.result = errno_name(error);
  failure.number = error;
  return failure;
}

Failure driver_failure(const char* backend, const char* call, const char* result, int64_t number,
                       const std::string& advice) {
  char hexadecimal[2 + 16 + 1];
  std::snprintf(hexadecimal, sizeof hexadecimal, "0x%llx", static_cast<unsigned long long>(number));
  std::string message = std::string(call) + " failed: " + result;
  if (number != 0) message += std::string(" (") + hexadecimal + ")";
  if (!advice.empty()) message += "; " + advice;
  Failure failure(FailureKind::driver, "driver-call-failed", message);
  failure.backend = backend;
  failure.call = call;
  failure.result = result;
  failure.number = number;
  return failure;
}

}  // namespace usm_ipc
