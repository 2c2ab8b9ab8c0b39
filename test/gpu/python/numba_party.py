import numpy
from numba import cuda
from numba.cuda.cudadrv import driver

from party import data, serve, text

kept = {}


def bytes_of(handle):
    """Of numba's handle, by whichever binding it uses."""
    raw = getattr(handle, 'handle', handle)
    reserved = getattr(raw, 'reserved', raw)
    return bytes(bytearray(reserved))


def share(channel, count, start):
    array = cuda.to_device(numpy.arange(count, dtype=numpy.int32))
    kept['array'] = array
    part = array[start:]
    ipc = part.get_ipc_handle()._ipc_handle
    cuda.synchronize()
    return {'handle': text(bytes_of(ipc)), 'offset': int(ipc.offset), 'nbytes': int(part.nbytes), 'size': int(ipc.size)}


def read_own(channel, index):
    cuda.synchronize()
    return int(kept['array'].copy_to_host()[index])


def open(channel, handle, nbytes, offset):
    from cuda.bindings import driver as binding
    raw = binding.CUipcMemHandle()
    raw.reserved = data(handle)
    ipc = driver.IpcHandle(None, raw, nbytes, offset=offset)
    kept['ipc'] = ipc
    array = ipc.open_array(cuda.current_context(), shape=nbytes, dtype=numpy.dtype(numpy.uint8))
    values = array.copy_to_host()
    array.copy_to_device(values + numpy.uint8(1))
    cuda.synchronize()
    return text(values.tobytes())


def close(channel):
    kept.pop('ipc').close()
    return True


serve({'share': share, 'read own': read_own, 'open': open, 'close': close})
