#include "addon/channel.h"

#include <cerrno>
#include <climits>

#include "addon/call.h"
#include "addon/channel_hub.h"

namespace usm_ipc {
namespace {

constexpr uint32_t kModeMask = 0777;

ChannelHub& hub_of(Call& call) { return *static_cast<ChannelHub*>(call.data()); }

PortObject& port_of(Call& call) {
  bool is_port = false;
  void* native = nullptr;
  if (napi_check_object_type_tag(call.env(), call.self(), &kPortTag, &is_port) != napi_ok || !is_port ||
      napi_unwrap(call.env(), call.self(), &native) != napi_ok) {
    throw Failure(FailureKind::argument, "not-a-channel", "this is a method of channels and listeners");
  }
  if (!PortObject::is_live(native))
    throw Failure(FailureKind::state, "closed", "the environment of the channel has ended");
  return *static_cast<PortObject*>(native);
}

// Negative, not finite, or longer than any process lives: none.
Deadline deadline_at(Call& call, size_t index) {
  double milliseconds;
  call.check(napi_get_value_double(call.env(), call.value(index), &milliseconds), "napi_get_value_double");
  if (!(milliseconds >= 0 && milliseconds < 1e12)) return std::nullopt;
  return Clock::now() + std::chrono::microseconds(static_cast<int64_t>(milliseconds * 1000));
}

JsReference callback_at(Call& call, size_t index) {
  napi_valuetype type;
  call.check(napi_typeof(call.env(), call.value(index), &type), "napi_typeof");
  if (type != napi_function)
    throw Failure(FailureKind::argument, "invalid-argument", "the callback must be a function");
  return {call.env(), call.value(index)};
}

std::string string_at(Call& call, size_t index) {
  size_t length;
  call.check(napi_get_value_string_utf8(call.env(), call.value(index), nullptr, 0, &length),
             "napi_get_value_string_utf8");
  std::string text(length + 1, '\0');
  call.check(napi_get_value_string_utf8(call.env(), call.value(index), text.data(), text.size(), &length),
             "napi_get_value_string_utf8");
  text.resize(length);
  return text;
}

std::vector<int> descriptors_at(Call& call, size_t index) {
  uint32_t count;
  call.check(napi_get_array_length(call.env(), call.value(index), &count), "napi_get_array_length");
  check_frame(1, count);
  std::vector<int> descriptors(count);
  for (uint32_t i = 0; i < count; ++i) {
    napi_value element;
    int64_t claim;
    call.check(napi_get_element(call.env(), call.value(index), i, &element), "napi_get_element");
    call.check(napi_get_value_int64(call.env(), element, &claim), "napi_get_value_int64");
    descriptors[i] = Registry::instance().descriptor(call.environment(), static_cast<ClaimId>(claim));
  }
  return descriptors;
}

napi_value undefined(Call& call) {
  napi_value value;
  call.check(napi_get_undefined(call.env(), &value), "napi_get_undefined");
  return value;
}

napi_value send(Call& call) {
  PortObject& self = port_of(call);
  // The bytes last: reading an array's elements can run JavaScript, which can give their memory away.
  const std::vector<int> descriptors = descriptors_at(call, 1);
  const Deadline deadline = deadline_at(call, 2);
  const Span bytes = call.bytes(0, "bytes");
  Outcome now;
  return call.number(self.hub->request(callback_at(call, 3), Delivery::nothing, &self, [&] {
    return self.hub->loop().send(self.port, bytes.data, bytes.size, descriptors, deadline, &now);
  }));
}

napi_value receive(Call& call) {
  PortObject& self = port_of(call);
  const Deadline deadline = deadline_at(call, 0);
  const bool takes_descriptors = call.boolean(2, "descriptors");
  Outcome now;
  const RequestId id = self.hub->request(callback_at(call, 1), Delivery::frame, &self, [&] {
    return self.hub->loop().receive(self.port, deadline, takes_descriptors, &now);
  });
  return id == 0 ? self.hub->take_frame(self, now.frame) : call.number(id);
}

napi_value release(Call& call) {
  PortObject& self = port_of(call);
  self.hub->loop().release(self.port, call.integer(0, "descriptors", INT_MAX));
  return undefined(call);
}

napi_value accept(Call& call) {
  PortObject& self = port_of(call);
  const Deadline deadline = deadline_at(call, 0);
  return call.number(self.hub->request(callback_at(call, 1), Delivery::channel, &self,
                                       [&] { return self.hub->loop().receive(self.port, deadline); }));
}

napi_value on_hangup(Call& call) {
  PortObject& self = port_of(call);
  self.hub->request(callback_at(call, 0), Delivery::nothing, &self,
                    [&] { return self.hub->loop().watch_hangup(self.port); });
  return undefined(call);
}

napi_value on_peer_exit(Call& call) {
  PortObject& self = port_of(call);
  self.hub->request(callback_at(call, 0), Delivery::exit, &self,
                    [&] { return self.hub->loop().watch_exit(self.port); });
  return undefined(call);
}

napi_value cancel(Call& call) { return call.boolean(port_of(call).hub->cancel(call.integer(0, "request"))); }

napi_value close(Call& call) {
  PortObject& self = port_of(call);
  self.hub->loop().close(self.port);
  return undefined(call);
}

napi_value shut(Call& call) {
  PortObject& self = port_of(call);
  self.hub->loop().shut(self.port);
  return undefined(call);
}

template <bool keeps_alive>
napi_value keep_alive(Call& call) {
  PortObject& self = port_of(call);
  self.hub->keep_alive(self, keeps_alive);
  return undefined(call);
}

napi_value is_closed(Call& call) {
  PortObject& self = port_of(call);
  return call.boolean(self.hub->loop().is_closed(self.port));
}

napi_value fd(Call& call) {
  PortObject& self = port_of(call);
  return call.number(static_cast<uint64_t>(self.hub->loop().descriptor(self.port)));
}

napi_value peer(Call& call) {
  const Credentials& peer = port_of(call).peer;
  napi_value object;
  call.check(napi_create_object(call.env(), &object), "napi_create_object");
  for (const auto& [name, id] : {std::pair{"pid", peer.pid}, {"uid", peer.uid}, {"gid", peer.gid}}) {
    const napi_value number = call.number(static_cast<uint64_t>(id));
    call.check(napi_set_named_property(call.env(), object, name, number), "napi_set_named_property");
  }
  call.check(napi_set_named_property(call.env(), object, "overflow", call.boolean(peer.overflow)),
             "napi_set_named_property");
  return object;
}

napi_value channel_pair(Call& call) {
  ChannelHub& hub = hub_of(call);
  hub.start();
  auto ends = socket_pair();
  napi_value pair;
  call.check(napi_create_array_with_length(call.env(), 2, &pair), "napi_create_array_with_length");
  call.check(napi_set_element(call.env(), pair, 0, hub.make_channel(std::move(ends.first))), "napi_set_element");
  call.check(napi_set_element(call.env(), pair, 1, hub.make_channel(std::move(ends.second))), "napi_set_element");
  return pair;
}

napi_value channel_connect(Call& call) {
  ChannelHub& hub = hub_of(call);
  const std::string path = string_at(call, 0);
  const Deadline deadline = deadline_at(call, 1);
  hub.start();
  return call.number(hub.request(callback_at(call, 2), Delivery::channel, nullptr,
                                 [&] { return hub.loop().connect(path, deadline); }));
}

napi_value channel_cancel(Call& call) { return call.boolean(hub_of(call).cancel(call.integer(0, "request"))); }

napi_value channel_adopt(Call& call) {
  const auto fd = static_cast<int>(call.integer(0, "fd", INT_MAX));
  UniqueFd copy;
  const bool is_duplicate = call.boolean(1, "duplicate");
  if (!is_duplicate && (SocketNumber::is_taken(fd) || Registry::instance().owns_descriptor(fd))) {
    throw Failure(FailureKind::state, "descriptor-owned",
                  "descriptor " + std::to_string(fd) + " has an owner here already; adopt a duplicate of it");
  }
  if (is_duplicate) {
    copy = duplicate_fd(fd);
    if (!copy) throw system_failure("fd_channel", "fcntl", errno);
  }
  hub_of(call).start();
  UniqueFd socket = adopt_socket(copy ? copy.get() : fd);
  try {
    const napi_value channel = hub_of(call).make_channel(std::move(socket));
    copy.release();
    return channel;
  } catch (...) {
    // Who took the socket has closed it; otherwise `copy`, or the caller, still owns the number.
    if (socket) {
      socket.release();
    } else {
      copy.release();
    }
    throw;
  }
}

napi_value channel_listen(Call& call) {
  const std::string path = string_at(call, 0);
  const mode_t mode = call.integer(1, "mode", kModeMask);
  const auto backlog = static_cast<int>(call.integer(2, "backlog", INT_MAX));
  const Existing existing = call.boolean(3, "replaceDead") ? Existing::replace_dead : Existing::keep;
  hub_of(call).start();
  UniqueFd socket = new_socket();
  BoundName name(socket.get(), path, mode, backlog, existing);
  return hub_of(call).make_listener(std::move(socket), std::move(name));
}

napi_value channel_poll(Call& call) {
  hub_of(call).poll_event_loop();
  return undefined(call);
}

napi_value channel_shutdown(Call& call) {
  hub_of(call).shutdown();
  return undefined(call);
}

// Objects get their native side after construction: what JavaScript constructs itself has none.
napi_value construct(Call& call) { return call.self(); }

template <napi_value (*function)(Call&)>
napi_property_descriptor getter(const char* name) {
  return {name, nullptr, nullptr, entry<function>, nullptr, nullptr, napi_enumerable, nullptr};
}

JsReference define_class(napi_env env, const char* name, std::vector<napi_property_descriptor> properties) {
  properties.insert(properties.end(),
                    {method<cancel>("cancel"), method<close>("close"), method<keep_alive<true>>("ref"),
                     method<keep_alive<false>>("unref"), getter<is_closed>("isClosed")});
  napi_value constructor;
  require_ok(napi_define_class(env, name, NAPI_AUTO_LENGTH, entry<construct>, nullptr, properties.size(),
                               properties.data(), &constructor),
             "napi_define_class");
  return {env, constructor};
}

}  // namespace

void init_channel(napi_env env, napi_value exports, EnvironmentId env_id) {
  auto owner = std::make_unique<HubRef>(std::make_shared<ChannelHub>(env, env_id));
  ChannelHub* const hub = owner->get();
  hub->set_classes(define_class(env, "NativeChannel",
                                {method<send>("send"), method<receive>("receive"), method<release>("release"),
                                 method<on_hangup>("onHangup"), method<on_peer_exit>("onPeerExit"), method<shut>("shut"),
                                 getter<peer>("peer"), getter<fd>("fd")}),
                   define_class(env, "NativeListener", {method<accept>("accept")}));
  const napi_property_descriptor functions[] = {
      method<channel_pair>("channelPair", hub),     method<channel_connect>("channelConnect", hub),
      method<channel_cancel>("channelCancel", hub), method<channel_adopt>("channelAdopt", hub),
      method<channel_listen>("channelListen", hub), method<channel_shutdown>("channelShutdown", hub),
      method<channel_poll>("channelPoll", hub),
  };
  require_ok(napi_define_properties(env, exports, std::size(functions), functions), "napi_define_properties");
  // The functions' pointer is good while JavaScript runs: this hook is older than the one that stops the hub.
  const auto drop = [](void* data) { delete static_cast<HubRef*>(data); };
  require_ok(napi_add_env_cleanup_hook(env, drop, owner.get()), "napi_add_env_cleanup_hook");
  owner.release();
}

}  // namespace usm_ipc
