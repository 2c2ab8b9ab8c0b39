#include "backends/cuda_events.h"

#include <cstring>

#include "backends/cuda_devices.h"

namespace usm_ipc {
namespace {

constexpr size_t kHandleSize = sizeof(cu::IpcEventHandle);

cu::Event of(const Event& event) { return static_cast<cu::Event>(event.event); }
cu::Stream stream_of(uint64_t stream) { return reinterpret_cast<cu::Stream>(stream); }

class CudaEvents final : public Events {
 public:
  Event create(uint32_t device) override {
    const CudaScope scope(device);
    cu::Event event = nullptr;
    USM_IPC_CUDA(cuEventCreate, &event, cu::kEventInterprocess | cu::kEventDisableTiming);
    return {device, event};
  }

  size_t get(const Event& event, uint8_t* out) override {
    const CudaScope scope(event.device);
    cu::IpcEventHandle handle;
    USM_IPC_CUDA(cuIpcGetEventHandle, &handle, of(event));
    std::memcpy(out, handle.reserved, kHandleSize);
    return kHandleSize;
  }

  Event open(uint32_t device, const uint8_t* bytes, size_t size) override {
    if (size != kHandleSize) {
      throw Failure(FailureKind::argument, "invalid-vendor-handle", "a CUDA event's handle has 64 bytes");
    }
    const CudaScope scope(device);
    cu::IpcEventHandle handle;
    std::memcpy(handle.reserved, bytes, kHandleSize);
    cu::Event event = nullptr;
    const cu::Result result = cuda().cuIpcOpenEventHandle(&event, handle);
    require_cuda("cuIpcOpenEventHandle", result,
                 result == cu::kInvalidContext ? "CUDA opens no event in the process that made it" : "");
    return {device, event};
  }

  void destroy(Event& event) noexcept override {
    const CudaScope scope(event.device, std::nothrow);
    cuda().cuEventDestroy_v2(of(event));
  }

  void record(const Event& event, uint64_t stream) override {
    const CudaScope scope(event.device);
    USM_IPC_CUDA(cuEventRecord, of(event), stream_of(stream));
  }

  bool query(const Event& event) override {
    const cu::Result result = cuda().cuEventQuery(of(event));
    if (result == cu::kNotReady) return false;
    require_cuda("cuEventQuery", result);
    return true;
  }

  void wait(const Event& event, uint64_t stream) override {
    const CudaScope scope(event.device);
    USM_IPC_CUDA(cuStreamWaitEvent, stream_of(stream), of(event), 0);
  }
};

}  // namespace

Events& cuda_events() {
  static CudaEvents* const events = new CudaEvents;  // never destroyed, as the registry is not
  return *events;
}

}  // namespace usm_ipc
