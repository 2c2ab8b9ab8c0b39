#include "backends/level_zero_handle.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "failure.h"
#include "little_endian.h"

namespace usm_ipc {
namespace {

// Where both forms have their fields, and where the opaque one goes on.
constexpr size_t kFd = 0;
constexpr size_t kFdHigh = 4;
constexpr size_t kPoolOffset = 8;
constexpr size_t kClassicMemoryType = 16;
constexpr size_t kPid = 16;
constexpr size_t kHandleType = 20;
constexpr size_t kMemoryType = 21;
constexpr size_t kMirror = 22;

constexpr uint8_t kFdHandle = 0;
constexpr uint8_t kMemoryTypes = 16;
constexpr uint8_t kDeviceMemory = 0;  // Intel's InternalIpcMemoryType

bool all_zero(const uint8_t* from, const uint8_t* to) {
  return std::all_of(from, to, [](uint8_t byte) { return byte == 0; });
}

[[noreturn]] void fail(const char* what) {
  throw Failure(FailureKind::argument, "invalid-vendor-handle", std::string("the Level Zero handle ") + what);
}

void check_memory_type(uint8_t type) {
  if (type >= kMemoryTypes) fail("has a memory type that no driver gives");
  if (type == kDeviceMemory) return;
  throw Failure(FailureKind::descriptor, "not-device-memory",
                "the Level Zero handle is not of USM device memory, which is the only kind that is shared");
}

[[noreturn]] void wrong_form(const char* theirs, const char* ours) {
  throw Failure(FailureKind::descriptor, "wrong-handle-form",
                std::string("the Level Zero handle has the ") + theirs + " form, but this process's driver reads the " +
                    ours + " one; import it with a driver of the exporter's kind");
}

void check_classic(const uint8_t* handle) {
  if (!all_zero(handle + kClassicMemoryType + 1, handle + kLevelZeroHandleSize)) wrong_form("opaque", "classic");
  check_memory_type(handle[kClassicMemoryType]);
}

void check_opaque(const uint8_t* handle) {
  if (static_cast<int32_t>(load_little_endian<uint32_t>(handle + kPid)) <= 0) wrong_form("classic", "opaque");
  if (handle[kHandleType] != kFdHandle) fail("holds no file descriptor");
  check_memory_type(handle[kMemoryType]);
  const auto mirror = load_little_endian<uint64_t>(handle + kMirror);
  const auto number = load_little_endian<uint64_t>(handle + kFd);
  if (mirror != 0 && mirror != number) fail("has been changed: its two descriptor numbers differ");
}

}  // namespace

LevelZeroForm form_of_own_handle(const uint8_t* handle) {
  return load_little_endian<uint32_t>(handle + kPid) == 0 ? LevelZeroForm::classic : LevelZeroForm::opaque;
}

int level_zero_fd(const uint8_t* handle) { return static_cast<int32_t>(load_little_endian<uint32_t>(handle + kFd)); }

uint64_t level_zero_pool_offset(const uint8_t* handle) { return load_little_endian<uint64_t>(handle + kPoolOffset); }

void patch_level_zero_handle(uint8_t* handle, LevelZeroForm form, int fd) {
  const bool is_number = level_zero_fd(handle) >= 0 && load_little_endian<uint32_t>(handle + kFdHigh) == 0;
  if (!is_number) fail("names no file descriptor");
  const bool opaque = form == LevelZeroForm::opaque;
  if (opaque) {
    check_opaque(handle);
  } else {
    check_classic(handle);
  }
  const bool mirrored = opaque && load_little_endian<uint64_t>(handle + kMirror) != 0;
  const auto number = static_cast<uint64_t>(fd);
  store_little_endian(handle + kFd, number);
  if (!opaque) return;
  store_little_endian(handle + kPid, static_cast<uint32_t>(::getpid()));
  // A mirror that differs tells the driver to import this number as it stands, without the pidfd_getfd(2) of itself that
  // a sandbox may forbid.
  if (mirrored) store_little_endian(handle + kMirror, ~number);
}

}  // namespace usm_ipc
