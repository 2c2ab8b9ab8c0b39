/* docs/c-interface.md's example: one program, started once to share memory and once more to open it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usm_ipc_sycl.h"

enum { NBYTES = 4096 };

static int failed(const char *what) {
  const usm_ipc_sycl_error *error = usm_ipc_sycl_last_error();
  fprintf(stderr, "%s: %s failed: %s (%d): %s\n", what, error->call, error->result_name, error->result, error->message);
  return 1;
}

static int share(DPCTLSyclContextRef context, DPCTLSyclDeviceRef device) {
  DPCTLSyclUSMRef memory = usm_ipc_sycl_allocate(USM_IPC_SYCL_DEVICE, NBYTES, context, device);
  if (memory == NULL) return failed("allocate");
  if (usm_ipc_sycl_memset(0, memory, 42, NBYTES) != 0 || usm_ipc_sycl_wait(0) != 0) return failed("fill");

  char *handle;
  size_t size;
  if (DPCTLIPCMem_GetHandle(memory, context, &handle, &size) != 0) return failed("get");
  for (size_t i = 0; i < size; i++) printf("%02x", (unsigned char)handle[i]);
  printf("\n");
  fflush(stdout);

  while (getchar() != EOF) continue; /* the handle is good until here */
  DPCTLIPCMem_FreeHandleData(handle);
  return usm_ipc_sycl_free(memory, context) == 0 ? 0 : failed("free");
}

static int open_it(DPCTLSyclContextRef context, DPCTLSyclDeviceRef device, const char *text) {
  char handle[256];
  size_t size = strlen(text) / 2;
  if (size > sizeof handle) return 1;
  for (size_t i = 0; i < size; i++) {
    unsigned byte;
    if (sscanf(text + 2 * i, "%2x", &byte) != 1) return 1;
    handle[i] = (char)byte;
  }
  DPCTLSyclUSMRef memory = DPCTLIPCMem_OpenHandle(handle, size, context, device);
  if (memory == NULL) return failed("open");
  unsigned char bytes[NBYTES];
  if (usm_ipc_sycl_memcpy(0, bytes, memory, NBYTES) != 0 || usm_ipc_sycl_wait(0) != 0) return failed("read");
  DPCTLIPCMem_CloseHandle(memory, context);
  for (size_t i = 0; i < NBYTES; i++) {
    if (bytes[i] != bytes[0]) return 1;
  }
  printf("%d bytes of %d\n", (int)NBYTES, bytes[0]);
  return 0;
}

int main(int argc, char **argv) {
  uint32_t devices;
  if (usm_ipc_sycl_device_count(&devices) != 0) return failed("devices");
  if (devices == 0 || !DPCTLIPCMem_Available()) {
    fprintf(stderr, "there is no device that can share its memory\n");
    return 1;
  }
  DPCTLSyclContextRef context = usm_ipc_sycl_default_context(0);
  DPCTLSyclDeviceRef device = usm_ipc_sycl_device(0);
  return argc > 1 ? open_it(context, device, argv[1]) : share(context, device);
}
