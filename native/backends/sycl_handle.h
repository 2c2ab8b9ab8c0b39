// The handle of SYCL's IPC memory (docs/wire-format.md): UMF's head, what Unified Runtime's adapter adds, and Level
// Zero's handle. How another process's is made fit for our own runtime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend.h"
#include "backends/level_zero_handle.h"

namespace usm_ipc {

constexpr size_t kSyclV2HandleSize = 120;
constexpr size_t kSyclV1HandleSize = 108;

struct SyclHandle {
  uint64_t id;      // of the exporter's own counting
  uint64_t base;    // the base allocation's address in the exporter
  int32_t pid;      // the exporter's, by its own view
  uint64_t nbytes;  // of the base allocation
  uint64_t offset;  // of the pointer in it
  uint8_t level_zero[kLevelZeroHandleSize];
};

// The adapters' layouts differ in size alone. Throws Failure{argument, "invalid-vendor-handle"} for another size.
Layout sycl_layout(size_t size);
size_t sycl_handle_size(Layout layout);

SyclHandle read_sycl_handle(const uint8_t* bytes, size_t size);

// As this process itself would have made it with that layout: pids are our own.
void write_own_sycl_handle(const SyclHandle& handle, Layout layout, uint8_t* out);

}  // namespace usm_ipc
