#include "backends/cuda_devices.h"

#include <atomic>
#include <cstring>
#include <string>

namespace usm_ipc {
namespace {

DeviceInfo info_of(cu::Device device) {
  DeviceInfo info{};
  char name[256] = "";
  USM_IPC_CUDA(cuDeviceGetName, name, sizeof name, device);
  cu::Uuid uuid{};
  USM_IPC_CUDA(cuDeviceGetUuid_v2, &uuid, device);
  size_t memory = 0;
  USM_IPC_CUDA(cuDeviceTotalMem_v2, &memory, device);
  info.name = name;
  info.type = "gpu";
  std::memcpy(info.uuid, uuid.bytes, sizeof info.uuid);
  info.memory = memory;
  info.software = cuda().software;
  return info;
}

CudaDevices enumerate() {
  int count = 0;
  USM_IPC_CUDA(cuDeviceGetCount, &count);
  if (count == 0) {
    require_cuda("cuDeviceGetCount", cu::kNoDevice);
  }
  CudaDevices devices;
  for (int i = 0; i < count; i++) {
    auto device = std::make_unique<CudaDevice>();
    USM_IPC_CUDA(cuDeviceGet, &device->device, i);
    device->info = info_of(device->device);
    devices.push_back(std::move(device));
  }
  return devices;
}

struct Found {
  std::mutex mutex;
  std::atomic<const CudaDevices*> devices{nullptr};
};

}  // namespace

cu::Context CudaDevice::context() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (context_ == nullptr) USM_IPC_CUDA(cuDevicePrimaryCtxRetain, &context_, device);
  return context_;
}

uint64_t CudaDevice::context_id() noexcept {
  unsigned long long id = 0;
  const auto get = cuda().cuCtxGetId;
  return get != nullptr && context_ != nullptr && get(context_, &id) == cu::kSuccess ? id : 0;
}

void CudaDevice::require_context(uint64_t id) {
  if (is_gone(id) && context_id() != 0) require_cuda("cuCtxGetId", cu::kContextIsDestroyed);
}

bool CudaDevice::has(cu::DeviceAttribute attribute) const {
  int value = 0;
  USM_IPC_CUDA(cuDeviceGetAttribute, &value, attribute, device);
  return value != 0;
}

const CudaDevices& cuda_devices() {
  static auto* const found = new Found;  // never destroyed: threads may outlive static destruction
  if (const CudaDevices* const devices = found->devices.load(std::memory_order_acquire)) return *devices;
  std::lock_guard<std::mutex> lock(found->mutex);
  if (found->devices.load() == nullptr) found->devices.store(new CudaDevices(enumerate()), std::memory_order_release);
  return *found->devices.load();
}

CudaDevice& cuda_device(uint32_t index) {
  const CudaDevices& devices = cuda_devices();
  if (index < devices.size()) return *devices[index];
  throw Failure(FailureKind::argument, "no-such-device", "there is no CUDA device " + std::to_string(index));
}

CudaScope::CudaScope(CudaDevice& device) {
  const cu::Context wanted = device.context();
  cu::Context current = nullptr;
  USM_IPC_CUDA(cuCtxGetCurrent, &current);
  if (current == wanted) return;
  USM_IPC_CUDA(cuCtxPushCurrent_v2, wanted);
  pushed_ = true;
}

CudaScope::CudaScope(const Memory& memory) : CudaScope(memory.device) {
  CudaDevice& device = cuda_device(memory.device);
  device.require_context(memory.token);
  // The host's access is no call, and would fault.
  if (memory.host_addressable && device.is_gone(memory.token)) require_cuda("cuCtxGetId", cu::kContextIsDestroyed);
}

CudaScope::CudaScope(uint32_t index, std::nothrow_t) noexcept {
  try {
    const cu::Context wanted = cuda_device(index).context();
    cu::Context current = nullptr;
    if (cuda().cuCtxGetCurrent(&current) == cu::kSuccess && current == wanted) return;
    // Once more: what is not given back now never is.
    pushed_ = cuda().cuCtxPushCurrent_v2(wanted) == cu::kSuccess || cuda().cuCtxPushCurrent_v2(wanted) == cu::kSuccess;
  } catch (const Failure&) {
  }
}

CudaScope::~CudaScope() {
  cu::Context popped = nullptr;
  if (pushed_) cuda().cuCtxPopCurrent_v2(&popped);
}

}  // namespace usm_ipc
