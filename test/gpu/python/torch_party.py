import torch

from party import data, serve, text

kept = {}


def share(channel, skip, count):
    """A tensor inside a segment: others are before it."""
    kept['before'] = torch.zeros(skip, dtype=torch.uint8, device='cuda')
    tensor = torch.arange(count, dtype=torch.int32, device='cuda')
    kept['tensor'] = tensor
    storage = tensor.untyped_storage()
    device, handle, nbytes, offset, name, index, event, wait = storage._share_cuda_()
    return {'device': device, 'handle': text(handle), 'nbytes': nbytes, 'offset': offset, 'counter': name.decode(), 'index': index,
            'event': text(event), 'wait': wait, 'file': storage.data_ptr()}


def read_own(channel, index):
    torch.cuda.synchronize()
    return int(kept['tensor'][index].item())


def collect(channel):
    """What consumers are done with, torch may use again."""
    kept.clear()
    torch.cuda.ipc_collect()
    torch.cuda.empty_cache()
    return torch.cuda.memory_allocated()


def open(channel, handle, nbytes, offset, event):
    torch.cuda.init()  # what opens a share expects it
    storage = torch.UntypedStorage._new_shared_cuda(0, data(handle), nbytes, offset, b'/torch_no_such_file', 0, data(event), False)
    tensor = torch.tensor([], dtype=torch.uint8, device='cuda').set_(storage)
    kept['opened'] = tensor
    values = tensor.cpu().numpy().tobytes()
    tensor += 1
    torch.cuda.synchronize()
    return text(values)


def close(channel):
    kept.clear()
    torch.cuda.ipc_collect()
    return True


serve({'share': share, 'read own': read_own, 'collect': collect, 'open': open, 'close': close})
