// What is inside the registry: resources, claims, and the books that find them. Only registry.cc includes this, and
// touches State under its mutex alone.
#pragma once

#include <list>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "failure.h"
#include "fault.h"
#include "registry.h"

namespace usm_ipc {

enum class ResourceKind : uint8_t { allocation, mapping, descriptor, event };

// Owns what a driver gave: the destructor is the one place that gives it back.
struct Resource {
  explicit Resource(ResourceKind kind, Backend* backend) : kind(kind), backend(backend) {}
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  ~Resource() {
    if (!driver_owned) return;
    if (kind == ResourceKind::allocation) backend->free(memory);
    if (kind == ResourceKind::mapping) backend->close(memory);
    if (kind == ResourceKind::event) backend->events()->destroy(event);
  }

  bool is_memory() const { return kind == ResourceKind::allocation || kind == ResourceKind::mapping; }

  const ResourceKind kind;
  Backend* const backend;  // null for a descriptor, which memory.fd closes
  Memory memory;
  Event event;
  bool event_is_own = true;
  std::vector<uint8_t> event_handle;  // by which it is known in other processes
  bool driver_owned = false;
  AllocationId allocation;
  uint64_t allocation_nbytes = 0;  // what a handle for this memory says; a driver may round its extent up
  uint64_t claims = 0;
  Resource* keeps = nullptr;  // the allocation of ours that this one was adopted from, under a claim of this one's
  std::list<Resource>::iterator position;
};

struct Claim {
  ClaimId id;
  EnvironmentId env;
  ClaimKind kind;
  OpenPath path;
  Resource* resource;  // null: a finalizer has ended it, and drain_ended() has not told yet
};
using Claims = std::list<Claim>;

struct Environment {
  Claims live;   // without views
  Claims ended;  // by finalizers
};

// Ids come from other processes: a hash that they can predict lets them aim for one bucket.
struct AllocationIdHash {
  uint64_t seed = random_seed();
  size_t operator()(const AllocationId& id) const {
    uint64_t x = (id.random ^ seed) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 29) ^ id.counter ^ (seed << 17 | seed >> 47)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
  }
  static uint64_t random_seed() {
    std::random_device source;
    return uint64_t{source()} << 32 | source();
  }
};

inline bool is_some(const AllocationId& id) { return !(id == AllocationId{}); }

struct Registry::State {
  std::mutex mutex;
  ClaimId last_claim = 0;
  EnvironmentId last_environment = 0;
  std::list<Resource> resources;
  // An id says whose memory a handle claims to be; anybody can write one. So mappings of one id that name different
  // memory stand side by side: who came first with an id does not decide what the others get.
  std::unordered_multimap<AllocationId, Resource*, AllocationIdHash> by_allocation;
  std::unordered_map<ClaimId, Claims::iterator> claims;
  std::unordered_map<EnvironmentId, Environment> environments;
  Claims views;
  std::vector<bool> descriptors;  // by number: owned by a resource

  Environment& environment(EnvironmentId env) {
    const auto found = environments.find(env);
    if (found == environments.end()) {
      throw Failure(FailureKind::state, "environment-ended", "this thread's JavaScript environment has ended");
    }
    return found->second;
  }

  static bool is_own(const Claim& claim, EnvironmentId env) {
    return claim.env == env && claim.kind != ClaimKind::view && claim.resource != nullptr;
  }

  Claim& own(EnvironmentId env, ClaimId claim) {
    const auto found = claims.find(claim);
    if (found == claims.end() || !is_own(*found->second, env)) {
      throw Failure(FailureKind::state, "unknown-claim",
                    "claim " + std::to_string(claim) + " has ended, was never taken, or is another thread's");
    }
    return *found->second;
  }

  // Also by a view, which its finalizer may end on another thread: under the lock it is there or not.
  const Claim& held(EnvironmentId env, ClaimId claim) {
    const auto found = claims.find(claim);
    if (found == claims.end() || found->second->env != env || found->second->resource == nullptr) return own(env, claim);
    return *found->second;
  }

  // Throws where the address is in a mapping that open() made.
  void refuse_imported(const void* pointer) const {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    for (const Resource& resource : resources) {
      const auto base = reinterpret_cast<uintptr_t>(resource.memory.base);
      if (resource.kind != ResourceKind::mapping || address < base || address - base >= resource.memory.nbytes) continue;
      throw Failure(FailureKind::state, "ipc-memory",
                    "the pointer is in memory that was opened from a handle; it is not exported again: pass the "
                    "exporter's handle and descriptor on");
    }
  }

  // Memory of this process under a claim of this environment's.
  Resource& exportable(EnvironmentId env, ClaimId claim) {
    const Claim& source = own(env, claim);
    Resource& resource = *source.resource;
    if (!resource.is_memory()) {
      throw Failure(FailureKind::argument, "not-memory", "claim " + std::to_string(claim) + " is not on memory");
    }
    if (source.path != OpenPath::none) {
      throw Failure(FailureKind::state, "ipc-memory",
                    "memory that was opened from a handle is not exported again; pass the exporter's handle and "
                    "descriptor on");
    }
    return resource;
  }

  ClaimId take(EnvironmentId env, Resource& resource, ClaimKind kind, OpenPath path) {
    Environment& taker = environment(env);
    fault_point("claim.register");
    const ClaimId id = ++last_claim;
    Claims fresh;
    fresh.push_back({id, env, kind, path, &resource});
    claims.emplace(id, fresh.begin());
    Claims& home = kind == ClaimKind::view ? views : taker.live;
    home.splice(home.end(), fresh);
    ++resource.claims;
    return id;
  }

  // Takes the one resource of `fresh` in with its first claim; leaves it there, to be closed, when that fails.
  ClaimId admit(EnvironmentId env, std::list<Resource>& fresh, ClaimKind kind, OpenPath path) {
    Resource& resource = fresh.front();
    const int fd = resource.memory.fd.get();
    if (fd >= 0) reserve_descriptor(resource.memory.fd);
    const bool indexed = is_some(resource.allocation);
    if (indexed && resource.kind == ResourceKind::allocation && allocation_of(resource.allocation) != nullptr) {
      throw Failure(FailureKind::state, "allocation-id-in-use", "a live allocation has this allocation id");
    }
    if (indexed) by_allocation.emplace(resource.allocation, &resource);
    ClaimId claim;
    try {
      claim = take(env, resource, kind, path);
    } catch (...) {
      if (indexed) forget(resource);
      throw;
    }
    if (fd >= 0) descriptors[fd] = true;
    resource.position = fresh.begin();
    resources.splice(resources.end(), fresh);
    return claim;
  }

  // Two owners of one number would close it twice, the second time perhaps as another file.
  void reserve_descriptor(UniqueFd& fd) {
    const auto number = static_cast<size_t>(fd.get());
    if (number >= descriptors.size()) descriptors.resize(number + 1);
    if (!descriptors[number]) return;
    fd.release();
    throw Failure(FailureKind::state, "descriptor-owned",
                  "descriptor " + std::to_string(number) + " has an owner here already; adopt a duplicate of it");
  }

  Resource* allocation_of(const AllocationId& id) {
    const auto range = by_allocation.equal_range(id);
    for (auto entry = range.first; entry != range.second; ++entry) {
      if (entry->second->kind == ResourceKind::allocation) return entry->second;
    }
    return nullptr;
  }

  void forget(const Resource& resource) noexcept {
    const auto range = by_allocation.equal_range(resource.allocation);
    for (auto entry = range.first; entry != range.second; ++entry) {
      if (entry->second != &resource) continue;
      by_allocation.erase(entry);
      return;
    }
  }

  // Driver resources are closed here, under the lock. Descriptors of others go to `dead`, to be closed without it: a
  // peer may have sent one whose file system answers a close when it likes.
  void release(Resource& resource, std::list<Resource>& dead) noexcept {
    if (--resource.claims > 0) return;
    Resource* const kept = resource.keeps;
    if (is_some(resource.allocation)) forget(resource);
    if (resource.memory.fd) descriptors[resource.memory.fd.get()] = false;
    if (resource.kind == ResourceKind::descriptor) {
      dead.splice(dead.end(), resources, resource.position);
    } else {
      resources.erase(resource.position);
    }
    if (kept != nullptr) release(*kept, dead);
  }

  // An export's claim has a handle of the driver's, which goes back with it.
  static void give_back(const Claim& claim) noexcept {
    Resource& resource = *claim.resource;
    if (claim.kind == ClaimKind::exported && resource.driver_owned) resource.backend->put(resource.memory);
  }

  // The allocation of ours that the address is in.
  Resource* allocation_at(const Backend& backend, const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    for (Resource& resource : resources) {
      if (resource.kind != ResourceKind::allocation || resource.backend != &backend || resource.memory.adopted) continue;
      const auto base = reinterpret_cast<uintptr_t>(resource.memory.base);
      if (address >= base && address - base < resource.memory.nbytes) return &resource;
    }
    return nullptr;
  }

  // Ends a claim and forgets it.
  void drop(std::unordered_map<ClaimId, Claims::iterator>::iterator found, std::list<Resource>& dead) noexcept {
    const Claims::iterator claim = found->second;
    Resource& resource = *claim->resource;
    give_back(*claim);
    (claim->kind == ClaimKind::view ? views : environments.find(claim->env)->second.live).erase(claim);
    claims.erase(found);
    release(resource, dead);
  }
};

}  // namespace usm_ipc
