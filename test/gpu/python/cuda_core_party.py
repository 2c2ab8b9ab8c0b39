import ctypes

from cuda.core import Buffer, Device, DeviceMemoryResource, DeviceMemoryResourceOptions

from party import data, receive_fd, send_fd, serve, text

device = Device(0)
device.set_current()
driver = ctypes.CDLL('libcuda.so.1')
kept = {}


def copy(to, source, nbytes, into_device):
    if into_device:
        assert driver.cuMemcpyHtoD_v2(ctypes.c_uint64(to), source, ctypes.c_size_t(nbytes)) == 0
    else:
        assert driver.cuMemcpyDtoH_v2(to, ctypes.c_uint64(source), ctypes.c_size_t(nbytes)) == 0
    assert driver.cuCtxSynchronize() == 0


def read(buffer):
    host = ctypes.create_string_buffer(buffer.size)
    copy(host, int(buffer.handle), buffer.size, False)
    return host.raw


def write(buffer, values):
    copy(int(buffer.handle), ctypes.create_string_buffer(values, len(values)), len(values), True)


def share(channel, count):
    resource = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=32 << 20, ipc_enabled=True))
    kept['before'] = resource.allocate(5000, stream=device.default_stream)
    buffer = resource.allocate(count, stream=device.default_stream)
    write(buffer, bytes((i * 7) & 255 for i in range(count)))
    kept.update(resource=resource, buffer=buffer)
    payload, size = buffer.ipc_descriptor.__reduce__()[1]
    send_fd(channel, int(resource.allocation_handle.handle))
    return {'handle': text(payload), 'nbytes': size}


def read_own(channel, index):
    return read(kept['buffer'])[index]


def open(channel, handle, nbytes):
    resource = DeviceMemoryResource.from_allocation_handle(device, receive_fd(channel))
    make = type(kept['template'].ipc_descriptor)._init if 'template' in kept else descriptor_type()._init
    buffer = Buffer.from_ipc_descriptor(resource, make(data(handle), nbytes), stream=device.default_stream)
    device.sync()
    values = read(buffer)
    write(buffer, bytes((value + 1) & 255 for value in values))
    kept.update(resource=resource, opened=buffer)
    return text(values)


def descriptor_type():
    """Its class has no public name: that of one that is made here."""
    resource = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=2 << 20, ipc_enabled=True))
    kept['template'] = resource.allocate(64, stream=device.default_stream)
    return type(kept['template'].ipc_descriptor)


def close(channel):
    kept.pop('opened').close()
    device.sync()
    kept.pop('resource').close()
    return True


serve({'share': share, 'read own': read_own, 'open': open, 'close': close})
