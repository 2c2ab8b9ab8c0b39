// A copy of the process that goes on with its one thread, and gives back what it made of it.
#include <node_api.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// V8 keeps its heap out of copies of the process; this copy is to run JavaScript.
static void inherit_heap(void) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return;
  char line[4352];
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long from, to, inode;
    if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) == 3 && inode == 0) {
      madvise((void*)from, to - from, MADV_DOFORK);
    }
  }
  fclose(maps);
}

// 0 in the copy.
static napi_value fork_process(napi_env env, napi_callback_info info) {
  (void)info;
  inherit_heap();
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(30);
  }
  napi_value number;
  napi_create_int32(env, pid, &number);
  return number;
}

// Ends the copy without the rites of Node, whose other threads it does not have.
static napi_value leave(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  _exit(0);
}

// The wait status of the copy.
static napi_value wait_for(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  int32_t pid = 0;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  napi_get_value_int32(env, argument, &pid);
  int status = -1;
  waitpid(pid, &status, 0);
  napi_value number;
  napi_create_int32(env, status, &number);
  return number;
}

static void add(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, NULL, &function);
  napi_set_named_property(env, exports, name, function);
}

NAPI_MODULE_INIT() {
  add(env, exports, "fork", fork_process);
  add(env, exports, "leave", leave);
  add(env, exports, "waitFor", wait_for);
  return exports;
}
