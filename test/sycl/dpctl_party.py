"""dpctl's own USM memory, shared through our C interface, step by step as the standard input says (test/sycl/support)."""
import ctypes
import os
import sys

import dpctl
import dpctl.memory

NBYTES = ctypes.c_size_t
library = ctypes.CDLL(sys.argv[1])
library.DPCTLIPCMem_GetHandle.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(NBYTES)]
library.DPCTLIPCMem_OpenHandle.argtypes = [ctypes.c_char_p, NBYTES, ctypes.c_void_p, ctypes.c_void_p]
library.DPCTLIPCMem_OpenHandle.restype = ctypes.c_void_p
library.DPCTLIPCMem_CloseHandle.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
library.DPCTLIPCMem_FreeHandleData.argtypes = [ctypes.c_void_p]


class Mapping:
    """What dpctl takes for memory that somebody else owns."""

    def __init__(self, pointer, nbytes, queue):
        self.__sycl_usm_array_interface__ = {
            "data": (pointer, False), "shape": (nbytes,), "strides": None, "typestr": "|u1", "version": 1,
            "syclobj": queue}


queue = dpctl.SyclQueue()
context = queue.sycl_context.addressof_ref()
device = queue.sycl_device.addressof_ref()
memories = {}
handles = {}


def run(verb, name, *arguments):
    if verb == "version":
        return dpctl.__version__
    if verb == "available":
        return str(library.DPCTLIPCMem_Available())
    if verb == "allocate":
        memories[name] = dpctl.memory.MemoryUSMDevice(int(arguments[0]), queue=queue)
    elif verb == "fill":
        memories[name].copy_from_host(bytes([int(arguments[0])]) * memories[name].nbytes)
    elif verb == "read":
        return memories[name].copy_to_host().tobytes().hex()
    elif verb == "get":
        data, size = ctypes.c_void_p(), NBYTES()
        pointer = memories[name]._pointer
        if library.DPCTLIPCMem_GetHandle(pointer, context, ctypes.byref(data), ctypes.byref(size)) != 0:
            raise RuntimeError("DPCTLIPCMem_GetHandle failed")
        handles[name] = data
        return ctypes.string_at(data, size.value).hex()
    elif verb == "put":
        library.DPCTLIPCMem_FreeHandleData(handles.pop(name))
    elif verb == "open":
        handle = bytes.fromhex(arguments[0])
        pointer = library.DPCTLIPCMem_OpenHandle(handle, len(handle), context, device)
        if not pointer:
            return "null"
        memories[name] = dpctl.memory.as_usm_memory(Mapping(pointer, int(arguments[1]), queue))
        return memories[name].get_usm_type()
    elif verb == "close":
        library.DPCTLIPCMem_CloseHandle(memories.pop(name)._pointer, context)
    else:
        raise ValueError(verb)
    return ""


for line in sys.stdin:
    try:
        reply = "ok " + run(*line.split())
    except Exception as error:  # whatever it is, the test wants to see it
        reply = f"error 0 {type(error).__name__}: {error}"
    os.write(3, (reply.replace("\n", " ") + "\n").encode())
