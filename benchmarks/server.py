"""A server under load: 64 analysts who ask new questions, then old ones, then some run out.

They share the machine with the server, so all of them are one process with plain sockets that
reads no more of a reply than its status and price; what it takes is told too. Replies leave on
ticks of a quarter of a second: on one connection nobody can be told more than four a second. So old
questions are asked on `TABS` connections an analyst. Every number of workers that makes sense on
this machine is measured, each on a folder of its own.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from fractions import Fraction
from itertools import count
from pathlib import Path

import discreet as dp

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import many_analysts
import running_server

ANALYSTS, POOR = 64, 16
AFFORDED = 10
"""Questions that each of the poor can pay for; the others forty times as many."""
TABS = 2
SECONDS = float(os.environ.get("DISCREET_BENCH_SECONDS", "60"))
WORKERS = os.environ.get("DISCREET_BENCH_WORKERS", f"1 {os.cpu_count() or 2}")
_PRICE = re.compile(rb'"price":\s*{"epsilon":\s*([0-9.e-]+)')


def main() -> None:
    for workers in map(int, dict.fromkeys(WORKERS.split())):
        with tempfile.TemporaryDirectory(prefix="discreet-bench-") as place:
            under_load(Path(place) / "clinic.discreet", workers)


def under_load(folder, workers):
    with dp.Curator(folder) as curator:
        many_analysts.furnish(curator, POOR + ANALYSTS, pocket=40 * AFFORDED, poor=POOR)
    with running_server.serving(folder, workers=workers) as server:
        who = range(POOR, POOR + ANALYSTS)
        tokens = {n: server.token(f"analyst {n}", "analyst") for n in range(POOR + ANALYSTS)}
        new, new_cpu = measured(server, [(n, tokens[n]) for n in who], SECONDS)
        old, old_cpu = measured(server, TABS * [(n, tokens[n]) for n in who], SECONDS / 4, old=True)
        poor, _ = measured(server, [(n, tokens[n]) for n in range(POOR)], 600, most=AFFORDED + 3)
    new.answers += poor.answers
    new.errors += old.errors + poor.errors
    with dp.Curator(folder) as curator:
        many_analysts.check(curator, new)
    if (new.refusals, poor.refusals) != (0, 3 * POOR):
        raise SystemExit("not those ran out of budget who should have")
    print(f"{ANALYSTS} analysts, {workers} workers, quantum 250 ms, {new.wall:.0f} s")
    figures = {
        "new answers a second": len(new.seconds) / new.wall,
        "p50, ms": new.quantile(0.5) * 1000,
        "p95, ms": new.quantile(0.95) * 1000,
        "server CPU, ms a new answer": 1000 * new_cpu / len(new.seconds),
        "CPU of those who ask, ms an answer": 1000 * new.cpu / len(new.seconds),
        "repeats a second": len(old.seconds) / old.wall,
        "repeats: p95, ms": old.quantile(0.95) * 1000,
        "server CPU, ms a repeat": 1000 * old_cpu / len(old.seconds),
        f"budget refusals, of {POOR} others afterwards": poor.refusals,
        "lost or double charges": 0,
    }
    for what, figure in figures.items():
        print(f"{what:<48}{figure:>10,.1f}")


def measured(server, askers, seconds, **how):
    """What a crowd was told, and the CPU seconds of the server meanwhile."""
    before, mine, tally = cpu(server.process.pid), time.process_time(), many_analysts.Tally()
    began = time.monotonic()

    async def crowd():
        end = began + seconds
        await asyncio.gather(*(ask(server.port, *one, end, tally, **how) for one in askers))

    asyncio.run(crowd())
    tally.wall, tally.cpu = time.monotonic() - began, time.process_time() - mine
    return tally, cpu(server.process.pid) - before


async def ask(port, analyst, token, end, tally, *, old=False, most=None):
    """Ask one question after another, or the first one again and again; `most` of them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = (
        f"POST /v1/queries HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}"
        "\r\nContent-Type: application/json\r\nContent-Length: "
    )
    for n in count() if most is None else range(most):
        if time.monotonic() > end:
            break
        sql = many_analysts.question(analyst, 0 if old else n)
        question = json.dumps({"sql": sql, "epsilon": many_analysts.EPSILON})
        began = time.perf_counter()
        writer.write(f"{said}{len(question)}\r\n\r\n{question}".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        body = await reader.readexactly(int(length))
        took, status = time.perf_counter() - began, int(head.split(b" ", 2)[1])
        if status == 200:
            paid = Fraction(_PRICE.search(body)[1].decode())
            tally.answers.append((analyst, n, paid))
            tally.seconds.append(took)
        elif status == 402:
            tally.refusals += 1
        else:
            tally.errors.append(body)
    writer.close()


def cpu(process):
    """CPU seconds of a process and its children, by what Linux says."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
        threads = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(one) for each in threads for one in (each / "children").read_text().split()]
    except OSError:
        return 0.0
    parts = text.rpartition(")")[2].split()
    own = (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(cpu, children))


if __name__ == "__main__":
    main()
