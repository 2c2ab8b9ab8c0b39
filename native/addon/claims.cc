#include "addon/claims.h"

#include <string>

#include "addon/methods.h"
#include "fault.h"

namespace usm_ipc {
namespace {

void* to_pointer(ClaimId claim) { return reinterpret_cast<void*>(claim); }
ClaimId to_claim(void* pointer) { return reinterpret_cast<ClaimId>(pointer); }
static_assert(sizeof(void*) >= sizeof(ClaimId));

// May run after the environment's clean-up, or on another thread: the registry is all that it can touch.
void finalize_claim(napi_env, void* data, void*) { Registry::instance().finalize(to_claim(data)); }

ClaimKind further_kind(uint32_t number) {
  switch (static_cast<ClaimKind>(number)) {
    case ClaimKind::exported:
    case ClaimKind::mapping:
    case ClaimKind::descriptor:
    case ClaimKind::lease:
      return static_cast<ClaimKind>(number);
    default:
      throw Failure(FailureKind::argument, "invalid-argument",
                    "kind must be exported, mapping, descriptor or lease: allocate() and view() make the others");
  }
}

// A handle that was got for an export whose claim cannot be taken: the claim's end would have given it back.
void put_unclaimed(EnvironmentId env, ClaimId of) noexcept {
  try {
    Registry::instance().put(env, of);
  } catch (const Failure&) {
    // The claim is not this environment's, so there is no handle of its either.
  }
}

napi_value claim(Call& call) {
  const ClaimKind kind = further_kind(call.integer(1, "kind", 255));
  const EnvironmentId env = call.environment();
  const ClaimId of = call.integer(0, "of");
  Registry& registry = Registry::instance();
  ClaimId claim;
  try {
    claim = registry.claim(env, of, kind);
  } catch (...) {
    if (kind == ClaimKind::exported) put_unclaimed(env, of);
    throw;
  }
  return deliver(call, claim, 2, "claim.finalizer");
}

napi_value end(Call& call) {
  return call.boolean(Registry::instance().end(call.environment(), call.integer(0, "claim")));
}

// As the envelope spells it: 16 bytes, little-endian, in hexadecimal. Empty for none.
std::string hexadecimal(const AllocationId& id) {
  if (id == AllocationId{}) return "";
  const char* const digits = "0123456789abcdef";
  std::string text;
  for (const uint64_t part : {id.random, id.counter}) {
    for (unsigned byte = 0; byte < 8; byte++) {
      const auto value = static_cast<uint8_t>(part >> (8 * byte));
      text += {digits[value >> 4], digits[value & 15]};
    }
  }
  return text;
}

napi_value info(Call& call) {
  const ClaimInfo claim = Registry::instance().info(call.environment(), call.integer(0, "claim"));
  const Memory& memory = *claim.memory;
  const Napi::Env env(call.env());
  Napi::Object info = Napi::Object::New(env);
  info.Set("kind", static_cast<double>(claim.kind));
  info.Set("path", static_cast<double>(claim.path));
  info.Set("backend", claim.backend == nullptr ? "" : claim.backend->name());
  info.Set("base", Napi::BigInt::New(env, uint64_t{reinterpret_cast<uintptr_t>(memory.base)}));
  info.Set("nbytes", static_cast<double>(memory.nbytes));
  info.Set("usm", static_cast<double>(memory.usm));
  info.Set("device", static_cast<double>(memory.device));
  info.Set("readOnly", memory.read_only);
  info.Set("hostAddressable", memory.host_addressable);
  info.Set("hasNeighbours", memory.has_neighbours);
  info.Set("adopted", memory.adopted);
  info.Set("allocationId", hexadecimal(claim.allocation));
  info.Set("claims", static_cast<double>(claim.resource_claims));
  return info;
}

napi_value drain_ended(Call& call) {
  const std::vector<ClaimId> ended = Registry::instance().drain_ended(call.environment());
  Napi::Array result = Napi::Array::New(call.env(), ended.size());
  for (size_t i = 0; i < ended.size(); i++) result.Set(static_cast<uint32_t>(i), static_cast<double>(ended[i]));
  return result;
}

napi_value book(Call& call) {
  const ProcessBook book = Registry::instance().book();
  const Napi::Env env(call.env());
  Napi::Array resources = Napi::Array::New(env, book.resources.size());
  for (size_t i = 0; i < book.resources.size(); i++) {
    const Napi::HandleScope scope(env);
    const ProcessBook::Entry& entry = book.resources[i];
    Napi::Object resource = Napi::Object::New(env);
    resource.Set("kind", entry.kind);
    resource.Set("backend", entry.backend);
    resource.Set("nbytes", static_cast<double>(entry.nbytes));
    resource.Set("allocationId", hexadecimal(entry.allocation));
    resource.Set("claims", static_cast<double>(entry.claims));
    resource.Set("leases", static_cast<double>(entry.leases));
    resources.Set(static_cast<uint32_t>(i), resource);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("resources", resources);
  result.Set("claims", static_cast<double>(book.claims));
  result.Set("leases", static_cast<double>(book.leases));
  result.Set("environments", static_cast<double>(book.environments));
  return result;
}

}  // namespace

napi_value deliver(Call& call, ClaimId claim, size_t holder_index, const char* fault) {
  try {
    fault_point(fault);
    const napi_value number = call.number(claim);
    // The last step: once the finalizer is there, nothing may fail.
    const napi_value holder = call.value(holder_index);
    call.check(napi_add_finalizer(call.env(), holder, to_pointer(claim), finalize_claim, nullptr, nullptr),
               "napi_add_finalizer");
    return number;
  } catch (...) {
    Registry::instance().end(call.environment(), claim);
    throw;
  }
}

ClaimInfo memory_claim(const Call& call, size_t index, const char* what) {
  const ClaimInfo claim = Registry::instance().info(call.environment(), call.integer(index, what));
  if (claim.backend != nullptr && claim.kind != ClaimKind::event) return claim;
  throw Failure(FailureKind::argument, "not-memory", std::string(what) + " must be a claim on memory");
}

void add_claims(Methods& methods) {
  methods.push_back(method<claim>("claim"));
  methods.push_back(method<end>("end"));
  methods.push_back(method<info>("info"));
  methods.push_back(method<drain_ended>("drainEnded"));
  methods.push_back(method<book>("book"));
}

}  // namespace usm_ipc
