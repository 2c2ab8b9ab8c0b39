import cupy

from party import data, serve, text

kept = {}


def share(channel, count, start):
    """An array, and a part of it from `start` on: CUDA's handle is that of the whole allocation."""
    array = cupy.arange(count, dtype=cupy.int32)
    kept['array'] = array
    part = array[start:]
    cupy.cuda.runtime.deviceSynchronize()
    base, _ = cupy.cuda.driver.memGetAddressRange(part.data.ptr) if hasattr(cupy.cuda.driver, 'memGetAddressRange') else (None, None)
    if base is None:
        import ctypes
        out, size = ctypes.c_uint64(), ctypes.c_size_t()
        assert ctypes.CDLL('libcuda.so.1').cuMemGetAddressRange_v2(ctypes.byref(out), ctypes.byref(size), ctypes.c_uint64(part.data.ptr)) == 0
        base = out.value
    return {'handle': text(cupy.cuda.runtime.ipcGetMemHandle(part.data.ptr)), 'offset': part.data.ptr - base, 'nbytes': part.nbytes}


def read_own(channel, index):
    cupy.cuda.runtime.deviceSynchronize()
    return int(kept['array'][index])


def open(channel, handle, nbytes, offset):
    pointer = cupy.cuda.runtime.ipcOpenMemHandle(data(handle))
    memory = cupy.cuda.UnownedMemory(pointer + offset, nbytes, None)
    array = cupy.ndarray((nbytes,), dtype=cupy.uint8, memptr=cupy.cuda.MemoryPointer(memory, 0))
    values = array.get().tobytes()
    array += 1
    cupy.cuda.runtime.deviceSynchronize()
    kept['pointer'] = pointer
    return text(values)


def close(channel):
    cupy.cuda.runtime.ipcCloseMemHandle(kept.pop('pointer'))
    return True


serve({'share': share, 'read own': read_own, 'open': open, 'close': close})
