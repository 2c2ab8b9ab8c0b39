"""Writes test/data/safetensors.json: what the format's reference implementation says of files, and files that it writes.

    npx tsx test/safetensors/reference.ts | python reference.py > test/data/safetensors.json

Needs the packages safetensors (0.8.0 was used), numpy and ml_dtypes. Standard input: lines of base64, a file each.
"""
import base64
import json
import sys

import ml_dtypes
import numpy
import safetensors
from safetensors.numpy import save


def verdict(file):
    try:
        safetensors.deserialize(file)
        return "ok"
    except safetensors.SafetensorError as error:
        return str(error)


def written():
    dtypes = {
        "BOOL": numpy.bool_, "U8": numpy.uint8, "I8": numpy.int8, "I16": numpy.int16, "U16": numpy.uint16, "F16": numpy.float16,
        "BF16": ml_dtypes.bfloat16, "I32": numpy.int32, "U32": numpy.uint32, "F32": numpy.float32, "C64": numpy.complex64,
        "F64": numpy.float64, "I64": numpy.int64, "U64": numpy.uint64, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    }
    for name, dtype in dtypes.items():
        for shape in [(), (1,), (3, 5), (2, 0, 4), (2, 3, 4)]:
            numbers = numpy.arange(int(numpy.prod(shape, dtype=int))) % 2
            array = numpy.ascontiguousarray(numbers.astype(dtype)).reshape(shape)
            try:
                file = save({"first": array, "ä.second": array.copy()}, {"format": "np"})
            except (KeyError, ValueError, safetensors.SafetensorError) as error:
                print(f"not written: {name} {shape}: {error!r}", file=sys.stderr)
                continue
            tensors = {
                n: {"dtype": t["dtype"], "shape": list(t["shape"]), "data": base64.b64encode(bytes(t["data"])).decode()}
                for n, t in safetensors.deserialize(file)
            }
            yield {"file": base64.b64encode(file).decode(), "tensors": tensors}


files = [{"file": line.strip(), "reference": verdict(base64.b64decode(line))} for line in sys.stdin]
print(json.dumps({"source": f"safetensors {safetensors.__version__} (PyPI), by test/safetensors/reference.py", "files": files, "written": list(written())}))
