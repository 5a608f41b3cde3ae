"""Scripts in processes of their own, forked from one that has imported the package and no more.

To start Python and import the package takes a second of CPU, a fork takes next to none. A script is
the main module of its process and ends as any program does.
"""

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache

HOST = """
import importlib, json, os, socket, sys
for name in ("pyarrow.parquet", "duckdb", "psycopg", "discreet.curator.curator",
             "discreet.curator.opening", "discreet.curator.client.remote_backend",
             "discreet.sql.reader.released_select", "discreet.sql.reader.from_clause"):
    importlib.import_module(name)
asked = socket.socket(fileno=int(sys.argv[1]))
while True:
    said, files, *_ = socket.recv_fds(asked, 1 << 17, 2)
    if not said:
        os._exit(0)
    if not (child := os.fork()):
        break
    for file in files:
        os.close(file)
    asked.send(str(child).encode())
    asked.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
asked.close()
os.dup2(files[0], 1)
os.dup2(files[1], 2)
for file in files:
    os.close(file)
code, *sys.argv = json.loads(said)
exec(compile(code, "<string>", "exec"), globals())
"""


@cache
def _host():
    """A socket to the process that forks; that one ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = os.pathsep.join(filter(None, sys.path))
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", HOST, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": path},
        )

    def end():
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def run(script, *arguments, timeout=60):
    """What `subprocess.run([python, "-c", script, ...])` gives: status, stdout and stderr."""
    host, words = _host(), ["-c", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        socket.send_fds(host, [json.dumps([script, *words]).encode()], [out.fileno(), err.fileno()])
        child = int(host.recv(64))
        host.settimeout(timeout)
        try:
            status = int(host.recv(64))
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            host.settimeout(None)
            host.recv(64)
            raise subprocess.TimeoutExpired(script, timeout) from None
        host.settimeout(None)
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(script, status, out.read(), err.read())
