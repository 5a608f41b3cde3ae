"""A device's ledger: for life, through crashes, whatever the clock says."""

import os
import subprocess
import sys
import threading
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet import local
from discreet.errors import BudgetError, InputError, LedgerError
from discreet.local.reports import HEAD

SURVEY = local.KRandomizedResponse(epsilon=1, domain=1000)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "told.jsonl"


def answer(report):
    return report[HEAD.size :]


def test_repeats_are_answered_from_memory_and_cost_once(path):
    with local.DeviceLedger(path, limit=2) as ledger:
        first = {answer(SURVEY.reporter(ledger).report(7)) for _ in range(20)}
        assert len(first) == 1
        assert ledger.spent == 1
    with local.DeviceLedger(path, limit=2) as ledger:
        assert {answer(SURVEY.reporter(ledger).report(7))} == first
        assert ledger.left == 1


def test_the_limit_holds_for_all_protocols_and_all_days(path, monkeypatch):
    others = (local.HadamardResponse(epsilon=1, domain=9), local.UnaryEncoding(epsilon=2, domain=9))
    with local.DeviceLedger(path, limit=3) as ledger:
        SURVEY.reporter(ledger).report(7)
        others[0].reporter(ledger).report(7)
        with pytest.raises(BudgetError) as refused:
            others[1].reporter(ledger).report(7)
        assert (refused.value.asked, refused.value.left) == (2.0, 1.0)
    for day in (10**9, 4 * 10**9, 0):  # no clock moves it, forwards or backwards
        monkeypatch.setattr(time, "time", lambda day=day: day)
        with local.DeviceLedger(path, limit=3) as ledger:
            assert ledger.spent == 2


def test_a_limit_can_be_lowered_and_never_raised(path):
    with local.DeviceLedger(path, limit=5) as ledger:
        SURVEY.reporter(ledger).report(1)
    with local.DeviceLedger(path, limit=2) as ledger:
        assert ledger.limit == 2
    with local.DeviceLedger(path, limit=50) as ledger:
        assert (ledger.limit, ledger.left) == (2, 1)


def test_a_line_that_a_crash_cut_short_was_never_told(path):
    with local.DeviceLedger(path, limit=5) as ledger:
        kept = answer(SURVEY.reporter(ledger).report(1))
    whole = path.read_bytes()
    with local.DeviceLedger(path, limit=5) as ledger:
        SURVEY.reporter(ledger).report(2)
    longer = path.read_bytes()
    for cut in (len(whole) + 1, len(longer) - 1):
        path.write_bytes(longer[:cut])
        with local.DeviceLedger(path, limit=5) as ledger:
            assert ledger.spent == 1
            assert answer(SURVEY.reporter(ledger).report(1)) == kept
        assert path.read_bytes() == whole


def test_a_crash_before_the_first_line_leaves_a_new_ledger(path):
    local.DeviceLedger(path, limit=5).close()
    line = path.read_bytes()
    for cut in (0, 10, 64, 70, len(line) - 1):
        path.write_bytes(line[:cut])
        with local.DeviceLedger(path, limit=5) as ledger:
            assert ledger.spent == 0


def test_a_file_that_is_no_ledger_stays_as_it_is(path):
    """Somebody's letter, or a ledger that a broken disk has zeroed, is no new ledger."""
    for data in (b"Dear Fanny, no line ends here", bytes(400), bytes(10), b"ab" * 32 + b" {}"):
        path.write_bytes(data)
        with pytest.raises(LedgerError, match="changed"):
            local.DeviceLedger(path, limit=5)
        assert path.read_bytes() == data


def test_threads_cannot_pass_the_limit_together(path, monkeypatch):
    """While one waits for the disk, another asks for what the first is about to spend."""
    inside, real = threading.Event(), os.fsync

    def slow(file):
        inside.set()
        time.sleep(0.2)
        real(file)

    with local.DeviceLedger(path, limit=1) as ledger:
        monkeypatch.setattr(os, "fsync", slow)
        first = threading.Thread(target=SURVEY.reporter(ledger).report, args=(1,))
        first.start()
        inside.wait()
        with pytest.raises(BudgetError):
            SURVEY.reporter(ledger).report(2)
        with pytest.raises(BudgetError):
            ledger.charge("another", Fraction(1))
        first.join()
        assert ledger.spent == 1
    with local.DeviceLedger(path, limit=1) as ledger:
        assert ledger.spent == 1


def test_a_ledger_that_was_changed_tells_nothing_more(path):
    with local.DeviceLedger(path, limit=5) as ledger:
        SURVEY.reporter(ledger).report(1)
        SURVEY.reporter(ledger).report(2)
    lines = path.read_bytes().splitlines(keepends=True)
    broken = [
        b"".join(lines[:1] + lines[2:]),
        b"".join(lines).replace(b'"epsilon":"1"', b'"epsilon":"0"', 1),
        b"".join(lines[1:]),
        b"\n" + b"".join(lines),
    ]
    for data in broken:
        path.write_bytes(data)
        with pytest.raises(LedgerError, match="changed"):
            local.DeviceLedger(path, limit=5)
    path.write_bytes(b"".join(lines))
    local.DeviceLedger(path, limit=5).close()  # a refusal keeps no lock


def test_two_programs_cannot_spend_the_same_budget(path):
    with local.DeviceLedger(path, limit=5), pytest.raises(LedgerError, match="elsewhere"):
        local.DeviceLedger(path, limit=5)


def test_a_child_after_a_fork_tells_nothing_new(path):
    with local.DeviceLedger(path, limit=5) as ledger:
        told = answer(SURVEY.reporter(ledger).report(1))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                same = answer(SURVEY.reporter(ledger).report(1)) == told
                with pytest.raises(LedgerError, match="another process"):
                    SURVEY.reporter(ledger).report(0)
                status = 0 if same else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_cannot_be_written_is_not_told(path, monkeypatch):
    with local.DeviceLedger(path, limit=5) as ledger:
        with monkeypatch.context() as full:
            full.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space")))
            with pytest.raises(LedgerError, match="No space"):
                SURVEY.reporter(ledger).report(1)
        assert ledger.spent == 0
        SURVEY.reporter(ledger).report(1)
    with local.DeviceLedger(path, limit=5) as ledger:
        assert ledger.spent == 1


def test_killed_devices_have_told_no_more_than_they_wrote(path):
    """Every answer that a killed process printed is in its ledger, and is given again."""
    code = (
        "import sys; from discreet import local\n"
        "survey = local.KRandomizedResponse(epsilon=1, domain=1000)\n"
        f"ledger = local.DeviceLedger({str(path)!r}, limit=100)\n"
        "for value in range(40):\n"
        "    print(value, survey.reporter(ledger).report(value)[32:].hex(), flush=True)\n"
        "    if value == 25: import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    told = dict(line.split() for line in done.stdout.splitlines())
    with local.DeviceLedger(path, limit=100) as ledger:
        assert len(told) == 26
        assert ledger.spent == 26
        again = {v: answer(SURVEY.reporter(ledger).report(int(v))).hex() for v in told}
    assert again == told


def test_rappor_keeps_its_permanent_response_and_draws_the_rest(path):
    protocol = local.Rappor()
    with local.DeviceLedger(path, limit=5) as ledger:
        reports = {answer(protocol.reporter(ledger).report("en")) for _ in range(10)}
        assert ledger.spent == protocol.epsilon
        with pytest.raises(BudgetError):
            protocol.reporter(ledger).report("he")
    assert len(reports) == 10
    assert len({one[:2] for one in reports}) == 1  # the cohort is part of what is kept


def test_a_changing_number_costs_two_answers_in_a_life(path):
    protocol = local.Mean1Bit(epsilon=Fraction(1, 2), lower=0, upper=24)
    with local.DeviceLedger(path, limit=1) as ledger:
        said = [answer(protocol.reporter(ledger).report(h)) for h in np.linspace(0, 24, 60)]
        assert ledger.spent <= 1
    changes = sum(a != b for a, b in pairwise(said))
    assert changes <= 1  # the threshold is crossed once


def test_a_device_reports_for_one_person(path):
    with local.DeviceLedger(path, limit=5) as ledger, pytest.raises(InputError, match="one person"):
        SURVEY.reporter(ledger).report([1, 2])
