"""torch.multiprocessing's queue: a producer and a consumer of CUDA tensors. Medians in microseconds."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'test', 'gpu', 'python'))

import torch
import torch.multiprocessing as mp


def median(values):
    return sorted(values)[len(values) // 2]


def consume(queue, answers):
    torch.cuda.init()
    torch.zeros(1, device='cuda')
    while True:
        what, count = queue.get()
        if what == 'end':
            return
        if what == 'one':
            for _ in range(count):
                tensor = queue.get()
                answers.put(True)
                del tensor
        else:
            started = time.perf_counter_ns()
            if what == 'each':
                tensors = [queue.get() for _ in range(count)]
            elif what == 'list':
                tensors = queue.get()
            else:
                flat = queue.get()
                tensors = list(flat.split(flat.numel() // count))
            took = (time.perf_counter_ns() - started) / 1000
            assert len(tensors) == count
            answers.put(took)
            del tensors


class Queue:
    def __init__(self):
        context = mp.get_context('spawn')
        self.queue, self.answers = context.Queue(), context.Queue()
        self.process = context.Process(target=consume, args=(self.queue, self.answers))
        self.process.start()

    def round_trips(self, channel, count):
        tensors = [torch.zeros(1 << 19, device='cuda') for _ in range(count + 50)]
        torch.cuda.synchronize()
        self.queue.put(('one', len(tensors)))
        times = []
        for tensor in tensors:
            started = time.perf_counter_ns()
            self.queue.put(tensor)
            self.answers.get()
            times.append((time.perf_counter_ns() - started) / 1000)
        return median(times[50:])

    def consumer(self, what, count, repeats):
        times = []
        for _ in range(repeats):
            flat = torch.zeros(count * 1024, device='cuda')
            tensors = [torch.zeros(1024, device='cuda') for _ in range(count)]
            torch.cuda.synchronize()
            self.queue.put((what, count))
            time.sleep(0.05)
            if what == 'each':
                for tensor in tensors:
                    self.queue.put(tensor)
            else:
                self.queue.put(tensors if what == 'list' else flat)
            times.append(self.answers.get())
            del tensors, flat
        return median(times[1:])

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
        'each': lambda channel, count, repeats: queue.consumer('each', count, repeats),
        'list': lambda channel, count, repeats: queue.consumer('list', count, repeats),
        'flat': lambda channel, count, repeats: queue.consumer('flat', count, repeats),
        'end': queue.end,
    })
