"""torch.multiprocessing's queue: a producer and a consumer of CUDA tensors. Medians in microseconds."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'test', 'gpu', 'python'))

import torch
import torch.multiprocessing as mp


def median(values):
    return sorted(values)[len(values) // 2]


def now():
    return time.perf_counter_ns() / 1000


def consume(queue, answers):
    torch.cuda.init()
    torch.zeros(1, device='cuda')
    # Counts from when the first byte is there: waiting for the producer is not the consumer's time.
    arrived = lambda: queue._reader.poll(None)
    while True:
        what, count = queue.get()
        if what == 'end':
            return
        if what == 'one':
            for _ in range(count):
                tensor = queue.get()
                answers.put(True)
                del tensor
            continue
        answers.put(True)
        arrived()
        started, waited = now(), 0
        if what == 'each':
            tensors = [queue.get() for _ in range(count)]
        elif what == 'apart':
            tensors = []
            for _ in range(count):
                before = now()
                arrived()
                waited += now() - before
                tensors.append(queue.get())
        elif what == 'list':
            tensors = queue.get()
        else:
            flat = queue.get()
            tensors = list(flat.split(flat.numel() // count))
        took = now() - started
        assert len(tensors) == count
        answers.put(took - waited)
        tensors = flat = None


class Queue:
    def __init__(self):
        context = mp.get_context('spawn')
        self.queue, self.answers = context.Queue(), context.Queue()
        self.process = context.Process(target=consume, args=(self.queue, self.answers))
        self.process.start()

    def round_trips(self, channel, count, nbytes):
        """One tensor, put until acknowledged, over and over: what it takes when everything is warm."""
        tensor = torch.zeros(nbytes // 4, device='cuda')
        torch.cuda.synchronize()
        warm = 50
        self.queue.put(('one', warm + count))
        times = []
        for _ in range(warm + count):
            started = now()
            self.queue.put(tensor)
            self.answers.get()
            times.append(now() - started)
        return median(times[warm:])

    def consumer(self, what, count, numel, repeats):
        """From when the first bytes are there until the consumer has all tensors; apart: without its waits for the producer."""
        times = []
        for _ in range(repeats + 2):
            flat = torch.zeros(count * numel, device='cuda')
            tensors = [torch.zeros(numel, device='cuda') for _ in range(count)]
            torch.cuda.synchronize()
            self.queue.put((what, count))
            self.answers.get()
            if what in ('each', 'apart'):
                for tensor in tensors:
                    self.queue.put(tensor)
            else:
                self.queue.put(tensors if what == 'list' else flat)
            times.append(self.answers.get())
            del tensors, flat
        return median(times[2:])

    def end(self, channel):
        self.queue.put(('end', 0))
        self.process.join(20)
        return True


if __name__ == '__main__':
    from party import serve

    torch.zeros(1, device='cuda')
    queue = Queue()
    serve({
        'round trips': queue.round_trips,
        'each': lambda channel, **how: queue.consumer('each', **how),
        'apart': lambda channel, **how: queue.consumer('apart', **how),
        'list': lambda channel, **how: queue.consumer('list', **how),
        'flat': lambda channel, **how: queue.consumer('flat', **how),
        'end': queue.end,
    })
