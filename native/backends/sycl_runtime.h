// libusm_ipc_sycl.so and the SYCL runtime under it, loaded once a process: where they are found, and what is missing
// where they are not.
#pragma once

#include <string>

#include "failure.h"
#include "sycl/usm_ipc_sycl.h"

namespace usm_ipc {

// Every function of the library's interface that the backend calls.
#define USM_IPC_SYCL_FUNCTIONS(each) \
  each(abi_version)                  \
  each(last_error)                   \
  each(redirect_stdout)              \
  each(device_count)                 \
  each(get_device_info)              \
  each(device)                       \
  each(default_context)              \
  each(allocate)                     \
  each(free)                         \
  each(pointer_type)                 \
  each(pointer_device)               \
  each(extent)                       \
  each(memcpy)                       \
  each(memset)                       \
  each(wait)                         \
  each(get)                          \
  each(put)                          \
  each(open)                         \
  each(close)

struct SyclLibrary {
#define USM_IPC_SYCL_MEMBER(name) decltype(&usm_ipc_sycl_##name) name = nullptr;
  USM_IPC_SYCL_FUNCTIONS(USM_IPC_SYCL_MEMBER)
#undef USM_IPC_SYCL_MEMBER
};

// Null where it cannot be used here; `why` then says what is missing and what brings it, and the next call looks
// again; a runtime that was loaded and has no devices is not asked twice.
const SyclLibrary* sycl_library(std::string& why);

// The thread's last failure in the library, as one of ours.
Failure sycl_failure(const SyclLibrary& library, const std::string& advice = "");

}  // namespace usm_ipc
