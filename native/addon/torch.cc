// What PyTorch processes shared, as far as it must be given back to them.
#include <string>

#include "addon/arguments.h"
#include "addon/methods.h"
#include "torch/shares.h"

namespace usm_ipc {
namespace {

static_assert(sizeof(void*) >= sizeof(ShareId));

// The net: of a memory that nobody closed, or whose environment has ended.
void finalize_share(napi_env, void* data, void*) { end_torch_share(reinterpret_cast<ShareId>(data)); }

std::string text_argument(const Call& call, size_t index, const char* what) {
  const Napi::Value value(call.env(), call.value(index));
  if (!value.IsString()) throw Failure(FailureKind::argument, "invalid-argument", std::string(what) + " must be a string");
  return value.As<Napi::String>().Utf8Value();
}

ShareId share_argument(const Call& call) { return call.integer(0, "share"); }

napi_value torch_take(Call& call) {
  Backend& backend = backend_argument(call, 0);
  const uint32_t device = call.integer(1, "device", UINT32_MAX);
  const ShareId share = take_torch_share(backend, device, text_argument(call, 2, "name"), call.integer(3, "index"));
  try {
    const napi_value number = call.number(share);
    call.check(napi_add_finalizer(call.env(), call.value(4), reinterpret_cast<void*>(share), finalize_share, nullptr, nullptr),
               "napi_add_finalizer");
    return number;
  } catch (...) {
    forget_torch_share(share);
    throw;
  }
}

napi_value torch_end(Call& call) { return call.number(static_cast<uint64_t>(end_torch_share(share_argument(call)))); }

napi_value torch_forget(Call& call) {
  forget_torch_share(share_argument(call));
  return nullptr;
}

}  // namespace

void add_torch(Methods& methods) {
  methods.push_back(method<torch_take>("torchTake"));
  methods.push_back(method<torch_end>("torchEnd"));
  methods.push_back(method<torch_forget>("torchForget"));
}

}  // namespace usm_ipc
