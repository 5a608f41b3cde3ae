"""Workers that charge and answer, killed at random moments; then the books are checked.

python killing.py PLACE KILLS SEED MUTANT LOGS
"""

import json
import os
import random
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path

from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, State
from discreet.errors import BudgetError
from discreet.privacy import Filter, Pure

WORKERS = 8
PACE = 800
"""New questions a second; those of the last moments are asked by several workers."""
CAP_PER_KILL = 4
"""So that the budget lasts for most of the run and not for all of it."""

NAP = 0.1
"""The planted fault shows when a worker dies between telling and storing: most nap there."""

PRICE = Filter.basic(epsilon=1).price(Pure(1))


def order(n):
    return Order("alice", "visits", "v1", f"question {n}", (PRICE,))


def work(place, log, seed, mutant, began):
    """Ask at random; note every question before and every answer in the moment it is known."""
    chance, ledger = random.Random(seed), Ledger.open(place, patience=1)  # noqa: S311
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        newest = int((time.monotonic() - began) * PACE)
        asked = order(newest + chance.randrange(40))
        note(file, asked, b"")
        if mutant == "answer first":
            note(file, asked, b"told too early")
        try:
            receipt = ledger.charge(asked)
        except BudgetError:
            continue
        if receipt.state is State.PENDING:
            continue
        release = receipt.release
        if release is None:
            kept = receipt if receipt.measured else ledger.keep(receipt, os.urandom(8))
            drawn = os.urandom(8) if mutant == "draw again" else kept.measured
            release = kept.release or b"answer " + drawn
            note(file, asked, release)  # what was measured is stored: this is the answer
            if mutant == "draw again":
                time.sleep(NAP)
            if kept.release is None:
                release = ledger.complete(kept, release)
        note(file, asked, release)


def note(file, asked, release):
    os.write(file, f"{asked.question} {release.hex()}\n".encode())


def start(place, log, seed, mutant, began):
    child = os.fork()
    if child:
        return child
    try:
        work(place, log, seed, mutant, began)
    finally:
        os._exit(1)


def answered(log):
    """Whether a worker was told an answer."""
    return any(not line.endswith(" ") for line in log.read_text().splitlines())


def kill(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def run(place, folder, kills, seed, mutant, cap):
    chance = random.Random(seed)  # noqa: S311
    with Ledger.open(place) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(cap).limit, by="owner")
    began = time.monotonic()
    logs = (folder / f"log {n}" for n in range(10**6))
    workers = [start(place, next(logs), chance.random(), mutant, began) for _ in range(WORKERS)]
    while not any(map(answered, folder.glob("log *"))):  # however slowly they begin
        time.sleep(0.01)
    for _ in range(kills):
        time.sleep(chance.expovariate(1 / 0.03))
        victim = chance.randrange(WORKERS)
        kill(workers[victim])
        workers[victim] = start(place, next(logs), chance.random(), mutant, began)
    time.sleep(0.3)
    for worker in workers:
        kill(worker)


def check(place, folder, cap):
    """Compare what was told with what is in the books, after finishing what was begun."""
    told, in_the_middle = defaultdict(set), 0
    for log in folder.glob("log *"):
        lines = [line.split(" ") for line in log.read_text().splitlines()]
        in_the_middle += bool(lines) and lines[-1][1] == ""
        for question, release in lines:
            if release:
                told[question].add(release)
    with Ledger.open(place) as ledger:
        pending = ledger.recover(patience=0, limit=10**6)
        for receipt in pending:
            kept = receipt if receipt.measured else ledger.keep(receipt, b"finished later")
            answer = b"answer " + kept.measured
            told[receipt.order.question].add(ledger.complete(kept, answer).hex())
        report, entries = ledger.verify(), ledger.entries(limit=10**7)
        charged = {e.facts["question"] for e in entries if e.kind == "charged"}
        released = sum(entry.kind == "released" for entry in entries)
        spent = ledger.account(dataset("visits")).total.amount
    return {
        "told": len(told),
        "killed in the middle": in_the_middle,
        "charged": len(charged),
        "finished later": len(pending),
        "overspent": int(len(charged) > cap or spent != len(charged)),
        "answers without a charge": len(set(told) - charged),
        "two answers to one charge": sum(len(answers) > 1 for answers in told.values()),
        "charges without an answer": len(charged) - released,
        "problem": report.problem and str(report.problem),
    }


if __name__ == "__main__":
    place, kills, seed, mutant = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    logs, cap = Path(sys.argv[5]), CAP_PER_KILL * kills
    run(place, logs, kills, seed, mutant, cap)
    sys.stdout.write(json.dumps(check(place, logs, cap)))
