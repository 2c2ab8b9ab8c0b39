"""Sends what no channel sends: empty frames, frames that are too large, any number of descriptors. Each has to end the
connection. Arguments: path, seed, frames. Prints how many frames were sent."""
import array
import random
import socket
import sys

path, seed, frames = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
HELLO = bytes([0x82, 0xA1, 0x74, 0xA5]) + b"hello" + bytes([0xA8]) + b"versions" + bytes([0x91, 0x01])
choose = random.Random(seed)


def rights(count):
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * count))]


for number in range(frames):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(60)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    peer.connect(path)
    if choose.random() < 0.7:
        peer.send(HELLO)
        if not peer.recv(100).startswith(b"\x82\xa1t\xa7welcome"):
            sys.exit(f"frame {number}: not welcomed")
    kind = choose.randrange(5)
    try:
        if kind == 0:
            peer.send(b"")
        elif kind == 1:
            peer.send(choose.randbytes(65537 + choose.randrange(40000)))
        elif kind == 2:
            peer.sendmsg([b"x"], rights(choose.randrange(1, 254)))
        elif kind == 3:
            peer.sendmsg([b""], rights(choose.randrange(1, 254)))
        else:
            peer.sendmsg([choose.randbytes(65537 + choose.randrange(4000))], rights(choose.randrange(1, 254)))
        while peer.recv(65536):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass
    except TimeoutError:
        sys.exit(f"frame {number}, kind {kind}: the connection was not ended")
    peer.close()
print(frames)
