"""Real forks: a child asks, or is told at once why it cannot; no charge is lost."""

import os

import pytest

import fresh_process

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

LIMIT = 60
"""Seconds for what takes two; a child that hangs is ended by it."""

BEGIN = """
import os, sys, threading, time, warnings
import pyarrow as pa
import discreet as dp
from discreet.errors import DiscreetError

warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, about threads and forks
COUNT = "SELECT city, SUM(n) / COUNT(*) AS x FROM visits GROUP BY city ORDER BY x"
ROWS = pa.table({"id": range(1000), "n": [1.0] * 1000, "city": ["Haifa", "Austin"] * 500})
curator = dp.Curator(sys.argv[1] if sys.argv[1:] else None)
curator.add("visits", ROWS, unit="id", budget=dp.Budget(epsilon=10, delta=1e-6),
            limits=dp.Limits(1, 1),
            columns={"n": dp.Bounds(0, 2), "city": dp.Keys(["Austin", "Haifa"])})

def ask(epsilon):
    return curator.sql(COUNT, epsilon=epsilon).to_bytes()

def charges(one):
    return [entry.kind for entry in one.ledger.entries()].count("charged")

def ends(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def words(work):
    try:
        work()
    except DiscreetError as refusal:
        return str(refusal)
"""


def run(script, *arguments):
    done = fresh_process.run(BEGIN + script, *arguments, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("before", [True, False])
def test_a_child_asks_the_folder_of_its_parent(tmp_path, before):
    script = f"""
known = ask(0.1) if {before} else None
for leave in (sys.exit, lambda: os._exit(0), lambda: curator.close() or os._exit(0)):
    if not (child := os.fork()):
        assert ask(0.1) == ask(0.1) and known in (None, ask(0.1))
        ask(0.2)
        leave()
    ask(0.4)
    assert ends(child) == 0
assert known in (None, ask(0.1))
ask(0.2)
print(charges(curator), curator.ledger.verify().ok)
"""
    assert run(script, tmp_path / "clinic") == ["3", "True"]


@pytest.mark.parametrize("before", [True, False])
def test_a_child_of_a_curator_in_memory_is_told_at_once(before):
    script = f"""
if {before}:
    ask(0.1)
if not (child := os.fork()):
    for work in (lambda: ask(0.1), lambda: ask(0.2), lambda: curator.budget("visits")):
        assert "use a curator in a folder" in words(work)
    curator.close()
    sys.exit()
assert ends(child) == 0
ask(0.4)
print(charges(curator))
"""
    assert run(script) == ["2" if before else "1"]


def test_what_a_child_charges_is_kept_when_its_parent_closes_the_ledger(tmp_path):
    script = """
ask(0.1)
asked, closed = os.pipe(), os.pipe()
if not (child := os.fork()):
    ask(0.2)
    os.write(asked[1], b".")
    os.read(closed[0], 1)
    ask(0.4)
    with dp.Curator(sys.argv[1]) as another:
        assert charges(another) == 3
    os._exit(0)
os.read(asked[0], 1)
curator.close()
os.write(closed[1], b".")
assert ends(child) == 0
with dp.Curator(sys.argv[1]) as another:
    print(charges(another), another.ledger.verify().ok)
"""
    assert run(script, tmp_path / "clinic") == ["3", "True"]


def test_a_fork_waits_for_threads_that_use_the_ledger_or_the_tables(tmp_path):
    script = """
from discreet.curator.ledger.witness import Witness
ask(0.1)
store, begun = curator.ledger._store, threading.Semaphore(0)

def transact(execute):
    begun.release()
    time.sleep(0.5)

def hold():
    with Witness(curator._folder.path / "tables.lock").held():
        begun.release()
        time.sleep(0.5)

def wait():
    with curator._data_store._lock, curator._jobs._lock:
        begun.release()
        time.sleep(2)

threads = [threading.Thread(target=store.transact, args=(transact,)),
           threading.Thread(target=store.snapshot, args=(transact,)),
           threading.Thread(target=hold), threading.Thread(target=wait)]
for thread in threads:
    thread.start()
for thread in threads:
    begun.acquire()
if not (child := os.fork()):
    ask(0.2)
    curator.add("others", ROWS, unit="id", budget=dp.Budget(epsilon=1, delta=1e-6))
    os._exit(0)
assert ends(child) == 0
ask(0.4)
for thread in threads:
    thread.join()
print(charges(curator), len(curator.datasets()))
"""
    assert run(script, tmp_path / "clinic") == ["3", "2"]


def test_a_child_computes_in_threads_of_its_own(tmp_path):
    script = """
from discreet.curator.orders.planned_orders import Terms

def later(epsilon):
    offer = curator._local.offer(COUNT, Terms(epsilon, None, None, None), None)
    receipt = curator._answer_service.charge(offer)
    return curator._jobs.start(receipt).result(20).to_bytes()

later(0.1)
if not (child := os.fork()):
    assert later(0.2) == ask(0.2)
    curator.close()
    os._exit(0)
assert ends(child) == 0
later(0.4)
print(charges(curator))
"""
    assert run(script, tmp_path / "clinic") == ["3"]


def test_a_child_that_is_forked_within_a_transaction_is_told_at_once(tmp_path):
    script = """
def fork(execute):
    child = os.fork()
    if not child:
        assert "fork while no question is under way" in words(lambda: ask(0.2))
        curator.close()
        os._exit(0)
    return child

assert ends(curator.ledger._store.transact(fork)) == 0
ask(0.4)
print(charges(curator), curator.ledger.verify().ok)
"""
    assert run(script, tmp_path / "clinic") == ["1", "True"]


def test_children_of_a_pool_ask_side_by_side(tmp_path):
    script = """
import multiprocessing
ask(0.1)
with multiprocessing.get_context("fork").Pool(3) as pool:
    answers = pool.map(ask, [0.1, 0.2, 0.2, 0.3, 0.3, 0.1])
assert [answers[0], answers[1], answers[3]] == [answers[5], answers[2], answers[4]]
assert answers[0] == ask(0.1)
print(charges(curator), curator.ledger.verify().ok)
"""
    assert run(script, tmp_path / "clinic") == ["3", "True"]


def test_an_engine_in_a_child_says_so_and_leaves_the_files_of_its_parent(tmp_path):
    script = """
from pathlib import Path
ask(0.1)
engine = curator._data_store.open(())
folder = Path(engine._database.execute("SELECT current_setting('temp_directory')").fetchone()[0])
if not (child := os.fork()):
    assert "forked process" in words(lambda: engine.snapshot().__enter__())
    engine.close()
    del engine
    sys.exit()
assert ends(child) == 0
assert folder.is_dir()
print(len(ask(0.2)) > 0)
"""
    assert run(script, tmp_path / "clinic") == ["True"]
