#include <cstring>

#include "addon/channel_hub.h"
#include "fault.h"

namespace usm_ipc {
namespace {

static_assert(sizeof(void*) >= sizeof(ClaimId));

void end_claim(napi_env, void* data, void*) { Registry::instance().finalize(reinterpret_cast<ClaimId>(data)); }

napi_value bytes_to_js(napi_env env, const std::vector<uint8_t>& bytes) {
  void* data = nullptr;
  napi_value buffer;
  napi_value array;
  require_ok(napi_create_arraybuffer(env, bytes.size(), &data, &buffer), "napi_create_arraybuffer");
  std::memcpy(data, bytes.data(), bytes.size());
  require_ok(napi_create_typedarray(env, napi_uint8_array, bytes.size(), buffer, 0, &array), "napi_create_typedarray");
  return array;
}

napi_value descriptor_to_js(napi_env env, EnvironmentId env_id, UniqueFd fd) {
  Registry& registry = Registry::instance();
  const ClaimId claim = registry.adopt_descriptor(env_id, std::move(fd));
  try {
    fault_point("channel.holder");
    napi_value holder;
    napi_value number;
    require_ok(napi_create_object(env, &holder), "napi_create_object");
    require_ok(napi_create_int64(env, static_cast<int64_t>(claim), &number), "napi_create_int64");
    require_ok(napi_set_named_property(env, holder, "claim", number), "napi_set_named_property");
    // The last step: once the finalizer is there, nothing may fail.
    require_ok(napi_add_finalizer(env, holder, reinterpret_cast<void*>(claim), end_claim, nullptr, nullptr),
               "napi_add_finalizer");
    return holder;
  } catch (...) {
    registry.end(env_id, claim);
    throw;
  }
}

}  // namespace

// When this throws half way, the descriptors that have a holder end with it when it is collected.
napi_value frame_to_js(napi_env env, EnvironmentId env_id, Frame& frame) {
  napi_value object;
  napi_value descriptors;
  require_ok(napi_create_object(env, &object), "napi_create_object");
  require_ok(napi_set_named_property(env, object, "bytes", bytes_to_js(env, frame.bytes)), "napi_set_named_property");
  require_ok(napi_create_array_with_length(env, frame.descriptors.size(), &descriptors),
             "napi_create_array_with_length");
  for (size_t i = 0; i < frame.descriptors.size(); ++i) {
    const napi_value holder = descriptor_to_js(env, env_id, std::move(frame.descriptors[i]));
    require_ok(napi_set_element(env, descriptors, static_cast<uint32_t>(i), holder), "napi_set_element");
  }
  require_ok(napi_set_named_property(env, object, "descriptors", descriptors), "napi_set_named_property");
  return object;
}

}  // namespace usm_ipc
