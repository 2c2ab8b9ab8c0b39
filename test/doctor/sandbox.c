/* Runs a program as Docker's default profile does: no CAP_SYS_PTRACE, and pidfd_getfd answered with EPERM.
   usage: sandbox [--no-filter] program argument... */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static int filter_pidfd_getfd(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char** arguments) {
  int first = 1;
  int filtered = !(count > 1 && strcmp(arguments[1], "--no-filter") == 0);
  if (!filtered) first++;
  if (count <= first) return 2;
  if (geteuid() == 0 && prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) != 0) return perror("PR_CAPBSET_DROP"), 1;
  if (filtered && filter_pidfd_getfd() != 0) return perror("seccomp"), 1;
  execvp(arguments[first], arguments + first);
  return perror(arguments[first]), 1;
}
