"""Files are sent to those who read them, and closed whoever does not."""

import socket
import threading
import time
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from discreet.server.answer_replies import send_file
from discreet.server.protocol import SEND_TIMEOUT, Protocol

SIZE = 30_000_000
ASK = b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"


def open_ones():
    """Sockets and files without a name that this process has open."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(str(one.readlink()))
    return sum(one.startswith("socket:") or one.endswith("(deleted)") for one in found)


@contextmanager
def sending():
    """A server of one large file; its port."""

    @asynccontextmanager
    async def life(_):
        yield {SEND_TIMEOUT: 0.5}

    def reply(_):
        return send_file(lambda file: file.write(bytes(SIZE)), "application/octet-stream")

    app = Starlette(routes=[Route("/", reply)], lifespan=life)
    settings = uvicorn.Config(app, port=0, http=Protocol, log_level="critical")
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def test_who_does_not_take_a_file_is_cut_off_and_it_is_closed():
    with sending() as port, ExitStack() as readers:
        before = open_ones()
        for _ in range(4):
            reader = readers.enter_context(socket.create_connection(("127.0.0.1", port)))
            reader.sendall(ASK)
            assert reader.recv(15) == b"HTTP/1.1 200 OK"
        end = time.monotonic() + 60
        while open_ones() > before + 4 and time.monotonic() < end:
            time.sleep(0.05)
        assert open_ones() == before + 4  # their own ends


def test_who_reads_slowly_is_sent_all_of_it():
    with sending() as port, socket.create_connection(("127.0.0.1", port)) as reader:
        reader.sendall(ASK)
        size = 0
        while part := reader.recv(1 << 20):
            size += len(part)
            time.sleep(0.02)
        assert size > SIZE
