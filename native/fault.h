// Fault points: tests make the n-th passage of a named step fail, and count system calls that must come in pairs. Compiled
// out of the released addon.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace usm_ipc {

#ifdef USM_IPC_FAULTS
// Every point there is; fault_point and set_fault refuse other names.
const std::vector<std::string>& fault_points();
// Throws Failure{driver, "injected"} when this passage is the one that was asked for.
void fault_point(const char* name);
// The countdown-th passage throws, or kills the process as a crash there would.
void set_fault(const char* name, int countdown, bool kills);
void count_call(const char* name) noexcept;
std::map<std::string, unsigned> call_counts();
#else
inline void fault_point(const char*) {}
inline void count_call(const char*) noexcept {}
#endif

}  // namespace usm_ipc
