// The process-wide owner of driver resources. A resource (allocation, mapping, descriptor) is closed exactly once, when
// its last claim ends. One lock covers look-up, open and close: an open can never meet a close half way.
//
// A claim belongs to the environment (a main thread, a worker) that took it, and only that environment's thread uses or
// ends it, so memory under a claim of one's own can be touched without the lock. Two exceptions: a view's claim belongs
// to nobody and ends with the buffer's finalizer, on whatever thread that runs; and end_environment() ends what a dying
// environment left.
//
// In a process that fork() made (without exec) everything throws Failure{state, "forked"} and nothing is closed: what
// the parent's drivers gave is not the child's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend.h"
#include "unique_fd.h"

namespace usm_ipc {

using ClaimId = uint64_t;        // from 1, never reused in a process, below 2^53
using EnvironmentId = uint64_t;  // from 1, never reused

enum class ClaimKind : uint8_t { allocation = 1, exported = 2, mapping = 3, view = 4, descriptor = 5, lease = 6, event = 7 };
enum class OpenPath : uint8_t { none = 0, mapped = 1, cached = 2, self = 3 };

struct ClaimInfo {
  ClaimKind kind;
  OpenPath path;     // not none: obtained by IPC; further claims have the path of the claim that they were made from
  Backend* backend;  // null for a descriptor
  const Memory* memory;
  AllocationId allocation;
  uint64_t resource_claims;
};

struct EventInfo {
  Events* events;
  const Event* event;
  OpenPath path;
};

struct ProcessBook {
  struct Entry {
    std::string kind;     // "allocation" | "mapping" | "descriptor" | "event"
    std::string backend;  // "" for a descriptor
    uint64_t nbytes;
    AllocationId allocation;
    uint64_t claims;
    uint64_t leases;  // of the claims: those that are importers' in other processes
  };
  std::vector<Entry> resources;
  uint64_t claims = 0;
  uint64_t leases = 0;
  uint64_t environments = 0;
};

class Registry {
 public:
  static Registry& instance();  // never destroyed: threads may outlive static destruction

  EnvironmentId begin_environment();
  // Ends every claim of the environment but its views.
  void end_environment(EnvironmentId env) noexcept;

  ClaimId allocate(EnvironmentId env, Backend& backend, const AllocateRequest& request, AllocationId id);
  // Memory of another library, which stays its own.
  ClaimId adopt(EnvironmentId env, Backend& backend, uint32_t device, void* pointer, uint64_t nbytes, AllocationId id);
  // By allocation id: an allocation of this process (self), a live mapping (cached), or the driver (mapped). A live
  // resource of that id whose vendor handle, size, device or backend is not the request's is refused, not served.
  ClaimId open(EnvironmentId env, Backend& backend, const OpenRequest& request);
  // The backend's calls on memory of this process. put() is for a get() whose handle no exported claim was taken for: the
  // end of such a claim gives the handle back by itself. Memory that was opened by IPC is refused: Failure{state, "ipc-memory"}.
  // get() waits for the device first where `synchronize` says so.
  ExportedHandle get(EnvironmentId env, ClaimId claim, uint64_t offset, uint8_t* out, bool synchronize);
  void put(EnvironmentId env, ClaimId claim);
  UniqueFd memory_descriptor(EnvironmentId env, ClaimId claim);
  ClaimId adopt_descriptor(EnvironmentId env, UniqueFd fd);

  // Events. Throws Failure{state, "no-events"} where the backend has none.
  ClaimId create_event(EnvironmentId env, Backend& backend, uint32_t device, AllocationId id);
  // By id, as open(): one of this process, one that is open already, or the driver's.
  ClaimId open_event(EnvironmentId env, Backend& backend, uint32_t device, const uint8_t* handle, size_t size,
                     AllocationId id);
  // Good for as long as the claim is.
  EventInfo event(EnvironmentId env, ClaimId claim);

  // A further claim on the same resource; ClaimKind::view makes one that belongs to no environment.
  ClaimId claim(EnvironmentId env, ClaimId of, ClaimKind kind);
  // True when it was live and this environment's; the last claim closes the resource.
  bool end(EnvironmentId env, ClaimId claim) noexcept;
  // For finalizers, on any thread: ends the claim if it is live and notes it for drain_ended() of the environment that
  // took it, if that still lives. Allocates nothing.
  void finalize(ClaimId claim) noexcept;
  std::vector<ClaimId> drain_ended(EnvironmentId env);
  // For a view whose buffer could not be made: no finalizer will end its claim.
  void cancel_view(EnvironmentId env, ClaimId view) noexcept;

  // Throws Failure{state, "unknown-claim"} for a claim that is not live or not this environment's. The pointers in it
  // are good for as long as the claim is.
  ClaimInfo info(EnvironmentId env, ClaimId claim);
  int descriptor(EnvironmentId env, ClaimId claim);
  // Whether a resource owns this descriptor number.
  bool owns_descriptor(int fd);

  ProcessBook book();

  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

 private:
  Registry() = default;
  struct State;
  // Throws Failure{state, "forked"} in a forked child.
  State& state();
  // Null in a forked child.
  State* state_or_null() noexcept;
};

}  // namespace usm_ipc
