// Tables of tools, of system management and of the runtime's own functions. A loader wants each of them to be there;
// they are left as it made them, which is empty.
#include "level_zero_cpu/entry.h"

namespace usm_ipc::ze {

#define EMPTY_TABLE(name) \
  USM_IPC_ZE_API Result name(uint32_t, void* table) { return table == nullptr ? kInvalidNullPointer : kSuccess; }

EMPTY_TABLE(zerGetGlobalProcAddrTable)
EMPTY_TABLE(zesGetDeviceExpProcAddrTable)
EMPTY_TABLE(zesGetDeviceProcAddrTable)
EMPTY_TABLE(zesGetDiagnosticsProcAddrTable)
EMPTY_TABLE(zesGetDriverExpProcAddrTable)
EMPTY_TABLE(zesGetDriverProcAddrTable)
EMPTY_TABLE(zesGetEngineProcAddrTable)
EMPTY_TABLE(zesGetFabricPortProcAddrTable)
EMPTY_TABLE(zesGetFanProcAddrTable)
EMPTY_TABLE(zesGetFirmwareExpProcAddrTable)
EMPTY_TABLE(zesGetFirmwareProcAddrTable)
EMPTY_TABLE(zesGetFrequencyProcAddrTable)
EMPTY_TABLE(zesGetGlobalProcAddrTable)
EMPTY_TABLE(zesGetLedProcAddrTable)
EMPTY_TABLE(zesGetMemoryProcAddrTable)
EMPTY_TABLE(zesGetOverclockProcAddrTable)
EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable)
EMPTY_TABLE(zesGetPowerProcAddrTable)
EMPTY_TABLE(zesGetPsuProcAddrTable)
EMPTY_TABLE(zesGetRasExpProcAddrTable)
EMPTY_TABLE(zesGetRasProcAddrTable)
EMPTY_TABLE(zesGetSchedulerProcAddrTable)
EMPTY_TABLE(zesGetStandbyProcAddrTable)
EMPTY_TABLE(zesGetTemperatureProcAddrTable)
EMPTY_TABLE(zesGetVFManagementExpProcAddrTable)
EMPTY_TABLE(zetGetCommandListExpProcAddrTable)
EMPTY_TABLE(zetGetCommandListProcAddrTable)
EMPTY_TABLE(zetGetContextProcAddrTable)
EMPTY_TABLE(zetGetDebugProcAddrTable)
EMPTY_TABLE(zetGetDeviceExpProcAddrTable)
EMPTY_TABLE(zetGetDeviceProcAddrTable)
EMPTY_TABLE(zetGetKernelProcAddrTable)
EMPTY_TABLE(zetGetMetricDecoderExpProcAddrTable)
EMPTY_TABLE(zetGetMetricExpProcAddrTable)
EMPTY_TABLE(zetGetMetricGroupExpProcAddrTable)
EMPTY_TABLE(zetGetMetricGroupProcAddrTable)
EMPTY_TABLE(zetGetMetricProcAddrTable)
EMPTY_TABLE(zetGetMetricProgrammableExpProcAddrTable)
EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable)
EMPTY_TABLE(zetGetMetricQueryProcAddrTable)
EMPTY_TABLE(zetGetMetricStreamerProcAddrTable)
EMPTY_TABLE(zetGetMetricTracerExpProcAddrTable)
EMPTY_TABLE(zetGetModuleProcAddrTable)
EMPTY_TABLE(zetGetTracerExpProcAddrTable)

}  // namespace usm_ipc::ze
