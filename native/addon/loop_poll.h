// A descriptor and a timer on the event loop of the JavaScript thread, where that is libuv's and its functions are in
// the process. They are looked up, not linked: other runtimes have none, and the addon loads there all the same.
#pragma once

#include <node_api.h>

#include <functional>
#include <memory>

namespace usm_ipc {

class LoopPoll {
 public:
  // `ready` runs on the thread of `env`, inside a callback scope, when `fd` is readable or the timer fires. Null where
  // the event loop is another one.
  static LoopPoll* start(napi_env env, int fd, std::function<void()> ready);

  // Milliseconds until the timer fires; negative: never.
  void set_timer(int milliseconds);
  // Nothing runs any more; the descriptor may be closed. The object frees itself with the environment.
  void stop();

 private:
  struct Library;
  LoopPoll() = default;
  ~LoopPoll() = default;
  void run();
  bool has_context(napi_value resource);
  void close();
  static void on_environment_end(napi_async_cleanup_hook_handle hook, void* data);

  const Library* library_ = nullptr;
  napi_env env_ = nullptr;
  napi_async_context context_ = nullptr;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  std::function<void()> ready_;
  std::unique_ptr<char[]> poll_;   // uv_poll_t
  std::unique_ptr<char[]> timer_;  // uv_timer_t
  int open_ = 0;                   // handles that have not been closed
  bool stopped_ = false;
};

}  // namespace usm_ipc
