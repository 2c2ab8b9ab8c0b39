/* A Level Zero loader that crashes, aborts, exits, hangs or fails as ZE_TEST_FAULT says. With OLD one of before
   zeInitDrivers. What it has not is found in the software driver, with which it is linked. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UNINITIALIZED 0x78000001u
#define DEVICE_LOST 0x70000001u

static unsigned fault(void) {
  const char* kind = getenv("ZE_TEST_FAULT");
  const char* secret = getenv("ZE_TEST_SECRET");
  if (kind == NULL) return UNINITIALIZED;
  printf("a driver's last words, on stdout%s\n", secret == NULL ? "" : secret);
  fflush(stdout);
  if (*kind == 'c') *(volatile int*)8 = 1;
  if (*kind == 'a') abort();
  if (*kind == 'e') exit(0);
  if (*kind == 'h') for (;;) sleep(1000);
  return DEVICE_LOST;
}

unsigned zeInit(unsigned flags) { return (void)flags, fault(); }

#ifndef OLD
unsigned zeInitDrivers(unsigned* count, void* drivers, void* type) {
  (void)drivers, (void)type;
  *count = 0;
  return fault();
}
#endif
