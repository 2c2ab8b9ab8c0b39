// The bytes in memory: copies in and out, whose ranges the backends check, and the view that copies nothing.
#include <string>

#include "addon/claims.h"
#include "addon/methods.h"
#include "backends/memory_range.h"
#include "fault.h"

namespace usm_ipc {
namespace {

void check_writable(const ClaimInfo& claim) {
  if (!is_read_only_import(claim)) return;
  throw Failure(FailureKind::state, "read-only", "this memory was shared read-only: only its exporter may write");
}

napi_value read(Call& call) {
  const ClaimInfo claim = memory_claim(call, 0, "claim");
  const uint64_t offset = call.integer(1, "offset");
  const Span target = call.bytes(2, "target");
  claim.backend->read(*claim.memory, offset, target.data, target.size);
  return nullptr;
}

napi_value write(Call& call) {
  const ClaimInfo claim = memory_claim(call, 0, "claim");
  const uint64_t offset = call.integer(1, "offset");
  const Span source = call.bytes(2, "source");
  check_writable(claim);
  claim.backend->write(*claim.memory, offset, source.data, source.size);
  return nullptr;
}

napi_value copy(Call& call) {
  const ClaimInfo to = memory_claim(call, 0, "to");
  const uint64_t to_offset = call.integer(1, "toOffset");
  const ClaimInfo from = memory_claim(call, 2, "from");
  const uint64_t from_offset = call.integer(3, "fromOffset");
  const uint64_t nbytes = call.integer(4, "nbytes");
  if (to.backend != from.backend) {
    throw Failure(FailureKind::argument, "different-backends",
                  "copy() works inside one backend; use copyTo() and copyFrom() between two");
  }
  check_writable(to);
  to.backend->copy(*to.memory, to_offset, *from.memory, from_offset, nbytes);
  return nullptr;
}

napi_value fill(Call& call) {
  const ClaimInfo claim = memory_claim(call, 0, "claim");
  const uint64_t offset = call.integer(1, "offset");
  const uint64_t nbytes = call.integer(2, "nbytes");
  const auto value = static_cast<uint8_t>(call.integer(3, "value", 255));
  check_writable(claim);
  claim.backend->fill(*claim.memory, offset, nbytes, value);
  return nullptr;
}

void finalize_view(napi_env, void*, void* hint) { Registry::instance().finalize(reinterpret_cast<ClaimId>(hint)); }

napi_value create_buffer(Call& call, void* data, uint64_t nbytes, ClaimId claim) {
  fault_point("view.buffer");
  napi_value buffer;
  const napi_status status = napi_create_external_arraybuffer(call.env(), data, nbytes, finalize_view,
                                                              reinterpret_cast<void*>(claim), &buffer);
  if (status == napi_ok) return buffer;
  throw Failure(FailureKind::state, "views-unsupported",
                "this runtime makes no ArrayBuffer over native memory (status " + std::to_string(status) +
                    "); use copyTo() and copyFrom()");
}

napi_value view(Call& call) {
  const ClaimInfo claim = memory_claim(call, 0, "claim");
  const uint64_t offset = call.integer(1, "offset");
  const uint64_t nbytes = call.integer(2, "nbytes");
  if (nbytes == 0) throw Failure(FailureKind::argument, "zero-size", "a view has 1 byte or more");
  uint8_t* const data = range_of_memory(*claim.memory, offset, nbytes);
  if (!claim.memory->host_addressable) {
    throw Failure(FailureKind::state, "not-host-addressable",
                  "the host cannot address this memory; use copyTo() and copyFrom()");
  }
  if (is_read_only_import(claim)) {
    throw Failure(FailureKind::state, "read-only",
                  "this memory was shared read-only, and a write through a view would be a SIGSEGV; use copyTo()");
  }
  const EnvironmentId env = call.environment();
  const ClaimId view = Registry::instance().claim(env, call.integer(0, "claim"), ClaimKind::view);
  Napi::Object result;
  napi_value buffer;
  try {
    result = Napi::Object::New(call.env());
    result.Set("claim", static_cast<double>(view));
    buffer = create_buffer(call, data, nbytes, view);
  } catch (...) {
    Registry::instance().cancel_view(env, view);
    throw;
  }
  // From here on the buffer's finalizer ends the claim, whatever happens.
  result.Set("buffer", buffer);
  return result;
}

}  // namespace

void add_bytes(Methods& methods) {
  methods.push_back(method<read>("read"));
  methods.push_back(method<write>("write"));
  methods.push_back(method<copy>("copy"));
  methods.push_back(method<fill>("fill"));
  methods.push_back(method<view>("view"));
}

}  // namespace usm_ipc
