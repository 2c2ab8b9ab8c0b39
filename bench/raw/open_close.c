// The system calls of one open and close on the host backend, and nothing else: fstat, F_GET_SEALS, mmap, munmap.
// Usage: open_close BYTES COUNT; prints nanoseconds a cycle for each line "go" on standard input.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t size = strtoull(argv[1], NULL, 10);
  const long count = atol(argv[2]);
  const int fd = memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || ftruncate(fd, (off_t)size) != 0) return 1;
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return 1;
  char line[16];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const double start = now();
    for (long i = 0; i < count; i++) {
      struct stat status;
      if (fstat(fd, &status) != 0 || fcntl(fd, F_GET_SEALS) < 0) return 1;
      void* p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (p == MAP_FAILED || munmap(p, size) != 0) return 1;
    }
    printf("%.1f\n", (now() - start) / count);
    fflush(stdout);
  }
  return 0;
}
