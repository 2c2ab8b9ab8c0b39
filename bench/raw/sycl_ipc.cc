// The bare SYCL runtime: what bench/ipc.ts measures our sycl backend against.
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>
#include <sycl/platform.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include "ipc_party.h"

namespace ipc = sycl::ext::oneapi::experimental::ipc;

struct Sycl {
  sycl::device device;
  sycl::context context = device.get_platform().khr_get_default_context();
  sycl::queue queue{context, device};
  std::vector<ipc::handle> handles;

  void* alloc(size_t nbytes) {
    void* const p = sycl::malloc_device(nbytes, queue);
    queue.memset(p, 1, nbytes).wait();
    return p;
  }
  void free(void* p) { sycl::free(p, queue); }
  Bytes get(void* p) {
    handles.push_back(ipc::memory::get(p, context));
    const auto data = handles.back().data();
    const auto* const first = reinterpret_cast<const uint8_t*>(data.data());
    return Bytes(first, first + data.size());
  }
  void put() {
    ipc::memory::put(handles.back(), context);
    handles.pop_back();
  }
  void* open(const Bytes& handle) {
    const auto* const first = reinterpret_cast<const std::byte*>(handle.data());
    void* const p = ipc::memory::open(ipc::handle_data_t(first, first + handle.size()), context, device);
    if (p == nullptr) throw std::runtime_error("open gave no address");
    return p;
  }
  void close(void* p) { ipc::memory::close(p, context); }
  void read(void* to, void* from, size_t nbytes) { queue.memcpy(to, from, nbytes).wait(); }
};

int main() {
  Sycl sycl;
  return serve(sycl);
}
