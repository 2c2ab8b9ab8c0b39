// Which Level Zero loader and which Unified Runtime adapter this process uses: chosen once, before the first of them is
// loaded, because both are process-wide and read their variables themselves.
#pragma once

#include <string>

namespace usm_ipc {

// Folder of the software Level Zero driver where it was asked for (USM_IPC_SOFTWARE_DRIVER=1), else "". The first call
// decides for the process, and sets what the runtimes read: ZEL_LIBRARY_PATH, and where the user has not set them
// UR_L0_DISABLE_USM_ALLOCATOR=1 (allocations of ours share no slab; a 0 leaves them pooled) and UMF_MAX_OPENED_IPC_HANDLES.
const std::string& software_driver();

// Mappings that the SYCL runtime keeps after they were closed, at most.
constexpr int kMaxCachedMappings = 64;

// dlopen of libze_loader.so.1, once: the software driver's where that was asked for, otherwise the one in
// ZEL_LIBRARY_PATH, otherwise the system's. Null where there is none, or where the process has loaded another already;
// `why` then says what is missing and what brings it.
void* level_zero_loader(std::string& why);

// The addon's own folder, which holds software-driver/ and libusm_ipc_sycl.so.
std::string addon_folder();

}  // namespace usm_ipc
