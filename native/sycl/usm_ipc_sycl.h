/* SYCL IPC memory for C: the functions of sycl::ext::oneapi::experimental::ipc::memory, and what a program without a
 * SYCL compiler needs beside them. docs/c-interface.md has a whole program.
 *
 * - Nothing throws. Functions that return int give 0 on success, the others a null pointer on failure;
 *   usm_ipc_sycl_last_error() then says what failed. A null pointer or an empty handle that the runtime gives without
 *   an error counts as a failure too.
 * - The reference types are dpctl's: a context is a sycl::context*, a device a sycl::device*, a USM reference the
 *   pointer itself. What dpctl gives (SyclContext.addressof_ref(), ...) can be passed as it is, and the other way
 *   round.
 * - Every function may be called on any thread.
 * - Handle bytes from another process are trusted with this process: the runtime reads a pid and a descriptor number
 *   from them and checks neither. Programs that cannot trust them use the usm-ipc package, which does. */
#ifndef USM_IPC_SYCL_H
#define USM_IPC_SYCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USM_IPC_SYCL_ABI_VERSION 1
#define USM_IPC_SYCL_API __attribute__((visibility("default")))

typedef struct DPCTLOpaqueSyclContext *DPCTLSyclContextRef;
typedef struct DPCTLOpaqueSyclDevice *DPCTLSyclDeviceRef;
typedef struct DPCTLOpaqueSyclUSM *DPCTLSyclUSMRef;

/* ---- dpctl's functions ---- */

/* 1 where a device can share its memory with other processes, otherwise 0. */
USM_IPC_SYCL_API int DPCTLIPCMem_Available(void);

/* The handle of USM device memory, as `*SizeOut` bytes at `*DataOut` that another process opens. They are the caller's
 * to free with DPCTLIPCMem_FreeHandleData(), and good for as long as that is not done and the memory is not freed.
 * Fails for host and shared USM. Does not wait for work that writes the memory: wait for your queues first. */
USM_IPC_SYCL_API int DPCTLIPCMem_GetHandle(DPCTLSyclUSMRef Ptr, const DPCTLSyclContextRef CRef, char **DataOut,
                                           size_t *SizeOut);

/* Maps the memory that a handle of another process names; null on failure. */
USM_IPC_SYCL_API DPCTLSyclUSMRef DPCTLIPCMem_OpenHandle(const char *HandleData, size_t HandleDataSize,
                                                        const DPCTLSyclContextRef CRef, const DPCTLSyclDeviceRef DRef);

/* Once for each pointer that DPCTLIPCMem_OpenHandle() gave; closing more often goes unnoticed by the runtime, and may
 * unmap what another part of the program has in use. */
USM_IPC_SYCL_API void DPCTLIPCMem_CloseHandle(DPCTLSyclUSMRef MappedPtr, const DPCTLSyclContextRef CRef);

/* Gives the handle back to the runtime (ipc::memory::put) and frees its bytes. Null, and what GetHandle() did not give,
 * are left alone. */
USM_IPC_SYCL_API void DPCTLIPCMem_FreeHandleData(char *Data);

/* ---- errors and the process ---- */

/* USM_IPC_SYCL_ABI_VERSION of the library that was loaded. */
USM_IPC_SYCL_API uint32_t usm_ipc_sycl_abi_version(void);

typedef struct usm_ipc_sycl_error {
  const char *call;        /* "sycl::ext::oneapi::experimental::ipc::memory::open" */
  const char *message;     /* the runtime's */
  const char *result_name; /* "UR_RESULT_ERROR_...", "sycl::errc::...", "std::exception", "null-result" */
  int32_t result;          /* Unified Runtime's or SYCL's number; 0 where there is none */
} usm_ipc_sycl_error;

/* Of this thread's last failed call. The strings are good until the thread's next call of this library. */
USM_IPC_SYCL_API const usm_ipc_sycl_error *usm_ipc_sycl_last_error(void);

/* Makes std::cout of the whole process write to std::cerr's buffer, for programs whose stdout is for their results:
 * runtimes report there too. Call it before the first other function. */
USM_IPC_SYCL_API void usm_ipc_sycl_redirect_stdout(void);

/* ---- devices ---- */

typedef struct usm_ipc_sycl_device_info {
  char name[256];
  char type[16]; /* "gpu", "cpu", "accelerator", "other" */
  char driver_version[64];
  uint8_t uuid[16];
  uint64_t memory;     /* bytes */
  int32_t ipc_memory;  /* the device's ipc_memory aspect */
  int32_t software;    /* 1: usm-ipc's own driver, with no hardware behind it */
} usm_ipc_sycl_device_info;

/* The Level Zero devices that ONEAPI_DEVICE_SELECTOR allows, from 0, in the runtime's order; the first call starts the
 * runtime, and the list then stays as it is. */
USM_IPC_SYCL_API int usm_ipc_sycl_device_count(uint32_t *count);
USM_IPC_SYCL_API int usm_ipc_sycl_get_device_info(uint32_t index, usm_ipc_sycl_device_info *info);

/* The device, and its platform's default context, which SYCL and dpctl use where none is named. Both are the library's
 * and live as long as the process. Null for an index that there is not. */
USM_IPC_SYCL_API DPCTLSyclDeviceRef usm_ipc_sycl_device(uint32_t index);
USM_IPC_SYCL_API DPCTLSyclContextRef usm_ipc_sycl_default_context(uint32_t index);

/* ---- memory ---- */

typedef enum usm_ipc_sycl_usm {
  USM_IPC_SYCL_UNKNOWN = 0, /* not USM of that context */
  USM_IPC_SYCL_DEVICE = 1,
  USM_IPC_SYCL_HOST = 2,
  USM_IPC_SYCL_SHARED = 3
} usm_ipc_sycl_usm;

USM_IPC_SYCL_API DPCTLSyclUSMRef usm_ipc_sycl_allocate(usm_ipc_sycl_usm type, size_t nbytes,
                                                       const DPCTLSyclContextRef context,
                                                       const DPCTLSyclDeviceRef device);
USM_IPC_SYCL_API int usm_ipc_sycl_free(DPCTLSyclUSMRef pointer, const DPCTLSyclContextRef context);

USM_IPC_SYCL_API int usm_ipc_sycl_pointer_type(const void *pointer, const DPCTLSyclContextRef context,
                                               usm_ipc_sycl_usm *type);
/* The index of the device that the memory was allocated on; fails for host memory. */
USM_IPC_SYCL_API int usm_ipc_sycl_pointer_device(const void *pointer, const DPCTLSyclContextRef context,
                                                 uint32_t *index);
/* The driver's allocation or mapping that the pointer lies in. Where the runtime pools small allocations that is the
 * whole slab, and a handle of the pointer gives an importer all of it. */
USM_IPC_SYCL_API int usm_ipc_sycl_extent(const void *pointer, const DPCTLSyclContextRef context, void **base,
                                         size_t *nbytes);

/* Work on the library's own in-order queue of a device, which is in the default context: enqueued by memcpy and memset,
 * finished after wait. */
USM_IPC_SYCL_API int usm_ipc_sycl_memcpy(uint32_t device, void *to, const void *from, size_t nbytes);
USM_IPC_SYCL_API int usm_ipc_sycl_memset(uint32_t device, void *to, int value, size_t nbytes);
USM_IPC_SYCL_API int usm_ipc_sycl_wait(uint32_t device);

/* ---- handles: DPCTLIPCMem_* without copies, and with their errors ---- */

typedef struct usm_ipc_sycl_handle usm_ipc_sycl_handle;

/* The bytes are the runtime's own, good until put. */
USM_IPC_SYCL_API int usm_ipc_sycl_get(DPCTLSyclUSMRef pointer, const DPCTLSyclContextRef context,
                                      usm_ipc_sycl_handle **handle, const char **data, size_t *size);
/* Frees the handle, whatever it returns. */
USM_IPC_SYCL_API int usm_ipc_sycl_put(usm_ipc_sycl_handle *handle);
USM_IPC_SYCL_API DPCTLSyclUSMRef usm_ipc_sycl_open(const char *data, size_t size, const DPCTLSyclContextRef context,
                                                   const DPCTLSyclDeviceRef device);
USM_IPC_SYCL_API int usm_ipc_sycl_close(DPCTLSyclUSMRef pointer, const DPCTLSyclContextRef context);

#ifdef __cplusplus
}
#endif
#endif
