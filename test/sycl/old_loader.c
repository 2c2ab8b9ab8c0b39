/* A Level Zero loader from before zeInitDrivers, as Debian 12 has it: called, it would show. */
#include <stdlib.h>

int zeInit(int flags) {
  (void)flags;
  abort();
}
