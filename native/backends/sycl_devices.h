// The library and its devices for the backend's functions, which throw where there are none.
#pragma once

#include <vector>

#include "backend.h"
#include "backends/sycl_runtime.h"

namespace usm_ipc {

struct SyclDevice {
  DeviceInfo info;
  bool ipc_memory;
  DPCTLSyclDeviceRef device;
  DPCTLSyclContextRef context;  // the platform's default one
};

// Throws Failure{state, "backend-unavailable"}.
const SyclLibrary& sycl();

// Listed once.
const std::vector<SyclDevice>& sycl_devices();
// Throws Failure{argument, "no-such-device"}.
const SyclDevice& sycl_device(uint32_t index);
// Throws Failure{state, "no-ipc-memory"} as well.
const SyclDevice& sycl_ipc_device(uint32_t index);

// Throws the library's last failure where a call has failed.
void check_sycl(int failed);

}  // namespace usm_ipc
