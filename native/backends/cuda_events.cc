#include "backends/cuda_events.h"

#include <cstring>
#include <memory>
#include <utility>

#include "backends/cuda_devices.h"

namespace usm_ipc {
namespace {

constexpr size_t kHandleSize = sizeof(cu::IpcEventHandle);

// Of a context that is gone no event is shown to the driver, which would crash.
struct Made {
  cu::Event event = nullptr;
  uint64_t context = 0;
};

Made& made(const Event& event) { return *static_cast<Made*>(event.event); }

cu::Event of(const Event& event) {
  cuda_device(event.device).require_context(made(event).context);
  return made(event).event;
}

cu::Stream stream_of(uint64_t stream) { return reinterpret_cast<cu::Stream>(stream); }

class CudaEvents final : public Events {
 public:
  Event create(uint32_t device) override {
    const CudaScope scope(device);
    auto event = std::make_unique<Made>();
    event->context = cuda_device(device).context_id();
    USM_IPC_CUDA(cuEventCreate, &event->event, cu::kEventInterprocess | cu::kEventDisableTiming);
    return {device, event.release()};
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
    auto event = std::make_unique<Made>();
    event->context = cuda_device(device).context_id();
    const cu::Result result = cuda().cuIpcOpenEventHandle(&event->event, handle);
    require_cuda("cuIpcOpenEventHandle", result,
                 result == cu::kInvalidContext ? "CUDA opens no event in the process that made it" : "");
    return {device, event.release()};
  }

  void destroy(Event& event) noexcept override {
    const CudaScope scope(event.device, std::nothrow);
    const std::unique_ptr<Made> last(static_cast<Made*>(std::exchange(event.event, nullptr)));
    if (!cuda_device(event.device).is_gone(last->context)) cuda().cuEventDestroy_v2(last->event);
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
