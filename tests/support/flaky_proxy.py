"""A proxy that loses connections when it is told to: a client must not notice, or be told."""

import contextlib
import socket
import threading


class Proxy:
    """Passes bytes on to a server; of the next `cuts` connections the reply is thrown away.

    With `before`, they are cut before the request goes on; else after the server has answered.
    """

    def __init__(self, port):
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.cuts, self.before, self.seen = 0, False, 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self):
        self._listening.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            while request := _whole(client):
                self.seen += 1
                cut, self.cuts = self.cuts > 0, max(0, self.cuts - 1)
                if cut and self.before:
                    return
                with socket.create_connection(("127.0.0.1", self._target)) as server:
                    server.sendall(self._addressed(request))
                    reply = _whole(server)
                if cut:
                    client.sendall(reply[: len(reply) // 2])
                    return
                client.sendall(reply)

    def _addressed(self, request):
        """The request under the server's own name, as a proxy passes it on."""
        own = self.url.removeprefix("http://").encode()
        return request.replace(own, f"127.0.0.1:{self._target}".encode(), 1)


def _whole(connection):
    """One message with its body, by its Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line.partition(b":") for line in head.split(b"\r\n")]
    sizes = [int(value) for name, _, value in lines if name.lower() == b"content-length"]
    while len(body) < (sizes[0] if sizes else 0):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
