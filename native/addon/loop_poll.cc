#include "addon/loop_poll.h"

#include <dlfcn.h>

#include "addon/js_reference.h"

namespace usm_ipc {
namespace {

// Of libuv 1's ABI, which does not change.
constexpr int kPollHandle = 8;
constexpr int kTimerHandle = 13;
constexpr int kReadable = 1;

using Handle = void;
using PollCallback = void (*)(Handle*, int status, int events);
using HandleCallback = void (*)(Handle*);

template <typename Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

struct LoopPoll::Library {
  size_t (*handle_size)(int type);
  void (*set_data)(Handle*, void*);
  void* (*get_data)(const Handle*);
  void (*unref)(Handle*);
  void (*close)(Handle*, HandleCallback);
  int (*poll_init)(void* loop, Handle*, int fd);
  int (*poll_start)(Handle*, int events, PollCallback);
  int (*poll_stop)(Handle*);
  int (*timer_init)(void* loop, Handle*);
  int (*timer_start)(Handle*, HandleCallback, uint64_t timeout, uint64_t repeat);
  int (*timer_stop)(Handle*);

  static const Library* get() {
    static Library library;
    static const bool is_there = library.load();
    return is_there ? &library : nullptr;
  }

  bool load() {
    return find(handle_size, "uv_handle_size") && find(set_data, "uv_handle_set_data") &&
           find(get_data, "uv_handle_get_data") && find(unref, "uv_unref") && find(close, "uv_close") &&
           find(poll_init, "uv_poll_init") && find(poll_start, "uv_poll_start") && find(poll_stop, "uv_poll_stop") &&
           find(timer_init, "uv_timer_init") && find(timer_start, "uv_timer_start") &&
           find(timer_stop, "uv_timer_stop");
  }
};

LoopPoll* LoopPoll::start(napi_env env, int fd, std::function<void()> ready) {
  const Library* const library = Library::get();
  uv_loop_s* loop = nullptr;
  if (library == nullptr || napi_get_uv_event_loop(env, &loop) != napi_ok || loop == nullptr) return nullptr;
  struct Delete {
    void operator()(LoopPoll* poll) const { delete poll; }
  };
  std::unique_ptr<LoopPoll, Delete> self(new LoopPoll);
  self->library_ = library;
  self->env_ = env;
  self->ready_ = std::move(ready);
  self->poll_ = std::make_unique<char[]>(library->handle_size(kPollHandle));
  self->timer_ = std::make_unique<char[]>(library->handle_size(kTimerHandle));
  require_ok(napi_add_async_cleanup_hook(env, on_environment_end, self.get(), &self->hook_),
             "napi_add_async_cleanup_hook");
  // From here on the hook owns it.
  LoopPoll* const poll = self.release();
  const auto on_ready = [](Handle* handle, int, int) {
    static_cast<LoopPoll*>(Library::get()->get_data(handle))->run();
  };
  library->timer_init(loop, poll->timer_.get());
  poll->open_ = 1;
  if (library->poll_init(loop, poll->poll_.get(), fd) == 0) poll->open_ = 2;
  library->set_data(poll->timer_.get(), poll);
  if (poll->open_ < 2) {
    poll->stopped_ = true;
    return nullptr;
  }
  library->set_data(poll->poll_.get(), poll);
  library->poll_start(poll->poll_.get(), kReadable, on_ready);
  // What keeps the event loop alive is the requests, not the waiting.
  library->unref(poll->poll_.get());
  library->unref(poll->timer_.get());
  return poll;
}

void LoopPoll::set_timer(int milliseconds) {
  if (stopped_) return;
  if (milliseconds < 0) {
    library_->timer_stop(timer_.get());
    return;
  }
  const auto on_time = [](Handle* handle) { static_cast<LoopPoll*>(Library::get()->get_data(handle))->run(); };
  library_->timer_start(timer_.get(), on_time, static_cast<uint64_t>(milliseconds), 0);
}

void LoopPoll::stop() {
  if (stopped_) return;
  stopped_ = true;
  library_->poll_stop(poll_.get());
  library_->timer_stop(timer_.get());
}

void LoopPoll::run() {
  napi_handle_scope handles;
  if (napi_open_handle_scope(env_, &handles) != napi_ok) return;
  napi_value resource;
  napi_callback_scope callbacks;
  if (napi_create_object(env_, &resource) == napi_ok && has_context(resource) &&
      napi_open_callback_scope(env_, resource, context_, &callbacks) == napi_ok) {
    ready_();
    napi_close_callback_scope(env_, callbacks);
  }
  napi_close_handle_scope(env_, handles);
}

// Not made at the start: async hooks are JavaScript, and may use channels.
bool LoopPoll::has_context(napi_value resource) {
  napi_value name;
  return context_ != nullptr ||
         (napi_create_string_utf8(env_, "usm-ipc channel", NAPI_AUTO_LENGTH, &name) == napi_ok &&
          napi_async_init(env_, resource, name, &context_) == napi_ok);
}

void LoopPoll::close() {
  const auto closed = [](Handle* handle) {
    auto* const self = static_cast<LoopPoll*>(Library::get()->get_data(handle));
    if (--self->open_ > 0) return;
    napi_remove_async_cleanup_hook(self->hook_);
    delete self;
  };
  const bool has_poll = open_ == 2;
  library_->close(timer_.get(), closed);
  if (has_poll) library_->close(poll_.get(), closed);
}

void LoopPoll::on_environment_end(napi_async_cleanup_hook_handle, void* data) {
  auto* const self = static_cast<LoopPoll*>(data);
  self->stopped_ = true;
  if (self->context_ != nullptr) napi_async_destroy(self->env_, self->context_);
  self->close();
}

}  // namespace usm_ipc
