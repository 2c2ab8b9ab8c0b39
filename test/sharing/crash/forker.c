// A copy of the process that does nothing: it keeps every descriptor and mapping of the process that dies.
#include <node_api.h>
#include <signal.h>
#include <unistd.h>

static napi_value fork_child(napi_env env, napi_callback_info info) {
  (void)info;
  const pid_t pid = fork();
  if (pid == 0) {
    // But not what the test waits for: the ends of its pipes and of its channel.
    for (int fd = 0; fd <= 3; fd++) close(fd);
    signal(SIGALRM, SIG_DFL);
    alarm(60);
    for (;;) pause();
  }
  napi_value number;
  napi_create_int32(env, pid, &number);
  return number;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "fork", NAPI_AUTO_LENGTH, fork_child, NULL, &function);
  napi_set_named_property(env, exports, "fork", function);
  return exports;
}
