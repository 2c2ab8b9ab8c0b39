"""Makes memory files on request: one line of JSON in, the descriptor's number out. The files live as long as this does."""
import fcntl
import json
import os
import sys

F_ADD_SEALS = 1033
keep = []
for line in sys.stdin:
    wish = json.loads(line)
    fd = os.memfd_create("usm-ipc-test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, wish["size"])
    os.pwrite(fd, bytes([wish["fill"]]) * min(wish["size"], 65536), 0)
    fcntl.fcntl(fd, F_ADD_SEALS, wish["seals"])
    keep.append(fd)
    stat = os.fstat(fd)
    print(json.dumps({"fd": fd, "dev": str(stat.st_dev), "ino": str(stat.st_ino)}), flush=True)
