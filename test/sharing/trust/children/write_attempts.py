"""Tries to change a memory file that descriptor 3 is of, in every way that there is, and prints what came of each.
Arguments: bytes of the file, pid of a process that has it mapped (its importer)."""
import ctypes
import errno
import fcntl
import json
import mmap
import os
import sys

FD = 3
SIZE = int(sys.argv[1])
IMPORTER = int(sys.argv[2])
PUNCH = 3  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
ZERO_RANGE = 0x10
MADV_REMOVE = 9
F_ADD_SEALS, F_SEAL_WRITE = 1033, 8
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for call in (libc.mprotect, libc.madvise):
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.remap_file_pages.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
libc.vmsplice.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_uint]
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
results = {}


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def attempt(name, action):
    try:
        action()
        results[name] = "done"
    except OSError as error:
        results[name] = errno.errorcode.get(error.errno, str(error.errno))
    except ValueError as error:
        results[name] = f"ValueError: {error}"


def reopened(flags=os.O_RDWR, of=f"/proc/self/fd/{FD}"):
    return os.open(of, flags)


def mapped(fd, protection=mmap.PROT_READ, flags=mmap.MAP_SHARED):
    address = libc.mmap(None, SIZE, protection, flags, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return address


def write_mapped(fd):
    address = mapped(fd, mmap.PROT_READ | mmap.PROT_WRITE)
    ctypes.memset(address, 0x55, SIZE)


def protect_and_write(fd):
    address = mapped(fd)
    checked(libc.mprotect(address, SIZE, mmap.PROT_READ | mmap.PROT_WRITE))
    ctypes.memset(address, 0x55, SIZE)


def write_own_mem(fd):
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(mapped(fd))
        memory.write(b"\x55" * 16)


def vm_write(pid, address):
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    data = ctypes.create_string_buffer(b"\x55" * 16)
    local, remote = Vector(ctypes.addressof(data), 16), Vector(address, 16)
    checked(libc.process_vm_writev(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))


def through_pipe(fd):
    # The page itself goes into the pipe, and from there into the file.
    ends = os.pipe()
    os.write(ends[1], b"\x55" * 4096)
    checked(libc.splice(ends[0], None, fd, None, 4096, 0))


def into_mapping(fd):
    # vmsplice out of a pipe writes to the mapping.
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    ends = os.pipe()
    os.write(ends[1], b"\x55" * 4096)
    vector = Vector(mapped(fd), 4096)
    checked(libc.vmsplice(ends[0], ctypes.addressof(vector), 1, 0))


def read_into(fd):
    with open("/dev/zero", "rb", buffering=0) as zero:
        checked(libc.read(zero.fileno(), ctypes.c_void_p(mapped(fd)), 4096))


def send_file(fd):
    source = os.memfd_create("source")
    os.write(source, b"\x55" * 4096)
    os.lseek(source, 0, 0)
    os.sendfile(fd, source, 0, 4096)


def copy_range(fd):
    source = os.memfd_create("source")
    os.write(source, b"\x55" * 4096)
    os.copy_file_range(source, fd, 4096, 0, 0)


def rewound(fd, action):
    os.lseek(fd, 0, 0)
    return action()


for label, fd in (("as it came", FD), ("reopened", reopened())):
    attempt(f"write, {label}", lambda: rewound(fd, lambda: os.write(fd, b"\x55")))
    attempt(f"pwrite, {label}", lambda: os.pwrite(fd, b"\x55", 0))
    attempt(f"pwritev, {label}", lambda: os.pwritev(fd, [b"\x55"], 0))
    attempt(f"sendfile, {label}", lambda: rewound(fd, lambda: send_file(fd)))
    attempt(f"copy_file_range, {label}", lambda: copy_range(fd))
    attempt(f"splice, {label}", lambda: rewound(fd, lambda: through_pipe(fd)))
    attempt(f"shared mapping, {label}", lambda: write_mapped(fd))
    attempt(f"mprotect, {label}", lambda: protect_and_write(fd))
    attempt(f"/proc/self/mem, {label}", lambda: write_own_mem(fd))
    attempt(f"process_vm_writev, {label}", lambda: vm_write(os.getpid(), mapped(fd)))
    attempt(f"vmsplice, {label}", lambda: into_mapping(fd))
    attempt(f"read into it, {label}", lambda: read_into(fd))
    attempt(f"madvise remove, {label}", lambda: checked(libc.madvise(mapped(fd), SIZE, MADV_REMOVE)))
    attempt(f"punch a hole, {label}", lambda: checked(libc.fallocate(fd, PUNCH, 0, 4096)))
    attempt(f"zero a range, {label}", lambda: checked(libc.fallocate(fd, ZERO_RANGE, 0, 4096)))
    attempt(f"truncate, {label}", lambda: os.ftruncate(fd, 0))
    attempt(f"grow, {label}", lambda: os.ftruncate(fd, SIZE * 2))
    attempt(f"add a seal, {label}", lambda: fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE))
attempt("append", lambda: os.write(reopened(os.O_WRONLY | os.O_APPEND), b"\x55"))
attempt("reopened to be emptied", lambda: reopened(os.O_RDWR | os.O_TRUNC))

line = next(line for line in open(f"/proc/{IMPORTER}/maps") if "memfd:usm-ipc" in line)
results["the importer's mapping"] = line.split()[1]
begin, end = line.split()[0].split("-")
begins = int(begin, 16)
attempt("its mapped file", lambda: os.pwrite(reopened(of=f"/proc/{IMPORTER}/map_files/{begin}-{end}"), b"\x55", 0))
attempt("its mapped file, mapped", lambda: write_mapped(reopened(of=f"/proc/{IMPORTER}/map_files/{begin}-{end}")))
attempt("its process_vm_writev", lambda: vm_write(IMPORTER, begins))


def write_its_mem():
    with open(f"/proc/{IMPORTER}/mem", "r+b", buffering=0) as memory:
        memory.seek(begins)
        memory.write(b"\x55" * 16)


attempt("its /proc/pid/mem", write_its_mem)
print(json.dumps(results))
