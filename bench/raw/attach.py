"""Attaching with multiprocessing.shared_memory, in another process than the one that made it.

Usage: attach.py NBYTES; for each line COUNT on standard input it prints the median nanoseconds of an attach, and of an
attach and close.
"""
import signal
import subprocess
import sys
import time
from multiprocessing import resource_tracker, shared_memory
from statistics import median


def attach(name: str) -> None:
    for line in sys.stdin:
        opens, both = [], []
        for _ in range(int(line)):
            start = time.perf_counter_ns()
            memory = shared_memory.SharedMemory(name=name)
            opened = time.perf_counter_ns()
            memory.close()
            both.append(time.perf_counter_ns() - start)
            opens.append(opened - start)
        if sys.version_info < (3, 13):
            # Attaching has told this process's tracker to remove the name at the end; it is the maker's.
            resource_tracker.unregister(f"/{name}", "shared_memory")
        print(round(median(opens)), round(median(both)), flush=True)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    memory = shared_memory.SharedMemory(create=True, size=int(sys.argv[1]))
    try:
        subprocess.run([sys.executable, __file__, "attach", memory.name], check=False)
    finally:
        memory.close()
        memory.unlink()


if sys.argv[1] == "attach":
    attach(sys.argv[2])
else:
    main()
