#include "registry.h"

#include <pthread.h>

#include <atomic>
#include <tuple>

#include "registry_state.h"

namespace usm_ipc {
namespace {

const char* kind_name(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::allocation: return "allocation";
    case ResourceKind::mapping: return "mapping";
    case ResourceKind::descriptor: return "descriptor";
    case ResourceKind::event: return "event";
  }
  return "";
}

std::atomic<bool> forked{false};

// The driver's success is not taken at its word: a null base or a smaller extent would fault at the first access.
void check_opened(Backend& backend, const Memory& memory, uint64_t allocation_nbytes) {
  const auto fail = [&](const char* reason, const std::string& message) {
    Failure failure(FailureKind::driver, reason, message);
    failure.backend = backend.name();
    failure.call = "open";
    failure.result = reason;
    throw failure;
  };
  if (memory.base == nullptr) fail("null-base", "the driver opened the handle without an error, but gave no address");
  fault_point("open.extent");
  const Extent extent = backend.extent(memory, memory.base);
  const auto start = reinterpret_cast<uintptr_t>(extent.base);
  const auto base = reinterpret_cast<uintptr_t>(memory.base);
  const bool contained =
      start <= base && base - start <= extent.nbytes && allocation_nbytes <= extent.nbytes - (base - start);
  if (!contained) {
    fail("extent-mismatch", "the driver opened " + std::to_string(extent.nbytes) + " bytes where the handle says " +
                                std::to_string(allocation_nbytes) + "; the handle does not describe this memory");
  }
}

}  // namespace

Registry& Registry::instance() {
  static Registry* const registry = [] {
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
    return new Registry;
  }();
  return *registry;
}

Registry::State* Registry::state_or_null() noexcept {
  static State* const state = new State;
  return forked.load(std::memory_order_relaxed) ? nullptr : state;
}

Registry::State& Registry::state() {
  if (State* const state = state_or_null()) return *state;
  throw Failure(FailureKind::state, "forked",
                "this process was forked after the addon had been used; start it with exec, or load the addon later");
}

EnvironmentId Registry::begin_environment() {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  const EnvironmentId env = ++all.last_environment;
  all.environments.emplace(std::piecewise_construct, std::forward_as_tuple(env), std::forward_as_tuple());
  return env;
}

void Registry::end_environment(EnvironmentId env) noexcept {
  State* const all = state_or_null();
  if (all == nullptr) return;
  std::list<Resource> dead;
  std::lock_guard<std::mutex> lock(all->mutex);
  const auto found = all->environments.find(env);
  if (found == all->environments.end()) return;
  Environment& ending = found->second;
  for (; !ending.live.empty(); ending.live.pop_back()) {
    Claim& claim = ending.live.back();
    State::give_back(claim);
    all->claims.erase(claim.id);
    all->release(*claim.resource, dead);
  }
  for (Claim& claim : ending.ended) all->claims.erase(claim.id);
  all->environments.erase(found);
}

ClaimId Registry::allocate(EnvironmentId env, Backend& backend, const AllocateRequest& request, AllocationId id) {
  State& all = state();
  std::list<Resource> fresh;
  Resource& resource = fresh.emplace_back(ResourceKind::allocation, &backend);
  resource.allocation = id;
  // Not under the lock: nobody can look it up yet, and a large allocation takes its time.
  resource.memory = backend.allocate(request);
  resource.driver_owned = true;
  resource.allocation_nbytes = resource.memory.nbytes;
  fault_point("allocate.register");
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.admit(env, fresh, ClaimKind::allocation, OpenPath::none);
}

ClaimId Registry::adopt(EnvironmentId env, Backend& backend, uint32_t device, void* pointer, uint64_t nbytes,
                        AllocationId id) {
  State& all = state();
  std::list<Resource> fresh;
  Resource& resource = fresh.emplace_back(ResourceKind::allocation, &backend);
  resource.allocation = id;
  std::lock_guard<std::mutex> lock(all.mutex);
  all.refuse_imported(pointer);
  resource.memory = backend.adopt(device, pointer, nbytes);
  resource.driver_owned = true;
  resource.allocation_nbytes = resource.memory.nbytes;
  fault_point("allocate.register");
  Resource* const own = all.allocation_at(backend, pointer);
  if (own != nullptr && own->memory.base == resource.memory.base && backend.pads()) {
    resource.memory.nbytes = resource.allocation_nbytes = own->memory.nbytes;
    resource.memory.has_neighbours = false;
  }
  const ClaimId claim = all.admit(env, fresh, ClaimKind::allocation, OpenPath::none);
  if (own != nullptr) {
    ++own->claims;
    resource.keeps = own;
  }
  return claim;
}

ExportedHandle Registry::get(EnvironmentId env, ClaimId claim, uint64_t offset, uint8_t* out, bool synchronize) {
  State& all = state();
  std::unique_lock<std::mutex> lock(all.mutex);
  Resource& resource = all.exportable(env, claim);
  if (synchronize) {
    // The claim is this thread's, so the resource stays; others go on meanwhile.
    lock.unlock();
    resource.backend->synchronize(resource.memory);
    lock.lock();
  }
  fault_point("get.export");
  return resource.backend->get(resource.memory, offset, out);
}

void Registry::put(EnvironmentId env, ClaimId claim) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  Resource& resource = all.exportable(env, claim);
  resource.backend->put(resource.memory);
}

UniqueFd Registry::memory_descriptor(EnvironmentId env, ClaimId claim) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  Resource& resource = all.exportable(env, claim);
  return resource.backend->descriptor(resource.memory);
}

ClaimId Registry::open(EnvironmentId env, Backend& backend, const OpenRequest& request) {
  State& all = state();
  const AllocationId& id = request.id;
  std::lock_guard<std::mutex> lock(all.mutex);
  if (is_some(id)) {
    const auto range = all.by_allocation.equal_range(id);
    for (auto entry = range.first; entry != range.second; ++entry) {
      Resource& live = *entry->second;
      if (!live.is_memory()) continue;
      const bool own = live.kind == ResourceKind::allocation;
      // Its owner may free it: it is mapped, below, where the driver does that.
      if (own && live.memory.adopted && backend.opens_own(live.memory)) continue;
      if (live.backend == &backend && live.memory.device == request.device &&
          live.allocation_nbytes == request.allocation_nbytes && backend.names(request, live.memory)) {
        return all.take(env, live, ClaimKind::mapping, own ? OpenPath::self : OpenPath::cached);
      }
      if (own) {
        throw Failure(FailureKind::descriptor, "identity-mismatch",
                      "the handle has the allocation id of memory of this process, but names other memory, another "
                      "size or another device; it is forged or damaged");
      }
    }
  }
  OpenRequest opening = request;
  UniqueFd own_descriptor;
  Resource* const adopted = is_some(id) ? all.allocation_of(id) : nullptr;
  if (adopted != nullptr && request.descriptor < 0 && adopted->backend == &backend && backend.opens_own(adopted->memory)) {
    own_descriptor = backend.descriptor(adopted->memory);
    opening.descriptor = own_descriptor.get();
  }
  std::list<Resource> fresh;
  Resource& resource = fresh.emplace_back(ResourceKind::mapping, &backend);
  resource.allocation = id;
  resource.allocation_nbytes = request.allocation_nbytes;
  resource.memory = backend.open(opening);
  resource.driver_owned = true;
  check_opened(backend, resource.memory, request.allocation_nbytes);
  fault_point("open.register");
  return all.admit(env, fresh, ClaimKind::mapping, OpenPath::mapped);
}

ClaimId Registry::adopt_descriptor(EnvironmentId env, UniqueFd fd) {
  State& all = state();
  std::list<Resource> fresh;
  Resource& resource = fresh.emplace_back(ResourceKind::descriptor, nullptr);
  resource.memory.fd = std::move(fd);
  fault_point("descriptor.register");
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.admit(env, fresh, ClaimKind::descriptor, OpenPath::none);
}

ClaimId Registry::claim(EnvironmentId env, ClaimId of, ClaimKind kind) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  const Claim& source = kind == ClaimKind::mapping ? all.held(env, of) : all.own(env, of);
  if (source.resource->kind == ResourceKind::event) {
    throw Failure(FailureKind::argument, "not-memory", "claim " + std::to_string(of) + " is on an event");
  }
  return all.take(env, *source.resource, kind, source.path);
}

bool Registry::end(EnvironmentId env, ClaimId claim) noexcept {
  State* const all = state_or_null();
  if (all == nullptr) return false;
  std::list<Resource> dead;
  std::lock_guard<std::mutex> lock(all->mutex);
  const auto found = all->claims.find(claim);
  if (found == all->claims.end() || !State::is_own(*found->second, env)) return false;
  all->drop(found, dead);
  return true;
}

void Registry::finalize(ClaimId claim) noexcept {
  State* const all = state_or_null();
  if (all == nullptr) return;
  std::list<Resource> dead;
  std::lock_guard<std::mutex> lock(all->mutex);
  const auto found = all->claims.find(claim);
  if (found == all->claims.end() || found->second->resource == nullptr) return;
  const Claims::iterator ending = found->second;
  State::give_back(*ending);
  Resource& resource = *std::exchange(ending->resource, nullptr);
  const auto taker = all->environments.find(ending->env);
  const bool is_view = ending->kind == ClaimKind::view;
  if (taker == all->environments.end()) {  // a view that has outlived its environment
    all->claims.erase(found);
    all->views.erase(ending);
  } else {
    Environment& env = taker->second;
    env.ended.splice(env.ended.end(), is_view ? all->views : env.live, ending);
  }
  all->release(resource, dead);
}

void Registry::cancel_view(EnvironmentId env, ClaimId view) noexcept {
  State* const all = state_or_null();
  if (all == nullptr) return;
  std::list<Resource> dead;
  std::lock_guard<std::mutex> lock(all->mutex);
  const auto found = all->claims.find(view);
  if (found == all->claims.end()) return;
  const Claim& claim = *found->second;
  if (claim.env == env && claim.kind == ClaimKind::view && claim.resource != nullptr) all->drop(found, dead);
}

std::vector<ClaimId> Registry::drain_ended(EnvironmentId env) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  Claims& ended = all.environment(env).ended;
  std::vector<ClaimId> ids;
  ids.reserve(ended.size());
  for (const Claim& claim : ended) {
    ids.push_back(claim.id);
    all.claims.erase(claim.id);
  }
  ended.clear();
  return ids;
}

ClaimInfo Registry::info(EnvironmentId env, ClaimId claim) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  const Claim& own = all.own(env, claim);
  const Resource& resource = *own.resource;
  return {own.kind, own.path, resource.backend, &resource.memory, resource.allocation, resource.claims};
}

int Registry::descriptor(EnvironmentId env, ClaimId claim) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  const Resource& resource = *all.own(env, claim).resource;
  if (resource.kind != ResourceKind::descriptor) {
    throw Failure(FailureKind::argument, "not-a-descriptor",
                  "claim " + std::to_string(claim) + " is not a descriptor's");
  }
  return resource.memory.fd.get();
}

bool Registry::owns_descriptor(int fd) {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto number = static_cast<size_t>(fd);
  return number < all.descriptors.size() && all.descriptors[number];
}

ProcessBook Registry::book() {
  State& all = state();
  std::lock_guard<std::mutex> lock(all.mutex);
  ProcessBook book;
  book.environments = all.environments.size();
  std::unordered_map<const Resource*, uint64_t> leases;
  for (const auto& [id, claim] : all.claims) {
    if (claim->kind == ClaimKind::lease && claim->resource != nullptr) ++leases[claim->resource];
  }
  for (const Resource& resource : all.resources) {
    const char* backend = resource.backend == nullptr ? "" : resource.backend->name();
    const auto found = leases.find(&resource);
    const uint64_t held = found == leases.end() ? 0 : found->second;
    book.resources.push_back(
        {kind_name(resource.kind), backend, resource.memory.nbytes, resource.allocation, resource.claims, held});
    book.claims += resource.claims;
    book.leases += held;
  }
  return book;
}

}  // namespace usm_ipc
