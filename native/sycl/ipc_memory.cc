#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>
#include <sycl/usm/usm_pointer_info.hpp>

#include "references.h"

using namespace usm_ipc::sycl_library;
namespace ipc = sycl::ext::oneapi::experimental::ipc;

// The runtime's handle, and the context that it is given back through.
struct usm_ipc_sycl_handle {
  ipc::handle handle;
  sycl::context context;
};

namespace {

constexpr char kGet[] = "sycl::ext::oneapi::experimental::ipc::memory::get";
constexpr char kPut[] = "sycl::ext::oneapi::experimental::ipc::memory::put";
constexpr char kOpen[] = "sycl::ext::oneapi::experimental::ipc::memory::open";
constexpr char kClose[] = "sycl::ext::oneapi::experimental::ipc::memory::close";

using Handle = std::unique_ptr<usm_ipc_sycl_handle>;

Handle get(void* pointer, const sycl::context& context) {
  auto handle = std::make_unique<usm_ipc_sycl_handle>(usm_ipc_sycl_handle{ipc::memory::get(pointer, context), context});
  // Asked of the span: data() copies, and crashes on the null pointer that a failed get may leave.
  const ipc::handle_data_view_t bytes = handle->handle.data_view();
  if (bytes.data() == nullptr || bytes.empty()) throw NullResult{"the runtime gave an empty handle without an error"};
  return handle;
}

// The runtime gives handles of host and shared USM too, which are not for other processes.
void require_device_memory(const void* pointer, const sycl::context& context) {
  if (sycl::get_pointer_type(pointer, context) != sycl::usm::alloc::device) {
    throw BadArgument{"the pointer is not USM device memory of that context"};
  }
}

void put(usm_ipc_sycl_handle& handle) { ipc::memory::put(handle.handle, handle.context); }

void* open(const char* data, size_t size, const sycl::context& context, const sycl::device& device) {
  const auto* bytes = reinterpret_cast<const std::byte*>(required(data, "the handle is null"));
  void* pointer = ipc::memory::open(ipc::handle_data_view_t(bytes, size), context, device);
  if (pointer == nullptr) throw NullResult{"the runtime gave a null pointer without an error"};
  return pointer;
}

struct FreeBytes {
  void operator()(char* bytes) const { std::free(bytes); }
};

// What DPCTLIPCMem_GetHandle() gave and nobody has given back.
struct Given {
  std::mutex mutex;
  std::unordered_map<char*, Handle> handles;
};
Given& given() {
  static auto* const all = new Given;  // never destroyed: threads may outlive static destruction
  return *all;
}

char* give(Handle handle) {
  const ipc::handle_data_view_t bytes = handle->handle.data_view();
  std::unique_ptr<char, FreeBytes> copy(static_cast<char*>(std::malloc(bytes.size())));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  const std::lock_guard lock(given().mutex);
  given().handles.emplace(copy.get(), std::move(handle));
  return copy.release();
}

Handle take_back(char* data) {
  const std::lock_guard lock(given().mutex);
  auto node = given().handles.extract(data);
  return node ? std::move(node.mapped()) : nullptr;
}

}  // namespace

extern "C" int usm_ipc_sycl_get(DPCTLSyclUSMRef pointer, const DPCTLSyclContextRef context,
                                usm_ipc_sycl_handle** handle, const char** data, size_t* size) {
  return guarded(kGet, [&] {
    required(handle, "handle is null");
    required(data, "data is null");
    required(size, "size is null");
    Handle got = get(pointer_of(pointer), context_of(context));
    const ipc::handle_data_view_t bytes = got->handle.data_view();
    *data = reinterpret_cast<const char*>(bytes.data());
    *size = bytes.size();
    *handle = got.release();
  });
}

extern "C" int usm_ipc_sycl_put(usm_ipc_sycl_handle* handle) {
  const Handle owner(handle);
  return guarded(kPut, [&] { put(*required(handle, "the handle is null")); });
}

extern "C" DPCTLSyclUSMRef usm_ipc_sycl_open(const char* data, size_t size, const DPCTLSyclContextRef context,
                                             const DPCTLSyclDeviceRef device) {
  return guarded(kOpen, DPCTLSyclUSMRef{nullptr},
                 [&] { return reference_to(open(data, size, context_of(context), device_of(device))); });
}

extern "C" int usm_ipc_sycl_close(DPCTLSyclUSMRef pointer, const DPCTLSyclContextRef context) {
  return guarded(kClose, [&] { ipc::memory::close(pointer_of(pointer), context_of(context)); });
}

extern "C" int DPCTLIPCMem_GetHandle(DPCTLSyclUSMRef Ptr, const DPCTLSyclContextRef CRef, char** DataOut,
                                     size_t* SizeOut) {
  return guarded(kGet, [&] {
    required(DataOut, "DataOut is null");
    required(SizeOut, "SizeOut is null");
    require_device_memory(pointer_of(Ptr), context_of(CRef));
    Handle handle = get(pointer_of(Ptr), context_of(CRef));
    const size_t size = handle->handle.data_view().size();
    *DataOut = give(std::move(handle));
    *SizeOut = size;
  });
}

extern "C" DPCTLSyclUSMRef DPCTLIPCMem_OpenHandle(const char* HandleData, size_t HandleDataSize,
                                                  const DPCTLSyclContextRef CRef, const DPCTLSyclDeviceRef DRef) {
  return usm_ipc_sycl_open(HandleData, HandleDataSize, CRef, DRef);
}

extern "C" void DPCTLIPCMem_CloseHandle(DPCTLSyclUSMRef MappedPtr, const DPCTLSyclContextRef CRef) {
  usm_ipc_sycl_close(MappedPtr, CRef);
}

extern "C" void DPCTLIPCMem_FreeHandleData(char* Data) {
  guarded(kPut, [&] {
    const Handle handle = take_back(Data);
    if (!handle) return;
    const std::unique_ptr<char, FreeBytes> bytes(Data);
    put(*handle);
  });
}
