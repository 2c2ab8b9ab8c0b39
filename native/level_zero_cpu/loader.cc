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
USM_IPC_ZE_API Result zelGetLoaderVersion(ComponentVersion* out) {
  if (out == nullptr) return kInvalidNullPointer;
  *out = {{}, make_version(1, 17), 1, 32, 0};
  std::strcpy(out->name, "loader");
  return kSuccess;
}

USM_IPC_ZE_API Result zelLoaderGetVersions(size_t* count, ComponentVersion* out) {
  if (count == nullptr) return kInvalidNullPointer;
  if (out != nullptr && *count > 0) zelGetLoaderVersion(out);
  *count = 1;
  return kSuccess;
}

// By this name a loader that is linked into a program asks.
USM_IPC_ZE_API Result zelLoaderGetVersionsInternal(size_t* count, ComponentVersion* out) {
  return zelLoaderGetVersions(count, out);
}

// Handles are the driver's own already.
USM_IPC_ZE_API Result zelLoaderTranslateHandle(uint32_t, void* in, void** out) {
  if (out == nullptr) return kInvalidNullPointer;
  *out = in;
  return kSuccess;
}

USM_IPC_ZE_API Result zelLoaderTranslateHandleInternal(uint32_t kind, void* in, void** out) {
  return zelLoaderTranslateHandle(kind, in, out);
}

USM_IPC_ZE_API Result zelGetTracerApiProcAddrTable(uint32_t, void* table) {
  return table == nullptr ? kInvalidNullPointer : kSuccess;
}

// System management.
USM_IPC_ZE_API Result zesInit(uint32_t) {
  return entry("zesInit", Reach::host, [] { return kUnsupportedFeature; });
}

}  // namespace usm_ipc::ze
