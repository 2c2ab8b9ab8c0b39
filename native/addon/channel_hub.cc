#include "addon/channel_hub.h"

#include <mutex>
#include <unordered_set>

#include "addon/convert.h"

namespace usm_ipc {
namespace {

const char* name_of(PeerExit how) {
  switch (how) {
    case PeerExit::exited: return "exited";
    case PeerExit::closed: return "closed";
    case PeerExit::unavailable: return "unavailable";
  }
  return "";
}

// Finalizers run on the thread that they please.
struct LivePorts {
  std::mutex mutex;
  std::unordered_set<const void*> objects;
  static LivePorts& instance() {
    static auto* const ports = new LivePorts;
    return *ports;
  }
};

}  // namespace

const napi_type_tag kPortTag = {0x9b1d5f0c6e2a4b77, 0xa3c8e4d2f1b09655};

PortObject::PortObject(HubRef hub, PortRef port, const Credentials& peer)
    : hub(std::move(hub)), port(std::move(port)), peer(peer) {
  LivePorts& live = LivePorts::instance();
  const std::lock_guard<std::mutex> lock(live.mutex);
  live.objects.insert(this);
}

PortObject::~PortObject() {
  {
    LivePorts& live = LivePorts::instance();
    const std::lock_guard<std::mutex> lock(live.mutex);
    live.objects.erase(this);
  }
  hub->forget(*this);
  hub->loop().close(port);
}

bool PortObject::is_live(const void* object) {
  LivePorts& live = LivePorts::instance();
  const std::lock_guard<std::mutex> lock(live.mutex);
  return live.objects.count(object) == 1;
}

ChannelHub::ChannelHub(napi_env env, EnvironmentId env_id)
    : env_(env), env_id_(env_id), loop_([this] { wake(); }, [this](int fd) { return poll(fd); }) {}

// The order matters: hooks run last in, first out, and a runtime frees a thread-safe function in a hook of its own. The
// thread that calls the function has to be joined before that.
void ChannelHub::start() {
  if (dead_) throw Failure(FailureKind::state, "closed", "channels have been shut down");
  if (waker_ != nullptr) return;
  auto keeper = std::make_unique<HubRef>(shared_from_this());
  auto hook = std::make_unique<HubRef>(shared_from_this());
  const HandleScope scope(env_);
  napi_value name;
  require_ok(napi_create_string_utf8(env_, "usm-ipc channel", NAPI_AUTO_LENGTH, &name), "napi_create_string_utf8");
  const auto drop = [](napi_env, void* data, void*) { delete static_cast<HubRef*>(data); };
  require_ok(
      napi_create_threadsafe_function(env_, nullptr, nullptr, name, 0, 1, keeper.get(), drop, this, on_wake, &waker_),
      "napi_create_threadsafe_function");
  keeper.release();
  require_ok(napi_unref_threadsafe_function(env_, waker_), "napi_unref_threadsafe_function");
  require_ok(napi_add_env_cleanup_hook(env_, on_environment_end, hook.get()), "napi_add_env_cleanup_hook");
  hook.release();
}

void ChannelHub::on_environment_end(void* data) {
  const std::unique_ptr<HubRef> owned(static_cast<HubRef*>(data));
  const HubRef& hub = *owned;
  hub->dead_ = true;
  hub->shutdown();
  hub->loop_.discard_completions();
  hub->pending_.clear();
  hub->channel_class_.reset();
  hub->listener_class_.reset();
  napi_release_threadsafe_function(hub->waker_, napi_tsfn_abort);
}

void ChannelHub::shutdown() {
  if (poll_ != nullptr) std::exchange(poll_, nullptr)->stop();
  loop_.shutdown();
}

bool ChannelHub::poll(int descriptor) {
  if (polls_) poll_ = LoopPoll::start(env_, descriptor, [this] { turn(); });
  return poll_ != nullptr;
}

void ChannelHub::turn() {
  const int milliseconds = loop_.turn();
  try {
    drain();
  } catch (const Failure&) {
    // No handle scope: JavaScript may not run any more.
  }
  if (poll_ != nullptr) poll_->set_timer(milliseconds);
}

void ChannelHub::wake() {
  if (!dead_) napi_call_threadsafe_function(waker_, nullptr, napi_tsfn_nonblocking);
}

void ChannelHub::on_wake(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;  // the environment is ending
  try {
    static_cast<ChannelHub*>(context)->drain();
  } catch (const Failure&) {
    // No handle scope: JavaScript may not run any more.
  }
}

void ChannelHub::drain() {
  while (!dead_) {
    const HandleScope scope(env_);
    std::optional<Completion> completion = loop_.take();
    if (!completion) return;
    deliver(std::move(*completion));
  }
}

void ChannelHub::deliver(Completion completion) {
  const auto found = pending_.find(completion.request);
  if (found == pending_.end()) return;
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  napi_value arguments[2] = {nullptr, nullptr};
  napi_get_null(env_, &arguments[0]);
  napi_get_undefined(env_, &arguments[1]);
  const napi_value undefined = arguments[1];
  try {
    if (completion.outcome.failure) throw *completion.outcome.failure;
    arguments[1] = value_of(pending.delivery, completion.outcome);
  } catch (...) {
    arguments[0] = error_value(env_, current_failure());
    // JavaScript will not close what it does not get.
    if (pending.delivery == Delivery::frame)
      loop_.release(pending.owner->port, completion.outcome.frame.descriptors.size());
  }
  try {
    const bool can_call = arguments[0] != nullptr && arguments[1] != nullptr;
    if (can_call) napi_call_function(env_, undefined, pending.done.value(), 2, arguments, nullptr);
  } catch (const Failure&) {
    // The environment is being terminated.
  }
  // Some runtimes end the process when an exception of a callback gets out of a thread-safe function.
  napi_value ignored;
  napi_get_and_clear_last_exception(env_, &ignored);
  ended(pending.owner);
}

napi_value ChannelHub::value_of(Delivery delivery, Outcome& outcome) {
  if (delivery == Delivery::frame) return frame_to_js(env_, env_id_, outcome.frame);
  if (delivery == Delivery::channel) return make_channel(std::move(outcome.socket));
  napi_value value;
  if (delivery == Delivery::exit) {
    require_ok(napi_create_string_utf8(env_, name_of(outcome.exit), NAPI_AUTO_LENGTH, &value),
               "napi_create_string_utf8");
  } else {
    require_ok(napi_get_undefined(env_, &value), "napi_get_undefined");
  }
  return value;
}

napi_value ChannelHub::take_frame(PortObject& owner, Frame& frame) {
  try {
    return frame_to_js(env_, env_id_, frame);
  } catch (...) {
    loop_.release(owner.port, frame.descriptors.size());  // JavaScript will not close what it does not get
    throw;
  }
}

bool ChannelHub::cancel(RequestId id) {
  if (!loop_.cancel(id)) return false;
  const auto found = pending_.find(id);
  PortObject* const owner = found->second.owner;
  pending_.erase(found);
  ended(owner);
  return true;
}

void ChannelHub::keep_alive(PortObject& owner, bool keeps_alive) {
  if (owner.keeps_alive == keeps_alive) return;
  owner.keeps_alive = keeps_alive;
  const auto pending = static_cast<ptrdiff_t>(owner.pending);
  count(keeps_alive ? pending : -pending);
}

void ChannelHub::forget(PortObject& owner) {
  for (auto entry = pending_.begin(); owner.pending > 0 && entry != pending_.end();) {
    if (entry->second.owner != &owner) {
      ++entry;
      continue;
    }
    entry = pending_.erase(entry);
    --owner.pending;
    if (owner.keeps_alive) count(-1);
  }
}

void ChannelHub::begun(PortObject* owner) {
  if (owner != nullptr && owner->pending++ == 0) owner->self.ref();
  if (owner == nullptr || owner->keeps_alive) count(1);
}

void ChannelHub::ended(PortObject* owner) {
  if (owner == nullptr || owner->keeps_alive) count(-1);
  if (owner != nullptr && --owner->pending == 0) owner->self.unref();
}

void ChannelHub::count(ptrdiff_t change) {
  const bool was_alive = alive_ > 0;
  alive_ += change;
  const bool is_alive = alive_ > 0;
  if (was_alive == is_alive || dead_) return;
  if (is_alive) {
    napi_ref_threadsafe_function(env_, waker_);
  } else {
    napi_unref_threadsafe_function(env_, waker_);
  }
}

void ChannelHub::set_classes(JsReference channel, JsReference listener) {
  channel_class_ = std::move(channel);
  listener_class_ = std::move(listener);
}

napi_value ChannelHub::make_channel(UniqueFd&& socket) {
  const Credentials peer = peer_credentials(socket.get());
  return make(channel_class_, loop_.add_channel(std::move(socket)), peer);
}

napi_value ChannelHub::make_listener(UniqueFd&& socket, BoundName&& name) {
  return make(listener_class_, loop_.add_listener(std::move(socket), std::move(name)), {});
}

napi_value ChannelHub::make(const JsReference& constructor, PortRef port, const Credentials& peer) {
  auto native = std::make_unique<PortObject>(shared_from_this(), std::move(port), peer);
  const auto finalize = [](napi_env, void* data, void*) { delete static_cast<PortObject*>(data); };
  napi_value object;
  napi_ref self;
  require_ok(napi_new_instance(env_, constructor.value(), 0, nullptr, &object), "napi_new_instance");
  require_ok(napi_type_tag_object(env_, object, &kPortTag), "napi_type_tag_object");
  require_ok(napi_wrap(env_, object, native.get(), finalize, nullptr, &self), "napi_wrap");
  native->self = JsReference(env_, self);
  native.release();
  return object;
}

}  // namespace usm_ipc
