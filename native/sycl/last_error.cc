#include "last_error.h"

#include <exception>
#include <sstream>
#include <sycl/exception.hpp>
#include <unified-runtime/ur_print.hpp>

#include "level_zero/results.h"

namespace usm_ipc::sycl_library {
namespace {

struct Error {
  std::string call;
  std::string message;
  std::string result_name;
  usm_ipc_sycl_error view{"", "", "", 0};

  void set(const char* called, std::string text, std::string name, int32_t result) {
    call = called;
    message = std::move(text);
    result_name = std::move(name);
    view = {call.c_str(), message.c_str(), result_name.c_str(), result};
  }
};

thread_local Error last;

std::string ur_result_name(int32_t result) {
  std::ostringstream name;
  name << static_cast<ur_result_t>(result);
  return name.str().rfind("UR_RESULT_", 0) == 0 ? name.str() : "UR_RESULT_<unknown>";
}

std::string errc_name(int code) {
  static const char* const names[] = {"success",
                                      "runtime",
                                      "kernel",
                                      "accessor",
                                      "nd_range",
                                      "event",
                                      "kernel_argument",
                                      "build",
                                      "invalid",
                                      "memory_allocation",
                                      "platform",
                                      "profiling",
                                      "feature_not_supported",
                                      "kernel_not_supported",
                                      "backend_mismatch"};
  const bool known = code >= 0 && static_cast<size_t>(code) < std::size(names);
  return std::string("sycl::errc::") + (known ? names[code] : "<unknown>");
}

void note(const char* call) {
  try {
    throw;
  } catch (const sycl::exception& error) {
    const int32_t result = sycl::detail::get_ur_error(error);
    if (result != 0) return last.set(call, error.what(), ur_result_name(result), result);
    last.set(call, error.what(), errc_name(error.code().value()), error.code().value());
  } catch (const NullResult& result) {
    last.set(call, result.what, "null-result", 0);
  } catch (const LevelZeroError& error) {
    last.set(call, "the Level Zero driver refused", ze_result_name(error.result), static_cast<int32_t>(error.result));
  } catch (const BadArgument& argument) {
    last.set(call, argument.what, errc_name(static_cast<int>(sycl::errc::invalid)),
             static_cast<int32_t>(sycl::errc::invalid));
  } catch (const std::exception& error) {
    last.set(call, error.what(), "std::exception", 0);
  } catch (...) {
    last.set(call, "the runtime threw something that is no exception", "unknown", 0);
  }
}

}  // namespace

void note_exception(const char* call) noexcept {
  try {
    note(call);
  } catch (...) {
    last.view = {"", "out of memory while an error was noted", "std::exception", 0};
  }
}

}  // namespace usm_ipc::sycl_library

extern "C" const usm_ipc_sycl_error* usm_ipc_sycl_last_error() { return &usm_ipc::sycl_library::last.view; }
