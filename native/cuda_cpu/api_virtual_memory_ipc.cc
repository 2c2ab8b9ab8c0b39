// Physical memory between processes.
#include <cstring>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

CUDA_CALL(cuMemExportToShareableHandle, void* shareable, MemHandle handle, MemHandleType type, unsigned long long flags) {
  ENTER(cuMemExportToShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.physical.find(handle);
  if (shareable == nullptr || found == driver.physical.end() || type != kMemHandlePosixFd || flags != 0) return kInvalidValue;
  const Physical& physical = found->second;
  if ((physical.prop.requested_handle_types & kMemHandlePosixFd) == 0) return kNotSupported;
  const int number = driver.devices[physical.prop.location.id].number;
  const int fd = export_file(*physical.file, {kShareableMagic, 1, physical.nbytes, handle, number, physical.file->token, 0});
  if (fd < 0) return kUnknown;
  std::memcpy(shareable, &fd, sizeof fd);
  return kSuccess;
}

CUDA_CALL(cuMemImportFromShareableHandle, MemHandle* handle, void* shareable, MemHandleType type) {
  ENTER(cuMemImportFromShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (handle == nullptr || type != kMemHandlePosixFd) return kInvalidValue;
  Shareable about{};
  auto file = import_file(static_cast<int>(reinterpret_cast<intptr_t>(shareable)), about);
  if (file == nullptr) return kUnknown;
  if (about.kind != 1) return kNotSupported;
  const int device = driver.device_of_number(about.device);
  if (device < 0) return kInvalidDevice;
  Physical physical;
  physical.nbytes = about.nbytes;
  physical.prop.type = kMemAllocationPinned;
  physical.prop.location = {kMemLocationDevice, device};
  physical.imported = true;
  physical.file = std::move(file);
  *handle = ++driver.last_id;
  driver.physical[*handle] = std::move(physical);
  return kSuccess;
}
