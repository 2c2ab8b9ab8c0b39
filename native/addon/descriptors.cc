// File descriptors as claims: taken in, duplicated from an allocation, or from another process.
#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <string>

#include "addon/claims.h"
#include "addon/methods.h"
#include "backends/descriptor_identity.h"
#include "fault.h"
#include "fd_channel/socket_number.h"
#include "pidfd.h"

namespace usm_ipc {
namespace {

UniqueFd duplicate(int fd) {
  fault_point("descriptor.duplicate");
  UniqueFd copy = duplicate_fd(fd);
  if (copy) return copy;
  const int error = errno;
  throw system_failure("system", "fcntl(F_DUPFD_CLOEXEC)", error,
                       error == EMFILE ? "raise `ulimit -n`"
                                       : "descriptor " + std::to_string(fd) + " is not open in this process");
}

UniqueFd take_over(int fd) {
  if (SocketNumber::is_taken(fd)) {
    throw Failure(FailureKind::state, "descriptor-owned",
                  "descriptor " + std::to_string(fd) + " is a channel's or a listener's; adopt a duplicate of it");
  }
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags < 0) throw system_failure("system", "fcntl(F_GETFD)", errno, "descriptor " + std::to_string(fd));
  UniqueFd owned(fd);
  if (::fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) throw system_failure("system", "fcntl(F_SETFD)", errno);
  return owned;
}

napi_value own(Call& call, UniqueFd fd, size_t holder_index) {
  const ClaimId claim = Registry::instance().adopt_descriptor(call.environment(), std::move(fd));
  return deliver(call, claim, holder_index, "descriptor.finalizer");
}

napi_value adopt_descriptor(Call& call) {
  const auto fd = static_cast<int>(call.integer(0, "fd", INT_MAX));
  const bool is_duplicate = call.boolean(1, "duplicate");
  return own(call, is_duplicate ? duplicate(fd) : take_over(fd), 2);
}

napi_value export_descriptor(Call& call) {
  UniqueFd copy = Registry::instance().memory_descriptor(call.environment(), call.integer(0, "claim"));
  return own(call, std::move(copy), 1);
}

napi_value descriptor_of(Call& call) {
  const auto pid = static_cast<int>(call.integer(0, "pid", INT_MAX));
  const uint64_t start_time = call.bigint(1, "startTime");
  const uint64_t pid_namespace = call.bigint(2, "pidNamespace");
  const auto fd = static_cast<int>(call.integer(3, "fd", INT_MAX));
  return own(call, usm_ipc::descriptor_of(pid, start_time, pid_namespace, fd), 4);
}

napi_value descriptor_of_pid(Call& call) {
  const auto pid = static_cast<int>(call.integer(0, "pid", INT_MAX));
  const auto fd = static_cast<int>(call.integer(1, "fd", INT_MAX));
  return own(call, usm_ipc::descriptor_of_pid(pid, fd), 2);
}

napi_value descriptor_number(Call& call) {
  const int fd = Registry::instance().descriptor(call.environment(), call.integer(0, "claim"));
  return call.number(static_cast<uint64_t>(fd));
}

napi_value descriptor_identity(Call& call) {
  const int fd = Registry::instance().descriptor(call.environment(), call.integer(0, "claim"));
  DescriptorEntry file{};
  try {
    file = identity_of_descriptor(fd);
  } catch (const Failure& failure) {
    if (failure.kind != FailureKind::descriptor) throw;
  }
  const Napi::Env env(call.env());
  Napi::Object result = Napi::Object::New(env);
  result.Set("stDev", Napi::BigInt::New(env, file.device));
  result.Set("stIno", Napi::BigInt::New(env, file.inode));
  return result;
}

}  // namespace

void add_descriptors(Methods& methods) {
  methods.push_back(method<adopt_descriptor>("adoptDescriptor"));
  methods.push_back(method<export_descriptor>("exportDescriptor"));
  methods.push_back(method<descriptor_of>("descriptorOf"));
  methods.push_back(method<descriptor_of_pid>("descriptorOfPid"));
  methods.push_back(method<descriptor_number>("descriptorNumber"));
  methods.push_back(method<descriptor_identity>("descriptorIdentity"));
}

}  // namespace usm_ipc
