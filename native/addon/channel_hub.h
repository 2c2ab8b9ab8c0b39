// The meeting point of one environment's loop and its JavaScript thread: who waits for which request, what is delivered
// when, and whether the event loop has to stay alive for it.
//
// Plain Node-API: a worker can be terminated between any two calls of it, and node-addon-api ends the process when it
// cannot make an error any more.
#pragma once

#include <node_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <unordered_map>

#include "addon/js_reference.h"
#include "addon/loop_poll.h"
#include "fd_channel/loop.h"
#include "registry.h"

namespace usm_ipc {

class ChannelHub;
using HubRef = std::shared_ptr<ChannelHub>;

// The native side of a channel or listener object, which cannot be collected while requests of its are pending. But an
// environment that ends may finalize it at any time (Deno does, and runs JavaScript after that).
struct PortObject {
  PortObject(HubRef hub, PortRef port, const Credentials& peer);
  ~PortObject();
  // Whether it has not been finalized.
  static bool is_live(const void* object);
  const HubRef hub;
  const PortRef port;
  const Credentials peer;
  JsReference self;  // weak while nothing is pending
  size_t pending = 0;
  bool keeps_alive = true;  // pending requests keep the event loop alive
};

// What a request's callback gets as its value.
enum class Delivery : uint8_t { nothing, frame, channel, exit };

class ChannelHub : public std::enable_shared_from_this<ChannelHub> {
 public:
  ChannelHub(napi_env env, EnvironmentId env_id);

  // Before the first socket is made: without the clean-up hook a dying worker would leave it open.
  void start();
  Loop& loop() { return loop_; }
  // The runtime's event loop may do the waiting. Before start().
  void poll_event_loop() { polls_ = true; }
  void shutdown();
  EnvironmentId env_id() const { return env_id_; }

  // `begin` asks the loop for the request; 0 where it is done already. `owner` is null for a request that belongs to no
  // object.
  template <typename Begin>
  RequestId request(JsReference done, Delivery delivery, PortObject* owner, Begin&& begin) {
    const RequestId id = begin();
    if (id == 0) return id;
    pending_.emplace(id, Pending{std::move(done), delivery, owner});
    begun(owner);
    return id;
  }
  bool cancel(RequestId id);
  // Of a frame that `owner` has received.
  napi_value take_frame(PortObject& owner, Frame& frame);
  void keep_alive(PortObject& owner, bool keeps_alive);
  // The object is gone: nobody gets what its requests come to.
  void forget(PortObject& owner);

  void set_classes(JsReference channel, JsReference listener);
  // Take what they are given only when they do not throw.
  napi_value make_channel(UniqueFd&& socket);
  napi_value make_listener(UniqueFd&& socket, BoundName&& name);

 private:
  struct Pending {
    JsReference done;
    Delivery delivery;
    PortObject* owner;
  };

  static void on_wake(napi_env env, napi_value, void* context, void*);
  static void on_environment_end(void* data);
  void wake();
  bool poll(int descriptor);
  void turn();
  void drain();
  void deliver(Completion completion);
  napi_value value_of(Delivery delivery, Outcome& outcome);
  napi_value make(const JsReference& constructor, PortRef port, const Credentials& peer);
  void begun(PortObject* owner);
  void ended(PortObject* owner);
  void count(ptrdiff_t change);

  const napi_env env_;
  const EnvironmentId env_id_;
  napi_threadsafe_function waker_ = nullptr;
  std::atomic<bool> dead_{false};
  bool polls_ = false;
  LoopPoll* poll_ = nullptr;  // its own, until the environment ends
  std::unordered_map<RequestId, Pending> pending_;
  size_t alive_ = 0;  // pending requests that keep the event loop alive
  JsReference channel_class_;
  JsReference listener_class_;
  Loop loop_;  // last: its thread calls wake()
};

// Marks the objects that make_... gives.
extern const napi_type_tag kPortTag;

// A frame for JavaScript: {bytes, descriptors: {claim}[]}. Each descriptor object's finalizer ends its claim.
napi_value frame_to_js(napi_env env, EnvironmentId env_id, Frame& frame);

}  // namespace usm_ipc
