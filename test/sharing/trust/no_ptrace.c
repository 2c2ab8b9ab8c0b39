/* Runs a program that dies when it uses what needs permission to look into another process: pidfd_getfd, ptrace and
   process_vm_readv/writev. CAP_SYS_PTRACE is dropped.
   usage: no_ptrace [--but-getfd] program argument... */
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

#define KILL_ON(number)                                  \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),     \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int count, char** arguments) {
  int first = 1;
  int getfd = SYS_pidfd_getfd;
  if (count > 1 && strcmp(arguments[1], "--but-getfd") == 0) first++, getfd = -1;
  if (count <= first) return 2;
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      KILL_ON(getfd),
      KILL_ON(SYS_ptrace),
      KILL_ON(SYS_process_vm_readv),
      KILL_ON(SYS_process_vm_writev),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (geteuid() == 0 && prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) != 0) return perror("PR_CAPBSET_DROP"), 1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return perror("seccomp"), 1;
  }
  execvp(arguments[first], arguments + first);
  return perror(arguments[first]), 1;
}
