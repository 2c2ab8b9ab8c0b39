// What makes this driver a loader as well: a program that looks for libze_loader.so.1 finds the driver itself.
#include <cstring>

#include "level_zero_cpu/entry.h"

namespace usm_ipc::ze {
namespace {

// zel_component_version_t
struct ComponentVersion {
  char name[64];
  uint32_t specification;
  int major;
  int minor;
  int patch;
};

}  // namespace

USM_IPC_ZE_API Result zeLoaderInit() { return kSuccess; }

USM_IPC_ZE_API void* zeLoaderGetTracingHandle() { return nullptr; }

// As of the loader that came with the specification that our tables follow.
USM_IPC_ZE_API Result zelLoaderGetVersionsInternal(size_t* count, ComponentVersion* out) {
  if (count == nullptr) return kInvalidNullPointer;
  if (out != nullptr && *count > 0) {
    *out = {{}, make_version(1, 17), 1, 32, 0};
    std::strcpy(out->name, "loader");
  }
  *count = 1;
  return kSuccess;
}

// Handles are the driver's own already.
USM_IPC_ZE_API Result zelLoaderTranslateHandleInternal(uint32_t, void* in, void** out) {
  if (out == nullptr) return kInvalidNullPointer;
  *out = in;
  return kSuccess;
}

// Tables of tools, system management and tracing: left as the caller made them, which is empty.
#define EMPTY_TABLE(name) \
  USM_IPC_ZE_API Result name(uint32_t, void* table) { return table == nullptr ? kInvalidNullPointer : kSuccess; }

EMPTY_TABLE(zelGetTracerApiProcAddrTable)

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
