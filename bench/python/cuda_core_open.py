"""cuda-core's own opening of a buffer that another process shared, of a pool that was imported before: medians in microseconds."""
import multiprocessing as mp
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'test', 'gpu', 'python'))

from cuda.core import Buffer, Device, DeviceMemoryResource, DeviceMemoryResourceOptions


def median(values):
    return sorted(values)[len(values) // 2]


def importing(pipe, count):
    device = Device(0)
    device.set_current()
    handle = pipe.recv()
    descriptor = pipe.recv()
    resource = DeviceMemoryResource.from_allocation_handle(device, handle)
    opens, closes = [], []
    for _ in range(count):
        started = time.perf_counter_ns()
        buffer = Buffer.from_ipc_descriptor(resource, descriptor, stream=device.default_stream)
        opened = time.perf_counter_ns()
        buffer.close()
        device.default_stream.sync()
        closes.append((time.perf_counter_ns() - opened) / 1000)
        opens.append((opened - started) / 1000)
    pipe.send({'open': median(opens[20:]), 'close': median(closes[20:])})


def open_times(channel, count, nbytes):
    device = Device(0)
    device.set_current()
    resource = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=32 << 20, ipc_enabled=True))
    buffer = resource.allocate(nbytes, stream=device.default_stream)
    device.sync()
    ours, theirs = mp.Pipe()
    process = mp.Process(target=importing, args=(theirs, count))
    process.start()
    ours.send(resource.allocation_handle)
    ours.send(buffer.ipc_descriptor)
    answer = ours.recv()
    process.join(20)
    return answer


if __name__ == '__main__':
    from party import serve

    mp.set_start_method('spawn')
    serve({'open': open_times})
