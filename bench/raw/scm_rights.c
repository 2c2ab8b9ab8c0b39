// What opening shared memory takes at the least: a request in a frame of a Unix seqpacket socket, an answer in a frame
// with the memfd beside it, fstat and mmap; closing is munmap and close. A process of its own serves.
// Usage: scm_rights REQUEST_BYTES REPLY_BYTES MEMORY_BYTES; for each line "COUNT" on standard input it prints the median
// nanoseconds of an open, of a close, and of both.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { kMostBytes = 65536, kMostRounds = 1 << 20 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, long count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

static char frame[kMostBytes];

static int serve(int s, size_t reply, int fd) {
  union {
    char space[CMSG_SPACE(sizeof fd)];
    struct cmsghdr align;
  } control;
  while (recv(s, frame, sizeof frame, 0) > 0) {
    struct iovec bytes = {frame, reply};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    if (sendmsg(s, &message, MSG_NOSIGNAL) < 0) return 1;
  }
  return 0;
}

static void* attach(int s, size_t request, size_t nbytes, int* fd) {
  union {
    char space[CMSG_SPACE(sizeof *fd)];
    struct cmsghdr align;
  } control;
  struct iovec bytes = {frame, sizeof frame};
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  struct stat status;
  if (send(s, frame, request, MSG_NOSIGNAL) < 0 || recvmsg(s, &message, MSG_CMSG_CLOEXEC) <= 0) return MAP_FAILED;
  const struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == NULL) return MAP_FAILED;
  memcpy(fd, CMSG_DATA(rights), sizeof *fd);
  if (fstat(*fd, &status) != 0 || (size_t)status.st_size < nbytes) return MAP_FAILED;
  return mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t request = strtoull(argv[1], NULL, 10);
  const size_t reply = strtoull(argv[2], NULL, 10);
  const size_t nbytes = strtoull(argv[3], NULL, 10);
  if (request > kMostBytes || reply > kMostBytes) return 2;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return 1;
  const pid_t server = fork();
  if (server < 0) return 1;
  if (server == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    const int fd = memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)nbytes) != 0) _exit(1);
    _exit(serve(ends[1], reply, fd));
  }
  close(ends[1]);
  static double opens[kMostRounds];
  static double closes[kMostRounds];
  static double both[kMostRounds];
  char line[16];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const long count = atol(line);
    if (count < 1 || count > kMostRounds) return 2;
    for (long i = 0; i < count; i++) {
      int fd;
      const double start = now();
      void* const p = attach(ends[0], request, nbytes, &fd);
      if (p == MAP_FAILED) return 1;
      const double opened = now();
      if (munmap(p, nbytes) != 0 || close(fd) != 0) return 1;
      const double closed = now();
      opens[i] = opened - start;
      closes[i] = closed - opened;
      both[i] = closed - start;
    }
    printf("%.0f %.0f %.0f\n", median(opens, count), median(closes, count), median(both, count));
    fflush(stdout);
  }
  return 0;
}
