// The driver's functions by their exported names, for dlsym.
#pragma once

#include "cuda/abi.h"

namespace usm_ipc::cu::functions {

using cuInit = Result(unsigned flags);
using cuDriverGetVersion = Result(int* version);
using cuGetErrorName = Result(Result error, const char** name);
using cuGetErrorString = Result(Result error, const char** text);

using cuDeviceGetCount = Result(int* count);
using cuDeviceGet = Result(Device* device, int ordinal);
using cuDeviceGetName = Result(char* name, int size, Device device);
using cuDeviceGetUuid = Result(Uuid* uuid, Device device);
using cuDeviceGetUuid_v2 = Result(Uuid* uuid, Device device);
using cuDeviceTotalMem_v2 = Result(size_t* bytes, Device device);
using cuDeviceGetAttribute = Result(int* value, DeviceAttribute attribute, Device device);
using cuDeviceCanAccessPeer = Result(int* can, Device device, Device peer);
using cuDeviceGetDefaultMemPool = Result(MemPool* pool, Device device);

using cuDevicePrimaryCtxRetain = Result(Context* context, Device device);
using cuDevicePrimaryCtxRelease_v2 = Result(Device device);
using cuDevicePrimaryCtxReset_v2 = Result(Device device);
using cuDevicePrimaryCtxGetState = Result(Device device, unsigned* flags, int* active);
using cuCtxGetCurrent = Result(Context* context);
using cuCtxSetCurrent = Result(Context context);
using cuCtxPushCurrent_v2 = Result(Context context);
using cuCtxPopCurrent_v2 = Result(Context* context);
using cuCtxGetDevice = Result(Device* device);
using cuCtxGetId = Result(Context context, unsigned long long* id);
using cuCtxSynchronize = Result();
using cuCtxEnablePeerAccess = Result(Context peer, unsigned flags);

using cuMemGetInfo_v2 = Result(size_t* free, size_t* total);
using cuMemAlloc_v2 = Result(DevicePtr* pointer, size_t bytes);
using cuMemFree_v2 = Result(DevicePtr pointer);
using cuMemGetAddressRange_v2 = Result(DevicePtr* base, size_t* bytes, DevicePtr pointer);
using cuMemAllocHost_v2 = Result(void** pointer, size_t bytes);
using cuMemHostAlloc = Result(void** pointer, size_t bytes, unsigned flags);
using cuMemFreeHost = Result(void* pointer);
using cuMemAllocManaged = Result(DevicePtr* pointer, size_t bytes, unsigned flags);
using cuPointerGetAttribute = Result(void* value, PointerAttribute attribute, DevicePtr pointer);
using cuPointerGetAttributes = Result(unsigned count, PointerAttribute* attributes, void** values, DevicePtr pointer);

using cuIpcGetMemHandle = Result(IpcMemHandle* handle, DevicePtr pointer);
using cuIpcOpenMemHandle_v2 = Result(DevicePtr* pointer, IpcMemHandle handle, unsigned flags);
using cuIpcCloseMemHandle = Result(DevicePtr pointer);
using cuIpcGetEventHandle = Result(IpcEventHandle* handle, Event event);
using cuIpcOpenEventHandle = Result(Event* event, IpcEventHandle handle);

using cuMemGetAllocationGranularity = Result(size_t* bytes, const MemAllocationProp* prop, GranularityFlags option);
using cuMemCreate = Result(MemHandle* handle, size_t bytes, const MemAllocationProp* prop, unsigned long long flags);
using cuMemRelease = Result(MemHandle handle);
using cuMemAddressReserve = Result(DevicePtr* pointer, size_t bytes, size_t alignment, DevicePtr address,
                                   unsigned long long flags);
using cuMemAddressFree = Result(DevicePtr pointer, size_t bytes);
using cuMemMap = Result(DevicePtr pointer, size_t bytes, size_t offset, MemHandle handle, unsigned long long flags);
using cuMemUnmap = Result(DevicePtr pointer, size_t bytes);
using cuMemSetAccess = Result(DevicePtr pointer, size_t bytes, const MemAccessDesc* descriptions, size_t count);
using cuMemExportToShareableHandle = Result(void* shareable, MemHandle handle, MemHandleType type,
                                            unsigned long long flags);
using cuMemImportFromShareableHandle = Result(MemHandle* handle, void* shareable, MemHandleType type);
using cuMemGetAllocationPropertiesFromHandle = Result(MemAllocationProp* prop, MemHandle handle);
using cuMemRetainAllocationHandle = Result(MemHandle* handle, void* address);

using cuMemPoolCreate = Result(MemPool* pool, const MemPoolProps* props);
using cuMemPoolDestroy = Result(MemPool pool);
using cuMemPoolSetAccess = Result(MemPool pool, const MemAccessDesc* descriptions, size_t count);
using cuMemPoolSetAttribute = Result(MemPool pool, MemPoolAttribute attribute, void* value);
using cuMemPoolExportToShareableHandle = Result(void* shareable, MemPool pool, MemHandleType type,
                                                unsigned long long flags);
using cuMemPoolImportFromShareableHandle = Result(MemPool* pool, void* shareable, MemHandleType type,
                                                  unsigned long long flags);
using cuMemPoolExportPointer = Result(MemPoolPtrExportData* data, DevicePtr pointer);
using cuMemPoolImportPointer = Result(DevicePtr* pointer, MemPool pool, MemPoolPtrExportData* data);
using cuMemAllocAsync = Result(DevicePtr* pointer, size_t bytes, Stream stream);
using cuMemAllocFromPoolAsync = Result(DevicePtr* pointer, size_t bytes, MemPool pool, Stream stream);
using cuMemFreeAsync = Result(DevicePtr pointer, Stream stream);

using cuStreamCreate = Result(Stream* stream, unsigned flags);
using cuStreamDestroy_v2 = Result(Stream stream);
using cuStreamSynchronize = Result(Stream stream);
using cuStreamQuery = Result(Stream stream);
using cuStreamWaitEvent = Result(Stream stream, Event event, unsigned flags);
using cuLaunchHostFunc = Result(Stream stream, void (*function)(void*), void* data);
using cuEventCreate = Result(Event* event, unsigned flags);
using cuEventDestroy_v2 = Result(Event event);
using cuEventRecord = Result(Event event, Stream stream);
using cuEventQuery = Result(Event event);
using cuEventSynchronize = Result(Event event);

using cuMemcpyHtoD_v2 = Result(DevicePtr to, const void* from, size_t bytes);
using cuMemcpyDtoH_v2 = Result(void* to, DevicePtr from, size_t bytes);
using cuMemcpyDtoD_v2 = Result(DevicePtr to, DevicePtr from, size_t bytes);
using cuMemcpyHtoDAsync_v2 = Result(DevicePtr to, const void* from, size_t bytes, Stream stream);
using cuMemcpyDtoHAsync_v2 = Result(void* to, DevicePtr from, size_t bytes, Stream stream);
using cuMemcpyDtoDAsync_v2 = Result(DevicePtr to, DevicePtr from, size_t bytes, Stream stream);
using cuMemcpyAsync = Result(DevicePtr to, DevicePtr from, size_t bytes, Stream stream);
using cuMemcpyPeerAsync = Result(DevicePtr to, Context to_context, DevicePtr from, Context from_context, size_t bytes,
                                 Stream stream);
using cuMemsetD8_v2 = Result(DevicePtr to, unsigned char value, size_t bytes);
using cuMemsetD8Async = Result(DevicePtr to, unsigned char value, size_t bytes, Stream stream);

}  // namespace usm_ipc::cu::functions
