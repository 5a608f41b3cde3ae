"""A server under load: 64 analysts who ask new questions, then old ones, over real connections.

They share the machine with the server, so they speak plain HTTP and read no more than the price.
Replies leave on ticks of a quarter of a second: on one connection nobody can be told more than four
a second. So old questions are asked on `TABS` connections an analyst.
"""

import http.client
import json
import os
import sys
import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path

import discreet as dp

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import many_analysts
import running_server

ANALYSTS = 64
TABS = 2
SECONDS = float(os.environ.get("DISCREET_BENCH_SECONDS", "60"))
WORKERS = os.cpu_count() or 2


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as place:
        folder = Path(place) / "clinic.discreet"
        with dp.Curator(folder) as curator:
            many_analysts.furnish(curator, ANALYSTS, pocket=400, poor=ANALYSTS // 4)
        with running_server.serving(folder, workers=WORKERS) as server:
            names = [f"analyst {n}" for n in range(ANALYSTS)]
            tokens = [server.token(name, "analyst") for name in names]
            new, new_cpu = measured(server, tokens, SECONDS, again=False)
            old, old_cpu = measured(server, TABS * tokens, SECONDS / 4, again=True)
        with dp.Curator(folder) as curator:
            many_analysts.check(curator, new)
        if not new.refusals:
            raise SystemExit("nobody ran out of budget, and a quarter of them should have")
        show(new, new_cpu, old, old_cpu)


def measured(server, tokens, seconds, *, again):
    """What a crowd was told, and the CPU seconds of the server meanwhile."""
    before, tally = cpu(server.process.pid), many_analysts.Tally()
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=ask, args=(server.port, token, n % ANALYSTS, end, tally, again))
        for n, token in enumerate(tokens)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally.wall = time.monotonic() - end + seconds
    return tally, cpu(server.process.pid) - before


def ask(port, token, analyst, end, tally, again):
    """Ask one question after another; the first one `again` and again, if it can be paid for."""
    connection, n = http.client.HTTPConnection("127.0.0.1", port, timeout=60), 0
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    while time.monotonic() < end:
        question = {"sql": many_analysts.question(analyst, 0 if again else n)}
        began = time.perf_counter()
        connection.request(
            "POST", "/v1/queries", json.dumps(question | {"epsilon": many_analysts.EPSILON}), sent
        )
        reply = connection.getresponse()
        body = reply.read()
        took, n = time.perf_counter() - began, n + 1
        if reply.status == 200:
            tally.answers.append((analyst, n, Fraction(str(json.loads(body)["price"]["epsilon"]))))
            tally.seconds.append(took)
        elif reply.status == 402:
            tally.refusals += 1
        else:
            tally.errors.append(body)
    connection.close()


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


def show(new, new_cpu, old, old_cpu):
    print(f"{ANALYSTS} analysts, {WORKERS} workers, quantum 250 ms, {new.wall:.0f} s")
    figures = {
        "new answers": len(new.answers),
        "budget refusals besides": new.refusals,
        "errors": len(new.errors) + len(old.errors),
        "lost or double charges": 0,
        "new answers a second": len(new.answers) / new.wall,
        "p50, ms": new.quantile(0.5) * 1000,
        "p95, ms": new.quantile(0.95) * 1000,
        "server CPU, ms a new answer or refusal": 1000
        * new_cpu
        / (len(new.answers) + new.refusals),
        "repeats a second": len(old.answers) / old.wall,
        "repeats: p95, ms": old.quantile(0.95) * 1000,
        "server CPU, ms a repeat": 1000 * old_cpu / len(old.answers),
    }
    for what, figure in figures.items():
        print(f"{what:<44}{figure:>12,.1f}")


if __name__ == "__main__":
    main()
