// The tables of functions that a loader asks a driver for. They only ever grow at their ends: a loader of an older
// version has room for its own functions alone.
#include "level_zero_cpu/entry.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

struct Slot {
  void* function;
  uint32_t since;
};

template <size_t count>
Result fill(uint32_t version, void** table, const Slot (&slots)[count]) {
  if (table == nullptr) return kInvalidNullPointer;
  if (version >> 16 != 1) return kUnsupportedVersion;
  for (size_t i = 0; i < count; i++) {
    if (slots[i].since <= version) table[i] = slots[i].function;
  }
  return kSuccess;
}

}  // namespace

#define USM_IPC_ZE_TABLE(group)                                                  \
  USM_IPC_ZE_API Result zeGet##group##ProcAddrTable(uint32_t version, void** table) { \
    static const Slot slots[] = {
#define USM_IPC_ZE_SERVED(function, minor) {reinterpret_cast<void*>(&function), make_version(1, minor)},
#define USM_IPC_ZE_REFUSED(function, minor) {reinterpret_cast<void*>(&function), make_version(1, minor)},
#define USM_IPC_ZE_TABLE_END(group)     \
  }                                     \
  ;                                     \
  return fill(version, table, slots);   \
  }
#include "level_zero_cpu/entry_points.def"

}  // namespace usm_ipc::ze
