// What this driver does not do, refused by name.
#include "level_zero_cpu/entry.h"

namespace usm_ipc::ze {

#define USM_IPC_ZE_TABLE(group)
#define USM_IPC_ZE_SERVED(function, minor)
// A caller's arguments are left alone: whoever calls cleans up.
#define USM_IPC_ZE_REFUSED(function, minor) \
  USM_IPC_ZE_API Result function() {        \
    return entry(#function, Reach::host, [] { return kUnsupportedFeature; }); \
  }
#define USM_IPC_ZE_TABLE_END(group)
#include "level_zero_cpu/entry_points.def"

}  // namespace usm_ipc::ze
