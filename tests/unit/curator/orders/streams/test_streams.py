"""Standing questions: charged once, answered period by period, the past never changes."""

import datetime as dt
import json
import math
import random
import threading
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.answer_service import AnswerService
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.streams.stream_orders import StreamOrder
from discreet.engines.timing import ReleaseSchedule
from discreet.errors import DiscreetError, EngineError, LedgerError
from discreet.mechanisms.prefix_sums import BITS
from discreet.mechanisms.vector_stream import VectorStream
from discreet.plan.bounding import FULL
from discreet.sql.writer.compile_stream import CompiledStream

CITIES = ["Austin", "Haifa", "Oslo"]
FIRST = dt.date(2026, 1, 1)
COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
TERMS = {"every": "day", "until": dt.date(2026, 1, 8), "epsilon": 1000, "delta": 1e-7}


def day(number):
    return FIRST + dt.timedelta(days=number - 1)


def visits(rows):
    """Rows of (user, day, city) with days as numbers; None is NULL."""
    user, when, city = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "user": pa.array(user, pa.int64()),
            "day": pa.array([None if one is None else day(one) for one in when], pa.date32()),
            "city": pa.array(city, pa.string()),
        }
    )


def clinic(rows, place=None, unit="user", **more):
    curator = dp.Curator(place, **more)
    curator.add(
        "visits",
        visits(rows),
        unit=unit,
        budget=dp.Budget(epsilon=10**5, delta=1e-5),
        columns={"city": dp.Keys(CITIES), "day": dp.Bounds(FIRST, dt.date(2026, 12, 31))},
    )
    return curator


def totals(release, column="n"):
    """The rows of each day as {city: number}."""
    found = defaultdict(dict)
    for row in release.table.to_pylist():
        found[(row["day"] - FIRST).days + 1][row["city"]] = row[column]
    return dict(found)


def some_parts(seed, people=30, parts=4):
    """Rows in parts, late ones and strange ones too, and through which day each part is."""
    draw = random.Random(seed)  # noqa: S311 - rows of a test
    days = [*range(1, 9), None, 400, -3]
    cities = [*CITIES, "Rome", None]
    made = [
        [
            (draw.choice([*range(people), None]), draw.choice(days), draw.choice(cities))
            for _ in range(draw.randrange(40))
        ]
        for _ in range(parts)
    ]
    through = sorted(draw.choice([*range(1, 9), None]) or 0 for _ in range(parts - 1))
    return made, [one or None for one in through]


def model(parts, through, max_periods, max_rows, *, by_row=False):
    """What each complete day adds, computed row by row: {day: {city: weight}}."""
    done, arrival = 0, {0: None}
    for number, last in enumerate(through, 1):
        arrival[number] = None
        if last is not None and last > done:
            arrival = {part: step or done + 1 for part, step in arrival.items()}
            done = last
    rows = defaultdict(lambda: defaultdict(Counter))
    for number, part in enumerate(parts):
        for place, (user, said, city) in enumerate(part):
            when = said if said is None else max(said, 1)  # clamped to the bounds of the column
            here = arrival[number]
            if None in (when, here) or (user is None and not by_row) or city not in CITIES:
                continue
            if when <= done:
                who = (number, place) if by_row else user
                rows[who][max(when, here)][city] += 1
    added = {t: Counter() for t in range(1, done + 1)}
    for steps in rows.values():
        for t in sorted(steps)[:max_periods]:
            size = sum(steps[t].values())
            weight = FULL if size <= max_rows else int(FULL * max_rows * (1 - 2.0**-40) / size)
            for city, n in steps[t].items():
                added[t][city] += n * weight
    return added


def read(curator, max_periods, max_rows):
    """What each complete day adds, read by the engine."""
    terms = {**TERMS, "max_periods": max_periods, "max_rows": max_rows}
    watched = curator.watch(COUNT, **terms)
    found = curator.ledger.find(watched.charge)
    planned = curator._answer_service._planned(
        dp.curator.ledger.orders.Receipt(watched.charge, found.order, None)
    )
    due = curator._streams._due(planned)
    if not due:
        return {}
    exact = curator._streams._read(planned, due)
    return {
        t: Counter({city: int(n) for city, n in zip(CITIES, row, strict=True) if n})
        for t, row in enumerate(exact, 1)
    }


def living(parts, through, **more):
    curator = clinic(parts[0], **more)
    for rows, last in zip(parts[1:], through, strict=True):
        complete = None if last is None else day(last)
        curator.append("visits", visits(rows), through=complete, again=True)
    return curator


@pytest.mark.parametrize("seed", range(3))
def test_each_period_adds_what_the_model_says(seed):
    parts, through = some_parts(seed)
    for unit, bounds in (("user", (2, 1)), (dp.EachRow(), (1, 1))):
        by_row = unit != "user"
        with living(parts, through, unit=unit) as curator:
            assert read(curator, *bounds) == model(parts, through, *bounds, by_row=by_row)


@pytest.mark.parametrize("seed", [1])
def test_a_person_changes_as_many_periods_as_stated_and_no_more_in_each(seed):
    parts, through = some_parts(seed, people=2)
    with living(parts, through) as curator:
        whole = read(curator, 2, 3)
    for person in range(2):
        without = [[row for row in part if row[0] != person] for part in parts]
        with living(without, through) as curator:
            rest = read(curator, 2, 3)
        moved = [
            sum(abs(whole[t][city] - rest[t][city]) for city in CITIES)
            for t in whole
            if whole[t] != rest[t]
        ]
        assert len(moved) <= 2
        assert all(size <= 3 * FULL for size in moved)


MUTANTS = [
    ('PARTITION BY "_person" ORDER', 'PARTITION BY "_person", step ORDER'),  # a reset at midnight
    ("turn <= 1", "turn > 1"),  # somebody is skipped
    ("l1 > 1", "FALSE"),  # nobody weighs less
    ("a.step > c.step", "FALSE"),  # a late row counts in its own period, which is told
    ("a.step > c.step", "TRUE"),  # an early row counts before its day has come
]


def test_mutants_of_the_bounding_are_caught(monkeypatch):
    parts = [
        [(1, 1, "Oslo"), (1, 2, "Oslo"), (2, 1, "Oslo"), (2, 1, "Haifa"), (3, 3, "Oslo")],
        [(4, 1, "Haifa"), (5, 3, "Haifa")],
        [(6, 1, "Austin"), (7, 5, "Austin")],
    ]
    through = [1, 5]
    names = ("totals", "_cells", "_turns")
    sound = {name: getattr(CompiledStream, name).fget for name in names}

    def mutated(name, right, wrong):
        def changed(compiled):
            kept = sound[name](compiled)
            if isinstance(kept, str):
                return kept.replace(right, wrong)
            return kept._replace(select=kept.select.replace(right, wrong))

        return property(changed)

    with living(parts, through) as curator:
        assert read(curator, 1, 1) == model(parts, through, 1, 1)
        for right, wrong in MUTANTS:
            with monkeypatch.context() as patch:
                for name in names:
                    patch.setattr(CompiledStream, name, mutated(name, right, wrong))
                assert read(curator, 1, 1) != model(parts, through, 1, 1), wrong


def test_what_was_told_stays_when_later_parts_come():
    parts, through = some_parts(11, parts=6)
    through = [1, 2, 4, 5, 8]
    told = {}
    with clinic(parts[0]) as curator:
        for rows, last in zip(parts[1:], through, strict=True):
            curator.append("visits", visits(rows), through=day(last))
            now = read(curator, 2, 1)
            assert {t: now[t] for t in told} == told
            told = now
        assert len(told) == 8


def test_running_totals_and_periods_add_up_and_a_late_row_counts_when_it_arrives(tmp_path):
    with clinic([(i, 1, "Haifa") for i in range(100)], tmp_path / "c") as curator:
        watched = curator.watch(COUNT, **TERMS)
        assert watched.release().table.num_rows == 0
        curator.append("visits", visits([(200, 2, "Oslo")]), through=day(2))
        first = watched.release()
        assert totals(first, "n_added") == {
            1: {"Austin": 0, "Haifa": 100, "Oslo": 0},
            2: {"Austin": 0, "Haifa": 0, "Oslo": 1},
        }
        curator.append("visits", visits([(i, 1, "Austin") for i in range(300, 350)]))  # late
        curator.append("visits", visits([(201, 3, "Oslo"), (202, 5, "Oslo")]), through=day(3))
        now = watched.release()
        assert totals(now)[2] == totals(first)[2]
        assert totals(now)[3] == {"Austin": 50, "Haifa": 100, "Oslo": 2}
        running = Counter()
        for t, added in totals(now, "n_added").items():
            running.update(added)
            assert dict(running) == totals(now)[t]
        assert "3 of 8 periods have been answered" in now.notes


def test_periods_are_answered_as_parts_arrive(tmp_path):
    with clinic([(1, 1, "Haifa")], tmp_path / "c") as curator:
        watched = curator.watch(COUNT, **TERMS)
        other = curator.watch(COUNT, **{**TERMS, "epsilon": 900}, analyst="ana")
        curator.append("visits", visits([(2, 1, "Oslo")]))  # of which nobody says that it is all
        assert not curator.ledger.steps(watched.charge)
        curator.append("visits", visits([(2, 2, "Oslo")]), through=day(2))
        assert [len(curator.ledger.steps(one.charge)) for one in (watched, other)] == [2, 2]
    with dp.Curator(tmp_path / "c") as again:
        again.append("visits", visits([(3, 3, "Oslo")]), through=day(3))
        assert len(again.ledger.steps(watched.charge)) == 3


AMOUNTS = pa.table(
    {
        "user": pa.array([1, 1, 2, 3, 3, 4, None]),
        "day": pa.array([day(one) for one in (1, 1, 1, 2, 2, 2, 1)], pa.date32()),
        "city": ["Oslo", "Haifa", "Oslo", "Oslo", "Oslo", "Haifa", "Oslo"],
        "paid": pa.array([5, -3, 10, 4, None, 50, 9]),
        "share": pa.array([0.5, 0.25, -0.5, 1.0, 0.5, 0.75, 1.0]),
    }
)
SEVERAL = """SELECT city, COUNT(*) AS n, COUNT(paid) AS m, SUM(paid) AS total, SUM(share) AS part,
COUNT(*) FILTER (WHERE share > 0) AS some FROM visits WHERE user <> 4 GROUP BY city"""


def paying(curator, budget=None):
    bounds = {"paid": dp.Bounds(-10, 10), "share": dp.Bounds(-1, 1), "city": dp.Keys(CITIES)}
    bounds["day"] = dp.Bounds(FIRST, dt.date(2026, 12, 31))
    budget = budget or dp.Budget(epsilon=10**7, delta=1e-5)
    curator.add("visits", AMOUNTS, unit="user", budget=budget, columns=bounds)
    return curator


def test_sums_filters_and_several_aggregates_share_one_price():
    with paying(dp.Curator.in_memory()) as curator:
        watched = curator.watch(SEVERAL, **{**TERMS, "epsilon": 10**6, "max_rows": 2})
        curator.append("visits", AMOUNTS.slice(0, 0), through=day(2))
        rows = {(r["day"].day, r["city"]): r for r in watched.release().table.to_pylist()}
        wanted = ["n", "m", "total", "part", "some", "total_added"]
        near = partial(pytest.approx, abs=0.05)
        assert [rows[1, "Oslo"][one] for one in wanted] == near([2, 2, 15, 0, 1, 15])
        assert [rows[2, "Oslo"][one] for one in wanted] == near([4, 3, 19, 1.5, 3, 4])
        assert [rows[2, "Haifa"][one] for one in wanted] == near([1, 1, -3, 0.25, 1, 0])
        told = curator.explain_order("stream", {**json.loads(_spec()), "sql": SEVERAL})
        assert list(told.facts["columns"]) == ["n", "m", "total", "part", "some"]
        assert "running totals total" in told.text


def test_nothing_to_group_by_is_one_running_total():
    with paying(dp.Curator.in_memory()) as curator:
        watched = curator.watch("SELECT SUM(paid) AS s FROM visits", **{**TERMS, "epsilon": 10**6})
        curator.append("visits", AMOUNTS.slice(0, 0), through=day(2))
        # One row each: who has two on a day weighs half for either.
        assert watched.release().table.column("s").to_pylist() == [11, 23]


@pytest.mark.parametrize("sql", [SEVERAL, "SELECT SUM(paid) AS s FROM visits WHERE user = 9"])
def test_one_person_moves_all_sums_of_a_period_by_no_more_than_the_sensitivity(sql):
    wild = {"user": [9, 9, 9], "day": [day(1)] * 3, "city": ["Oslo", "Oslo", "Haifa"]}
    rows = pa.table({**wild, "paid": [999, 10, 999], "share": [1e300, 1.0, -7.0]})
    for limit in (1, 3):
        vectors = []
        for part in (AMOUNTS.slice(0, 0), rows.cast(AMOUNTS.schema)):
            with paying(dp.Curator.in_memory()) as curator:
                watched = curator.watch(sql, **{**TERMS, "max_rows": limit})
                curator.append("visits", part, through=day(1), again=True)
                found = curator.ledger.find(watched.charge)
                receipt = dp.curator.ledger.orders.Receipt(watched.charge, found.order, None)
                planned = curator._answer_service._planned(receipt)
                vectors += [curator._streams._read(planned, [2])[0]]
        square = sum(int(a - b) ** 2 for a, b in zip(*vectors, strict=True))
        most = planned.counter.sensitivity
        assert most == planned.reading.sensitivity
        assert most**2 / 9 < square <= most**2


def test_a_standing_question_is_charged_once_whatever_comes(tmp_path):
    with clinic([(1, 1, "Haifa")], tmp_path / "c") as curator:
        watched = curator.watch(COUNT, **TERMS)
        paid = curator.budget("visits").total
        for number in range(1, 4):
            curator.append("visits", visits([(number, number, "Oslo")]), through=day(number))
            again = curator.watch(COUNT, **TERMS)
            assert again.charge == watched.charge
            assert again.release() == watched.release()
        assert curator.budget("visits").total == paid
        told = watched.release()
        assert curator.ledger.verify().ok
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.watch(COUNT, **TERMS).release() == told
        assert curator.budget("visits").total == paid


def test_periods_are_answered_on_the_version_that_completed_them_whenever_that_happens(tmp_path):
    def fill(place, look):
        with clinic([(1, 1, "Haifa")], place) as curator:
            watched = curator.watch(COUNT, **TERMS)
            for number in range(1, 4):
                curator.append("visits", visits([(9 + number, 1, "Oslo")]), through=day(number))
                if look:
                    watched.release()
            told = watched.release()
            versions = [json.loads(one)["version"] for one in curator.ledger.steps(watched.charge)]
            return totals(told), versions

    told, versions = fill(tmp_path / "a", look=True)
    assert (told, versions) == fill(tmp_path / "b", look=False)
    assert versions == [2, 3, 4]


def test_one_that_is_killed_mid_period_goes_on_under_the_same_charge(tmp_path, monkeypatch):
    step = Ledger.step

    def killed(self, charge, number, stored, *, by):
        if number == 3:
            raise KeyboardInterrupt
        step(self, charge, number, stored, by=by)

    with clinic([(1, 1, "Haifa")], tmp_path / "c") as curator:
        watched = curator.watch(COUNT, **TERMS)
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "step", killed)
            with pytest.raises(KeyboardInterrupt):
                curator.append("visits", visits([(2, 2, "Oslo")]), through=day(4))
        kept, paid = curator.ledger.steps(watched.charge), curator.budget("visits").total
        assert len(kept) == 2
    with dp.Curator(tmp_path / "c") as curator:
        assert len(totals(curator.watch(COUNT, **TERMS).release())) == 4
        assert curator.ledger.steps(watched.charge)[:2] == kept
        assert curator.budget("visits").total == paid
        assert len(curator.ledger.asked(["visits"])) == 1


def full(*_, **__):
    raise LedgerError("the ledger could not be written", why="its disk is full", fix="wait")


@pytest.mark.parametrize("room", [0, 2])
def test_periods_that_cannot_be_stored_are_not_drawn_again(monkeypatch, room):
    """One draw a period on a full disk, though `room` are stored first and more come meanwhile."""
    drawn, release, step = [], VectorStream.release, Ledger.step

    def counted(self, increment):
        drawn.append(release(self, increment).tolist())
        return np.array(drawn[-1])

    def filled(self, charge, number, stored, *, by):
        return (full if number > room else step)(self, charge, number, stored, by=by)

    monkeypatch.setattr(VectorStream, "release", counted)
    with clinic([(1, 1, "Haifa")]) as curator:
        watched = curator.watch(COUNT, **{**TERMS, "epsilon": 0.1})
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "step", filled)
            curator.append("visits", visits([(2, 2, "Oslo")]), through=day(4))
            for _ in range(3):
                with pytest.raises(LedgerError, match="could not be written"):
                    curator.watch(COUNT, **{**TERMS, "epsilon": 0.1}).release()
            curator.append("visits", visits([(3, 5, "Oslo")]), through=day(5))
            assert len(drawn) == 4
        assert watched.release().table.num_rows == 15
        stored = [json.loads(one)["measured"] for one in curator.ledger.steps(watched.charge)]
        assert stored == drawn
        assert curator.ledger.verify().ok


def test_a_failed_period_stays_failed_though_that_cannot_be_stored(monkeypatch):
    from discreet.curator.orders.streams.stream_reading import StreamQuery

    with clinic([(1, 1, "Haifa")]) as curator:
        watched = curator.watch(COUNT, **TERMS)
        with monkeypatch.context() as patch:
            patch.setattr(StreamQuery, "read", full)
            patch.setattr(Ledger, "fail_step", full)
            curator.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        with pytest.raises(EngineError, match="next step"):
            watched.release()
        assert curator.readmit("owner", "visits", reason="the disk was full") == 1
        assert watched.release().table.num_rows == 3


def test_a_part_that_only_the_ledger_has_waits_until_its_rows_are_there(tmp_path, monkeypatch):
    from discreet.curator.data.data_store import DataStore

    def killed(*_):
        raise KeyboardInterrupt

    with clinic([(1, 1, "Haifa")], tmp_path / "c") as curator:
        watched = curator.watch(COUNT, **TERMS)
        with monkeypatch.context() as patch:
            patch.setattr(DataStore, "_keep", killed)
            with pytest.raises(KeyboardInterrupt):
                curator.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        assert watched.release().table.num_rows == 0
    with dp.Curator(tmp_path / "c") as curator:
        told = curator.watch(COUNT, **TERMS).release()
        assert totals(told) == {1: {"Austin": 0, "Haifa": 1, "Oslo": 1}}


def test_other_charges_are_no_standing_questions():
    with clinic([(1, 1, "Haifa")]) as curator:
        curator.sql(COUNT, epsilon=1)
        [charge] = curator.ledger.asked(["visits"])
        for number in (charge.sequence, 999):
            with pytest.raises(DiscreetError, match="no standing question"):
                curator._backend.stream_release(number)


def test_a_worker_that_another_one_overtook_tells_what_is_stored(tmp_path):
    with clinic([(1, 1, "Haifa")], tmp_path / "c") as one, dp.Curator(tmp_path / "c") as other:
        watched, same = one.watch(COUNT, **TERMS), other.watch(COUNT, **TERMS)
        assert one.ledger.hold(watched.charge)
        other.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        assert same.release().table.num_rows == 0
        told = watched.release()
        assert told.table.num_rows == 3
        assert same.release() == told


def test_no_standing_question_waits_for_another_one(monkeypatch):
    read_on, waits = AnswerService.read_on, []

    def slow(self, receipt, *said):
        if receipt.sequence == first.charge:
            other = threading.Thread(target=second.release, daemon=True)
            other.start()
            other.join(60)
            waits.append(other.is_alive())
        return read_on(self, receipt, *said)

    with clinic([(1, 1, "Haifa")]) as curator:
        first, second = (curator.watch(COUNT, **{**TERMS, "epsilon": n}) for n in (1000, 1001))
        monkeypatch.setattr(AnswerService, "read_on", slow)
        curator.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        assert waits == [False]
        assert [one.release().table.num_rows for one in (first, second)] == [3, 3]


def test_an_owner_does_not_wait_for_the_moments_of_analysts(monkeypatch):
    read_on, appended, seen = AnswerService.read_on, threading.Event(), []

    def slow(*said):
        seen.append(appended.wait(60))
        return read_on(*said)

    with clinic([(1, 1, "Haifa")]) as curator:
        curator.set_schedule(lambda _: ReleaseSchedule())
        watched = curator.watch(COUNT, **TERMS)
        monkeypatch.setattr(AnswerService, "read_on", slow)
        curator.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        appended.set()
        assert watched.release().table.num_rows == 3
        assert seen == [True]


def test_what_another_answered_while_one_waited_for_a_turn_is_not_answered_again(monkeypatch):
    later_step, read_on = AnswerService.later_step, AnswerService.read_on
    waited, read = [], []

    def overtaken(self, receipt, by):
        if not waited:
            waited.append(by)
            watched.release()
        return later_step(self, receipt, by)

    def counted(self, receipt, by, how):
        read.append(by)
        return read_on(self, receipt, by, how)

    with clinic([(1, 1, "Haifa")]) as curator:
        watched = curator.watch(COUNT, **TERMS)
        monkeypatch.setattr(AnswerService, "later_step", overtaken)
        monkeypatch.setattr(AnswerService, "read_on", counted)
        curator.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        assert (waited, read) == ([""], ["owner"])
        assert len(curator.ledger.steps(watched.charge)) == 1


def test_what_another_worker_answered_before_one_had_the_turn_is_not_answered_again(
    tmp_path, monkeypatch
):
    with clinic([(1, 1, "Haifa")], tmp_path / "c") as one:
        charge = one.watch(COUNT, **TERMS).charge
        with monkeypatch.context() as patch:
            patch.setattr(one._streams, "go_on", lambda _: None)
            one.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        one.ledger.let_go(charge)
        with dp.Curator(tmp_path / "c") as other:
            hold, told = other.ledger.hold, []

            def late(number):
                if not told:
                    told.append(one._streams.release(number))
                return hold(number)

            monkeypatch.setattr(other.ledger, "hold", late)
            assert [other._streams.release(charge)] == told
            assert one.ledger.hold(charge)  # the other one has let go
        assert len(one.ledger.steps(charge)) == 1
        assert one.ledger.verify().ok


def test_a_turn_that_another_worker_took_meanwhile_is_left_to_it(tmp_path, monkeypatch):
    with clinic([(1, 1, "Haifa")], tmp_path / "c") as one, dp.Curator(tmp_path / "c") as other:
        charge = one.watch(COUNT, **TERMS).charge
        with monkeypatch.context() as patch:
            patch.setattr(one._streams, "go_on", lambda _: None)
            one.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        one.ledger.let_go(charge)
        hold = other.ledger.hold
        monkeypatch.setattr(other.ledger, "hold", lambda at: not one.ledger.hold(at) or hold(at))
        assert other._streams.release(charge).table.num_rows == 0
        assert not one.ledger.steps(charge)
        assert one._streams.release(charge).table.num_rows == 3


def test_data_that_cannot_be_read_tells_nothing_until_an_owner_has_looked(monkeypatch):
    from discreet.curator.orders.streams.stream_reading import StreamQuery

    def fail(*_):
        raise ValueError("what the engine says may quote data")

    with clinic([(1, 1, "Haifa")]) as curator:
        watched = curator.watch(COUNT, **TERMS)
        with monkeypatch.context() as patch:
            patch.setattr(StreamQuery, "read", fail)
            curator.append("visits", visits([(2, 1, "Oslo")]), through=day(1))
        for _ in range(2):
            with pytest.raises(EngineError, match="next step") as told:
                watched.release()
        assert "quote" not in str(told.value)
        assert curator.async_session(None).release(watched.charge).table.num_rows == 0
        assert curator.readmit("owner", "visits", reason="it was a full disk") == 1
        assert watched.release().table.num_rows == 3
        assert curator.ledger.verify().ok


@pytest.mark.parametrize(
    ("sql", "more"),
    [
        ("SELECT day, COUNT(*) AS n FROM visits GROUP BY day HAVING COUNT(*) > 3", {}),
        ("SELECT day, COUNT(*) AS n FROM visits GROUP BY day", {}),
        ("SELECT city, COUNT(*) AS day FROM visits GROUP BY city", {}),
        ("SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n LIMIT 1", {}),
        ("SELECT city, COUNT(*) * 2 AS n FROM visits GROUP BY city", {}),
        ("SELECT city, COUNT(DISTINCT user) AS n FROM visits GROUP BY city", {}),
        ("SELECT note, COUNT(*) AS n FROM visits GROUP BY note", {}),
        ("SELECT COUNT(*) AS n FROM (SELECT user FROM visits GROUP BY user) AS t", {}),
        (COUNT, {"every": "fortnight"}),
        (COUNT, {"every": "hour"}),
        (COUNT, {"column": "city"}),
        (COUNT, {"max_periods": 0}),
        (COUNT, {"max_rows": -1}),
        (COUNT, {"until": dt.date(2025, 1, 1)}),
        (COUNT, {"epsilon": 0}),
        (COUNT, {"delta": 0}),
    ],
)
def test_what_cannot_be_counted_on_is_refused_before_any_charge(sql, more):
    rows = visits([(1, 1, "Haifa")]).append_column("note", pa.array(["x"]))
    with dp.Curator.in_memory() as curator:
        columns = {"city": dp.Keys(CITIES), "day": dp.Bounds(FIRST, dt.date(2026, 12, 31))}
        budget = dp.Budget(epsilon=10**5, delta=1e-5)
        curator.add("visits", rows, unit="user", budget=budget, columns=columns)
        with pytest.raises(DiscreetError):
            curator.watch(sql, **{**TERMS, **more})
        assert not curator.budget("visits").total.amount


def test_a_table_whose_people_are_named_elsewhere_is_refused():
    people = pa.table({"id": pa.array([1, 2])})
    with dp.Curator.in_memory() as curator:
        curator.add("people", people, unit="id", budget=dp.Budget(epsilon=9, delta=1e-6))
        columns = {"city": dp.Keys(CITIES), "day": dp.Bounds(FIRST, dt.date(2026, 12, 31))}
        path = dp.KeyPath("user", "people", "id")
        curator.add(
            "visits", visits([(1, 1, "Oslo")]), unit=path, dataset="people", columns=columns
        )
        with pytest.raises(DiscreetError, match="by way of another"):
            curator.watch(COUNT, **TERMS)


def test_a_filter_and_a_public_table_are_read_row_by_row():
    joined = "visits AS v JOIN towns AS t ON v.city = t.city WHERE v.user < 60"
    sql = f"SELECT t.land, COUNT(*) AS n FROM {joined} GROUP BY t.land"  # noqa: S608 - ours
    with clinic([(i, 1, CITIES[i % 3]) for i in range(90)]) as curator:
        towns = {"city": CITIES, "land": ["US", "IL", "NO"]}
        curator.add_public(
            "towns", pa.table(towns), key="city", columns={"land": dp.Keys(["IL", "NO"])}
        )
        curator.append("visits", visits([]), through=day(1))
        told = curator.watch(sql, **TERMS).release()
        assert [(row["land"], row["n"]) for row in told.table.to_pylist()] == [
            ("IL", 20),
            ("NO", 20),
        ]


def test_a_person_in_a_period_counts_in_each_of_them():
    rows = [(i, t, "Haifa") for i in range(20) for t in range(1, 6)]
    for unit, each in ((dp.PersonPeriod("user", "day", every="day"), 20), ("user", 0)):
        with clinic(rows, unit=unit) as curator:
            curator.append("visits", visits([]), through=day(5))
            release = curator.watch(COUNT, **TERMS).release()
            who = "one person" if each == 0 else "one person in one day"
            assert f"{who} counts for at most 1 row in each" in release.notes[0]
            said = " ".join(release.statement().split())
            assert said.count("weighted down") == said.count("later ones count for nothing") == 1
            told = totals(release, "n_added")
            assert [told[t]["Haifa"] for t in range(1, 6)] == [20, *[each] * 4]


def test_weeks_and_hours_are_periods_too():
    with clinic([(1, 1, "Oslo"), (2, 4, "Oslo"), (3, 5, "Oslo")]) as curator:  # 5 is a Monday
        terms = {**TERMS, "every": "week", "until": dt.date(2026, 1, 31)}
        watched = curator.watch(COUNT, **terms)
        curator.append("visits", visits([]), through=day(3))
        assert watched.release().table.num_rows == 0  # its week ends on day 4
        curator.append("visits", visits([]), through=day(11))
        told = watched.release().table.to_pylist()
        assert [row["n"] for row in told if row["city"] == "Oslo"] == [2, 3]
        assert str(told[0]["week"]) == "2025-12-29"
    with dp.Curator.in_memory() as curator:
        at = [dt.datetime.combine(FIRST, dt.time(hour)) for hour in (0, 5, 5, 23)]
        rows = pa.table({"user": [1, 2, 3, 4], "at": pa.array(at, pa.timestamp("us"))})
        curator.add("visits", rows, unit="user", budget=dp.Budget(epsilon=10**5, delta=1e-5))
        terms = {**TERMS, "every": "hour", "until": FIRST, "since": FIRST}
        watched = curator.watch("SELECT COUNT(*) AS n FROM visits", **terms)
        curator.append("visits", rows.slice(0, 0), through=FIRST)
        told = watched.release().table.to_pylist()
        assert [row["n_added"] for row in told] == [1, 0, 0, 0, 0, 2, *[0] * 17, 1]


def planned(periods, max_periods, groups=3, about=dp.Neighbours.ADD_REMOVE):
    rows = visits([(1, 1, "Haifa")])
    with dp.Curator.in_memory(neighbours=about) as curator:
        columns = {"city": dp.Keys([str(i) for i in range(groups)])}
        budget = dp.Budget(epsilon=10**5, delta=1e-5)
        curator.add("visits", rows, unit="user", budget=budget, columns=columns)
        spec = {
            "sql": COUNT,
            "every": "day",
            "since": "2026-01-01",
            "epsilon": "1",
            "delta": "1e-7",
        }
        spec |= {"until": day(periods).isoformat(), "max_periods": max_periods}
        offer = curator._local.offer_order("stream", spec, None)
        return offer.planned, offer.explanation


@pytest.mark.parametrize("bound", [1, 5, 20, 365])
def test_a_year_of_daily_totals_by_100_cities_is_within_three_of_one_release(bound):
    order, told = planned(365, bound, groups=100)
    assert isinstance(order, StreamOrder)
    mu = math.sqrt(float(2 * order.counter.rho))
    one_release = 1.96 * bound / mu  # the last totals alone: one person weighs `bound` rows
    assert order.counter.error() / FULL <= 3 * one_release
    one_table = 1.96 * math.sqrt(bound) / mu  # each day by itself, all days in one release
    assert order.counter.error() / FULL <= 3 * math.sqrt(bound) * one_table
    assert told.facts["new_question_each_period"] / told.facts["one_release"] == pytest.approx(
        math.sqrt(365), rel=0.02
    )
    assert told.facts["new_question_each_period_epsilon"] == 365
    assert "a new question each day" in told.text


@pytest.mark.parametrize(("periods", "bound", "bits"), [(30, 1, 20), (365, 30, 18), (365, 365, 16)])
def test_sums_have_a_grid_whose_rounding_is_far_below_their_noise(periods, bound, bits):
    rows = visits([(1, 1, "Haifa")]).append_column("x", pa.array([0.3]))
    spec = {"sql": "SELECT SUM(x) AS s FROM visits", "every": "day", "since": "2026-01-01"}
    spec |= {"until": day(periods).isoformat(), "max_periods": bound, "epsilon": "1"}
    with dp.Curator.in_memory() as curator:
        budget = dp.Budget(epsilon=10, delta=1e-5)
        curator.add("visits", rows, unit="user", budget=budget, columns={"x": dp.Bounds(0.0, 9.0)})
        offer = curator._local.offer_order("stream", {**spec, "delta": "1e-7"}, None)
        order, stored, schema = offer.planned, offer.order(), curator._data_store.tables.schema
    [total], [unit] = order.reading.statistics, order.reading.units
    noise = math.sqrt(order.counter.variance) * 2.0**-BITS * unit  # of each noisy number
    million_rows = 10**6 * total.grid.step / 2
    assert million_rows <= noise / 8
    assert order.grid_bits == bits
    [note] = [one for one in order.release([]).notes if "rounds" in one]
    assert f"{million_rows:g} at most" in note
    assert StreamOrder.read(stored, schema) == order
    # What was stored before there was a choice has the coarsest grid; for a while the text told it.
    before = replace(stored, decisions={"version": 1})
    coarse = StreamOrder.read(before, schema)
    assert coarse.reading.statistics[0].grid.step == total.grid.step * 2 ** (bits - 16)
    assert coarse.text == order.text
    told = replace(before, plan=json.dumps({**json.loads(order.text), "grid_bits": bits}))
    assert StreamOrder.read(told, schema) == replace(order, rho=None)
    assert coarse.guarantees == order.guarantees


def test_a_standing_question_is_not_charged_again_where_its_grid_is_chosen_otherwise(monkeypatch):
    rows = visits([(1, 1, "Haifa")]).append_column("x", pa.array([0.3]))
    asked, terms = "SELECT SUM(x) AS s FROM visits", {**TERMS, "epsilon": 2, "since": FIRST}
    with dp.Curator.in_memory() as curator:
        budget = dp.Budget(epsilon=10, delta=1e-5)
        curator.add("visits", rows, unit="user", budget=budget, columns={"x": dp.Bounds(0.0, 9.0)})
        with monkeypatch.context() as context:
            context.setattr(StreamOrder, "on_finest_grid", lambda order: order)
            before = curator.watch(asked, **terms)
        spent, coarse = curator.budget().spent, before.release().notes
        again = curator.watch(asked, **terms)
        assert (again.charge, curator.budget().spent) == (before.charge, spent)
        assert again.release().notes == coarse


def test_changing_a_person_costs_twice_the_noise():
    one, _ = planned(30, 2)
    other, _ = planned(30, 2, about=dp.Neighbours.CHANGE_ONE)
    assert other.counter.variance == pytest.approx(4 * float(one.counter.variance), rel=1e-6)
    assert other.counter.guarantee.neighbours is dp.Neighbours.CHANGE_ONE


def test_the_noise_of_a_period_is_drawn_from_the_counter(monkeypatch):
    from discreet.mechanisms import vector_stream

    asked = []

    def drawn(variance, shape):
        asked.append((variance, shape))
        return np.zeros(shape, dtype=np.int64)

    monkeypatch.setattr(vector_stream, "rounded_gaussian", drawn)
    with clinic([(1, 1, "Haifa")]) as curator:
        watched = curator.watch(COUNT, **TERMS)
        curator.append("visits", visits([(2, 1, "Oslo")]), through=day(2))
        assert totals(watched.release())[2] == {"Austin": 0, "Haifa": 1, "Oslo": 1}
        watched.release()
        order = curator._local.offer_order("stream", json.loads(_spec()), None).planned
        assert asked == [(order.counter.variance, (3,))] * 2


def _spec():
    spec = {"sql": COUNT, "every": "day", "until": "2026-01-08", "epsilon": "1000"}
    return json.dumps({**spec, "delta": "1e-7"})


def test_a_standing_question_of_a_retired_dataset_goes_no_further():
    with clinic([(1, 1, "Oslo")]) as curator:
        stream = curator.watch(COUNT, **TERMS)
        curator.append("visits", visits([(2, 2, "Oslo")]), through=day(2))
        told = stream.release()
        curator.retire("visits", reason="over")
        assert stream.release() == told
        with pytest.raises(DiscreetError, match="is retired"):
            curator.append("visits", visits([(3, 3, "Oslo")]), through=day(3))
