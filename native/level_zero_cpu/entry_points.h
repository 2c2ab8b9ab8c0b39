// Declares every entry point that this driver serves with the type that clients call it by.
#pragma once

#include "level_zero/abi.h"

namespace usm_ipc::ze {

extern "C" {
#define USM_IPC_ZE_TABLE(group)
#define USM_IPC_ZE_SERVED(function, minor) functions::function function;
#define USM_IPC_ZE_REFUSED(function, minor) Result function();
#define USM_IPC_ZE_TABLE_END(group)
#include "level_zero_cpu/entry_points.def"
}

}  // namespace usm_ipc::ze
