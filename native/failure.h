// What native code throws. The addon turns it into a JavaScript error that the host layer gives a class and a code.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace usm_ipc {

enum class FailureKind : uint8_t {
  driver,      // a driver or system call failed: backend, call, result
  descriptor,  // the descriptor is missing, or not the one that the handle names: reason
  state,       // closed, unknown claim, not this environment's: reason
  argument,    // caught too late by the host layer: reason
  peer,        // a socket peer: reason
};

struct Failure : std::runtime_error {
  Failure(FailureKind kind, std::string reason, const std::string& message)
      : std::runtime_error(message), kind(kind), reason(std::move(reason)) {}
  FailureKind kind;
  std::string reason;   // short and stable, "descriptor-unsealed"; the host layer makes the code from it
  std::string backend;  // driver: "host"
  std::string call;     // driver: "mmap"
  std::string result;   // driver: "ENOMEM"
  int64_t number = 0;   // driver: 12
};

// A failed system call: the message has the call and errno's name; `advice` says what to do about it.
Failure system_failure(const char* backend, const char* call, int error, const std::string& advice = "");
const char* errno_name(int error);
// A driver's failed call: "zeMemOpenIpcHandle failed: ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)", and the advice.
Failure driver_failure(const char* backend, const char* call, const char* result, int64_t number,
                       const std::string& advice = "");

}  // namespace usm_ipc
