"""One Python library at the other end of a channel: commands are JSON lines on standard input, answers JSON lines on
standard output; descriptors come and go over a socket that is descriptor 3."""
import base64
import json
import os
import socket
import sys
import traceback


def serve(commands):
    channel = socket.socket(fileno=3)
    out = os.fdopen(os.dup(1), 'w', buffering=1)
    os.dup2(2, 1)  # what libraries print goes to standard error
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {'value': commands[request.pop('do')](channel=channel, **request)}
        except Exception as error:
            traceback.print_exc()
            answer = {'error': f'{type(error).__name__}: {error}'}
        print(json.dumps(answer), file=out, flush=True)


def send_fd(channel, fd):
    socket.send_fds(channel, [b'fd'], [fd])


def receive_fd(channel):
    _, fds, _, _ = socket.recv_fds(channel, 1024, 1)
    return fds[0]


def text(data):
    return base64.b64encode(bytes(data)).decode()


def data(text):
    return base64.b64decode(text)
