#include <iostream>

#include "last_error.h"

extern "C" uint32_t usm_ipc_sycl_abi_version() { return USM_IPC_SYCL_ABI_VERSION; }

extern "C" void usm_ipc_sycl_redirect_stdout() {
  usm_ipc::sycl_library::guarded("std::cout.rdbuf", [] { std::cout.rdbuf(std::cerr.rdbuf()); });
}
