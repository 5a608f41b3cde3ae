"""Releases of many tables: consistent, charged once, drawn once, whatever is killed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import discreet as dp
import fresh_process
from discreet.audit.refute import refute
from discreet.audit.replay import replay
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.census import census_orders, census_plan, census_runs
from discreet.curator.orders.census.census_orders import CensusOrder, CensusRelease
from discreet.curator.orders.census.census_plan import CensusPlan
from discreet.curator.progress import watched
from discreet.errors import EngineError, InputError, InvariantBroken, LedgerError, QueryRefused
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.plan.bounding import FULL, NoiseKind
from discreet.privacy import Neighbours
from discreet.workload.hierarchy import Hierarchy
from small_census import BLOCKS, GEOGRAPHY, LEVELS, census, people, plan

NAMES = ["nation", *LEVELS]
DETAIL = ["sex", "age"]


@pytest.fixture
def curator():
    with census(dp.Curator.in_memory()) as made:
        yield made


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Several parts a table."""
    monkeypatch.setattr(census_orders, "CHUNK", 64)


def spent(curator):
    return curator.budget("people").spent


def all_tables(made):
    return {key: made.read(*key).to_pylist() for key in made.files}


def added_up(table, by):
    """A table by fewer columns."""
    plain = pa.table(
        {
            n: c.cast(pa.string()) if n != "count" else c
            for n, c in zip(table.column_names, table.columns, strict=True)
        }
    )
    found = plain.group_by(by).aggregate([("count", "sum")]).to_pylist()
    return {tuple(row[n] for n in by): row["count_sum"] for row in found}


def check_consistent(made):
    """Every level adds up to the one above, in whole numbers from 0 on, and both tables agree."""
    for level in NAMES:
        keys = LEVELS[: NAMES.index(level)]
        total, detail = (made.read(name, level) for name in ("total", "detail"))
        assert added_up(total, keys) == added_up(detail, keys)
    for name, by in (("total", []), ("detail", DETAIL)):
        for upper, lower in pairwise(NAMES):
            keys = [*LEVELS[: NAMES.index(upper)], *by]
            above, below = made.read(name, upper), made.read(name, lower)
            assert below.column("count").type == pa.int64()
            assert pc.min(below.column("count")).as_py() >= 0
            assert added_up(above, keys) == added_up(below, keys)


# --- what is released ---------------------------------------------------------------------------


def test_tables_add_up_at_all_levels_and_every_public_cell_is_there(curator, tmp_path):
    made = curator.release(plan(), tmp_path)

    check_consistent(made)
    assert [made.read("detail", level).num_rows for level in NAMES] == [8, 16, 48, 240]
    assert made.release.cells == 9 * (1 + 2 + 6 + 30)
    assert made.random_bytes > 8 * made.release.cells
    first = made.read("detail", "block").to_pylist()[0]
    assert first.keys() == {*LEVELS, *DETAIL, "count"}
    assert (first["block"], first["sex"], first["age"]) == ("Na1", "f", "0 to 24")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{name}-{level}.parquet" for name in ("total", "detail") for level in NAMES
    )


def test_with_hardly_any_noise_counts_are_those_of_the_data(curator, tmp_path):
    curator.raise_budget("people", dp.Budget(epsilon=10**6, delta=1e-5), reason="a test")
    made = curator.release(plan(epsilon=40_000), tmp_path)

    exact = people().group_by("block").aggregate([("block", "count")]).to_pylist()
    known = {row["block"]: row["block_count"] for row in exact}
    told = {row["block"]: row["count"] for row in made.read("total", "block").to_pylist()}
    assert told == {block: known.get(block, 0) for block in BLOCKS}
    ages = made.read("detail", "nation").to_pylist()
    rows = people().to_pylist()
    for row in ages:
        low, high = map(int, row["age"].split(" to "))
        wanted = [r for r in rows if r["sex"] == row["sex"] and low <= r["age"] <= high]
        assert row["count"] == len(wanted)


def test_rows_elsewhere_are_in_no_cell_and_people_with_many_rows_weigh_less(tmp_path):
    rows = pa.concat_tables([people(50), people(50).slice(0, 1), people(50).slice(0, 1)])
    block = pa.array(["nowhere", *rows.column("block").to_pylist()[1:]])
    with census(dp.Curator.in_memory(), rows.set_column(1, "block", block)) as curator:
        curator.raise_budget("people", dp.Budget(epsilon=10**6, delta=1e-5), reason="a test")
        made = curator.release(plan({"total": []}, epsilon=40_000), tmp_path)
        # 49 people, and one with three rows, each weighing a third, of which one is nowhere
        assert made.read("total", "nation").to_pylist() == [{"count": 50}]


MANY = {
    "sexes": ["sex"],
    "children": ["minor"],
    "ages_sexes": ["age", "sex"],
    "sexes_children": ["minor", "sex"],
    "all": ["sex", "age", "minor"],
    "again": ["sex"],
}
CYCLE = {"a": ["sex", "age"], "b": ["age", "minor"], "c": ["minor", "sex"]}
"""No order makes all three agree: any two do, and the third with one of them."""


def many_columns():
    rows = people()
    minor = pa.array([age < 18 for age in rows.column("age").to_pylist()])
    about = {"sex": dp.Keys(["f", "m"]), "age": dp.Bounds(0, 99)}
    said = {"columns": about, "required": [*about, "minor"]}
    return census(dp.Curator.in_memory(), rows.append_column("minor", minor), **said)


@pytest.mark.parametrize(
    ("tables", "levels"), [(MANY, LEVELS), (MANY, ["block"]), (MANY, []), (CYCLE, LEVELS)]
)
def test_tables_agree_on_every_margin_that_they_share_but_for_those_that_are_named(
    tmp_path, tables, levels
):
    with many_columns() as curator:
        places = {"geography": "places"} if levels else {"geography": None}
        made = curator.release(plan(tables, levels=levels, **places), tmp_path)
    notes = [n.partition(": ")[2] for n in made.release.notes if "may differ" in n]
    assert notes == ([] if tables is MANY else ["a and b"])
    for one, other in combinations(tables, 2):
        shared = [name for name in tables[one] if name in tables[other]]
        differ = f"{one} and {other}" in notes
        for at, level in enumerate(["nation", *levels]):
            keys = [*levels[:at], *([] if differ else shared)]
            assert added_up(made.read(one, level), keys) == added_up(made.read(other, level), keys)
    assert "agree between tables" in " ".join(made.statement().split())


def test_a_release_that_was_charged_before_tables_agreed_is_published_as_it_was(
    curator, tmp_path, monkeypatch
):
    plan_order = census_orders.CensusOrder.priced
    with monkeypatch.context() as patch:
        patch.setattr(
            census_orders.CensusOrder, "priced", lambda *a: replace(plan_order(*a), version=1)
        )
        first = curator.release(plan(), tmp_path / "a")
    paid = spent(curator)
    again = curator.release(plan(), tmp_path / "b")
    assert (again.charge, spent(curator), again.random_bytes) == (first.charge, paid, 0)
    assert all_tables(again) == all_tables(first)
    assert "agree between" not in " ".join(again.statement().split())
    with pytest.raises(AssertionError):
        check_consistent(again)


def test_a_release_without_a_geography_is_one_level(curator, tmp_path):
    made = curator.release(dp.releases([[], DETAIL], table="people", epsilon=1), tmp_path)

    assert sorted(made.files) == [("all", "nation"), ("sex_age", "nation")]
    assert made.read("sex_age", "nation").num_rows == 2 * 32
    with pytest.raises(InputError, match="no table all by state"):
        made.read("all", "state")


def test_a_geography_may_have_one_level(curator, tmp_path):
    made = curator.release(plan(levels=["block"]), tmp_path)
    blocks, nation = made.read("total", "block"), made.read("total", "nation")
    assert made.release.sizes == (1, 30)
    assert pc.sum(blocks.column("count")).as_py() == nation.to_pylist()[0]["count"]


def test_rows_that_are_protected_by_themselves_have_whole_noise(tmp_path):
    with census(dp.Curator.in_memory(), unit=dp.EachRow(), limits=None) as curator:
        order = curator._local.offer_order("release", plan().spec, None).planned
        assert order.measurement(0).step == FULL
        check_consistent(curator.release(plan(), tmp_path))


def test_without_a_delta_noise_is_laplace_and_costs_epsilon(tmp_path):
    with census(dp.Curator.in_memory(), budget=dp.Budget(epsilon=2)) as curator:
        order = curator._local.offer_order("release", plan(delta=None).spec, None).planned
        assert order.noise_kind is NoiseKind.LAPLACE
        check_consistent(curator.release(plan(delta=None), tmp_path))
        assert curator.budget("people").left.amount == 1


def test_shares_divide_the_price_over_levels(curator):
    shares = {"nation": 1, "state": "1/2", "county": 1, "block": 1.5}
    order = curator._local.offer_order("release", plan(shares=shares).spec, None).planned
    assert order.facts.shares == tuple(Fraction(n, 8) for n in (2, 1, 2, 3))
    noise = order.deviations()
    assert noise["nation"] ** 2 * 2 == pytest.approx(noise["state"] ** 2)
    total = sum(2 * 2 * order.measurement(level).cost for level in range(4))
    assert total == order.amount


def test_nulls_in_a_geography_are_a_unit_of_their_own(tmp_path):
    state = pa.array([None if b[0] == "Y" else b[0] for b in BLOCKS])
    with census(dp.Curator.in_memory()) as curator:
        curator.add_public("more", GEOGRAPHY.set_column(0, "state", state), key="block")
        made = curator.release(plan(geography="more"), tmp_path)
        assert [row["state"] for row in made.read("total", "state").to_pylist()] == ["N", None]


# --- invariants ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "totals"),
    [
        ("nation", 612),
        ("state", {"N": 400, "Y": 212}),
        ("county", {"Na": 0, "Nb": 1, "Nc": 2, "Ya": 300, "Yb": 4, "Yc": 305}),
    ],
)
def test_public_totals_hold_and_are_named_in_the_statement(curator, tmp_path, level, totals):
    made = curator.release(plan(invariants={level: totals}), tmp_path)

    check_consistent(made)
    for name in ("total", "detail"):
        told = added_up(made.read(name, level), [level] if level != "nation" else [])
        wanted = totals if isinstance(totals, dict) else {}
        assert {key[0]: n for key, n in told.items() if key} == wanted
        assert sum(told.values()) == 612
    said = " ".join(made.statement().split())
    assert f"totals by {level}" in said
    assert "the guarantee does not cover what they tell" in said


@pytest.mark.parametrize(
    "totals",
    [
        {"state": {"N": 1}},
        {"state": {"N": 1, "Y": 2, "Z": 3}},
        {"state": {"N": -1, "Y": 2}},
        {"state": {"N": 1.5, "Y": 2}},
        {"state": {"N": 1 << 50, "Y": 2}},
        {"block": dict.fromkeys(BLOCKS, 1)},
        {"state": {"N": 1, "Y": 2}, "nation": 3},
        {"town": 3},
    ],
)
def test_totals_that_do_not_suit_are_refused_before_any_charge(curator, tmp_path, totals):
    with pytest.raises(InputError):
        curator.release(plan(invariants=totals), tmp_path)
    assert spent(curator)[0] == 0


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"table": "towns"}, "no private table"),
        ({"geography": "people"}, "no public table"),
        ({"geography": None}, "levels without a geography"),
        ({"levels": []}, "levels without a geography"),
        ({"levels": ["block", "state"]}, "does not join"),
        ({"levels": ["town", "block"]}, "has no column town"),
        ({"tables": {}}, "no tables"),
        ({"tables": {"a": ["person"]}}, "no column person"),
        ({"tables": {"a": ["state"]}}, "no column state"),
        ({"tables": {"a/b": []}}, "cannot name a file"),
        ({"tables": {"a": ["sex", "sex"]}}, "two columns"),
        ({"top": "../up"}, "cannot name a file"),
        ({"top": "state"}, "two columns"),
        ({"tables": {"a" * 101: []}}, "cannot name a file"),
        ({"bins": {"ago": 4}}, "has a field ago"),
        ({"bins": 0}, "bins is 0"),
        ({"as_of": "x"}, "as_of"),
        ({"invariants": {"state": {"N": 2**50 - 1, "Y": 1}}}, "too large"),
        ({"epsilon": 0}, "epsilon"),
        ({"shares": {"nation": 1}}, "has no state"),
        ({"shares": "3"}, "shares"),
        ({"max_rows": 0}, "max_rows"),
    ],
)
def test_what_cannot_be_released_is_refused_before_any_charge(curator, tmp_path, said, words):
    tables = said.get("tables")
    with pytest.raises(InputError, match=words):
        curator.release(plan(tables, **{k: v for k, v in said.items() if k != "tables"}), tmp_path)
    assert spent(curator)[0] == 0


@pytest.mark.parametrize(("cells", "leaves"), [(1 << 20, [256, 1]), (1 << 26, [2, 2, 2])])
def test_more_counts_at_once_than_any_machine_holds_are_refused_before_any_charge(
    curator, tmp_path, monkeypatch, cells, leaves
):
    monkeypatch.setattr(census_plan.CensusFacts, "cells", lambda *_: cells)
    tree = Hierarchy.of([np.repeat(np.arange(len(leaves)), leaves), np.arange(sum(leaves))])
    monkeypatch.setattr(census_runs, "read_geography", lambda *_: (tree, None))
    with pytest.raises(InputError, match="too many counts"):
        curator.release(plan(), tmp_path)
    assert spent(curator)[0] == 0


@pytest.mark.parametrize(
    "spec", [{"tables": 3}, {"tables": [3]}, {"tables": [["a", 3]]}, {"bins": "x"}, {"shares": 3}]
)
def test_specs_of_strangers_are_refused_in_our_words(curator, spec):
    with pytest.raises(InputError):
        curator.order(
            "release", {"table": "people", "epsilon": "1", "tables": [["a", ["age"]]]} | spec
        )


def test_analysts_are_refused_and_a_plan_is_a_plan(curator, tmp_path):
    with pytest.raises(QueryRefused, match="an analyst asks for"):
        curator.as_analyst("ann").order("release", plan().spec)
    with pytest.raises(InputError, match="plan of a release"):
        curator.release({"table": "people"}, tmp_path)


# --- one charge, one draw -----------------------------------------------------------------------


def test_the_same_again_costs_nothing_draws_nothing_and_is_the_same(curator, tmp_path):
    first = curator.release(plan(), tmp_path / "a")
    paid = spent(curator)
    again = curator.release(plan(), tmp_path / "b")

    assert spent(curator) == paid
    assert again.random_bytes == 0
    assert all_tables(again) == all_tables(first)
    assert again.charge == first.charge
    order = curator._local.offer_order("release", plan().spec, None).planned
    assert CensusRelease.from_bytes(first.release.to_bytes()) == first.release
    assert first.release.guarantee.mu**2 == order.amount


class Killed(BaseException):
    """Whatever ends a process."""


STAGES = {
    "charge": (Ledger, "charge"),
    "charged": (Ledger, "keep"),
    "measured": (Ledger, "complete"),
    "turn": (Ledger, "hold"),
    "file": (os, "fsync"),
    "step": (Ledger, "step"),
    "estimates": (census_runs, "gather"),
    "writing": (census_runs.CensusRun, "_table"),
}
"""What is killed just before it is called."""


MOMENTS = [
    *(("charge", 0), ("charged", 0), ("measured", 0), ("turn", 3), ("file", 0), ("file", 5)),
    *(("step", 0), ("step", 5), ("estimates", 1), ("writing", 0), ("writing", 5)),
]


@pytest.mark.parametrize(("stage", "call"), MOMENTS)
def test_a_release_killed_anywhere_is_finished_with_the_same_noise_and_charge(
    tmp_path, monkeypatch, stage, call
):
    with census(dp.Curator(tmp_path / "c")):
        pass
    owner, name = STAGES[stage]
    original, calls = getattr(owner, name), []

    def killing(*args, **named):
        calls.append(1)
        if len(calls) == call + 1:
            raise Killed
        return original(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing)
        with dp.Curator(tmp_path / "c", patience=0) as curator, pytest.raises(Killed):
            curator.release(plan(), tmp_path / "out")
    parts = {p.name: p.read_bytes() for p in (tmp_path / "c").glob("releases/*/*.part")}
    with dp.Curator(tmp_path / "c", patience=0) as curator:
        made = curator.release(plan(), tmp_path / "out")
        drawn = {p.name: p.read_bytes() for p in (tmp_path / "c").glob("releases/*/*.part")}
        assert parts.items() <= drawn.items()
        assert len({name.partition("-")[0] for name in drawn}) == len(drawn)
        check_consistent(made)
        kinds = [entry.kind for entry in curator.ledger.entries()]
        assert kinds.count("charged") == 1
        assert kinds.count("stepped") == len(drawn)
        assert curator.ledger.verify().ok
        assert all_tables(curator.release(plan(), tmp_path / "again")) == all_tables(made)


KILL = """
import os, sys
import discreet as dp
from discreet.curator.orders.census import census_orders
from discreet.curator.ledger.ledger import Ledger
from small_census import plan
census_orders.CHUNK = 64
step = Ledger.step
def dies(self, charge, number, stored, *, by):
    step(self, charge, number, stored, by=by)
    if number == 3:
        os._exit(9)
Ledger.step = dies
dp.Curator(sys.argv[1]).release(plan(), sys.argv[2])
"""


def test_a_process_that_dies_leaves_a_release_that_another_finishes(tmp_path):
    with census(dp.Curator(tmp_path / "c")):
        pass
    assert fresh_process.run(KILL, tmp_path / "c", tmp_path / "out").returncode == 9
    parts = {p.name for p in (tmp_path / "c").glob("releases/*/*.part")}
    assert len(parts) == 3
    with dp.Curator(tmp_path / "c") as curator:
        made = curator.release(plan(), tmp_path / "out")
        check_consistent(made)
        assert parts < {p.name for p in (tmp_path / "c").glob("releases/*/*.part")}


def test_a_part_that_no_disk_takes_is_not_drawn_again(curator, tmp_path, monkeypatch):
    from discreet.curator.orders.census import census_parts

    offered, write = [], census_parts.write_durably

    def full(_, stored):
        offered.append(stored)
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(census_parts, "write_durably", full)
        for _ in range(3):
            with pytest.raises(EngineError, match="continues where it stopped"):
                curator.release(plan(), tmp_path)
    monkeypatch.setattr(
        census_parts, "write_durably", lambda *two: (offered.append(two[1]), write(*two))
    )
    check_consistent(curator.release(plan(), tmp_path))
    assert len(set(offered[:4])) == 1
    assert len(set(offered)) == len(offered) - 3


def test_a_release_goes_on_after_rows_were_appended_where_it_says_the_version(
    curator, tmp_path, monkeypatch
):
    def killing(*_args, **_named):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "step", killing)
        with pytest.raises(Killed):
            curator.release(plan(), tmp_path)
    paid = spent(curator)
    curator.append("people", people(700).slice(600))
    made = curator.release(plan(as_of=1), tmp_path)
    assert spent(curator) == paid
    check_consistent(made)
    assert curator.release(plan(), tmp_path / "new").charge != made.charge
    assert spent(curator) != paid
    for wrong, words in ((0, "as_of is 0"), (3, "newest version is 2")):
        with pytest.raises(InputError, match=words):
            curator.release(plan(as_of=wrong), tmp_path)


def test_another_worker_at_the_same_release_is_told_so(curator, tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "hold", lambda *_: False)
    with pytest.raises(LedgerError, match="another worker"):
        curator.release(plan(), tmp_path)


@pytest.mark.parametrize("fault", ["lost", "damaged"])
def test_a_part_that_is_not_the_one_drawn_is_refused_and_never_drawn_again(tmp_path, fault):
    with census(dp.Curator(tmp_path / "c")) as curator:
        curator.release(plan(), tmp_path / "out")
        part = min((tmp_path / "c").glob("releases/*/*.part"))
        if fault == "lost":
            part.unlink()
        else:
            part.write_bytes(bytes(len(part.read_bytes())))
        with pytest.raises(LedgerError, match="lost or damaged"):
            curator.release(plan(), tmp_path / "out")


def test_parts_of_another_release_of_the_same_number_are_not_taken(tmp_path):
    """A ledger that is put back from a copy gives the next charge a number that was used."""
    with census(dp.Curator(tmp_path / "c")):
        pass
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    with dp.Curator(tmp_path / "c") as curator:
        first = curator.release(plan({"total": []}, epsilon=8), tmp_path / "out")
    shutil.copytree(tmp_path / "c" / "releases", tmp_path / "copy" / "releases")
    with dp.Curator(tmp_path / "copy") as curator:
        second = curator.release(plan({"total": []}, epsilon="0.01"), tmp_path / "out")
        assert second.charge == first.charge
        assert second.random_bytes > 0


def test_a_failure_of_the_engine_quotes_nothing_and_is_gone_on_from(curator, tmp_path, monkeypatch):
    query = type(curator._local.offer_order("release", plan().spec, None).planned.facts.query)

    def failing(*_):
        raise RuntimeError("a value of somebody")

    with monkeypatch.context() as patch:
        patch.setattr(query, "prepare", failing)
        with pytest.raises(EngineError) as told:
            curator.release(plan(), tmp_path)
    assert "somebody" not in str(told.value)
    paid = spent(curator)
    check_consistent(curator.release(plan(), tmp_path))
    assert spent(curator) == paid


def test_progress_is_told_in_parts(curator, tmp_path):
    told = []
    with watched(lambda what, done, total: told.append((what, done, total))):
        curator.release(plan(), tmp_path)
    noise = [(done, total) for what, done, total in told if what == "noise"]
    assert noise == [(n + 1, noise[-1][1]) for n in range(noise[-1][1])]
    assert {what for what, *_ in told} == {"reading rows", "noise", "consistency", "tables"}


# --- what it claims -----------------------------------------------------------------------------


def released(rows):
    """All tables of a release, as an observer sees them."""
    with (
        census(dp.Curator.in_memory(), rows, limits=dp.Limits(1, 2)) as curator,
        tempfile.TemporaryDirectory() as folder,
    ):
        made = curator.release(plan(max_rows=2), folder)
        return {f"{k}": v for k, v in all_tables(made).items()}, made.statement()


def heavy(count):
    """One more person, with rows in several blocks: more than count."""
    one = people(400).slice(100, 5)
    return one.set_column(0, "person", pa.array([10**6] * 5)).slice(0, count)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_neighbours_look_alike_but_for_noisy_counts(rows):
    assert not replay(released, people(40), pa.concat_tables([people(40), heavy(rows)]))


def halve_noise(level, monkeypatch, *, cost=1, rows=1):
    """Plant a fault at one level: so much more of the price, or so much less sensitivity."""
    original = CensusOrder.measurement

    def faulty(self, at):
        law = original(self, at)
        if at != level:
            return law
        bounds = replace(law.contributions, rows=law.contributions.rows // rows)
        return replace(law, cost=law.cost * cost, contributions=bounds)

    monkeypatch.setattr(CensusOrder, "measurement", faulty)


@pytest.mark.parametrize("level", range(4))
def test_noise_that_is_halved_at_one_level_is_seen_by_replay(monkeypatch, level):
    halve_noise(level, monkeypatch, rows=2)
    found = replay(released, people(40), pa.concat_tables([people(40), heavy(2)]))
    assert {"declared" in one.what for one in found} == {True}


@pytest.mark.parametrize("level", range(4))
def test_noise_that_was_not_paid_for_is_never_drawn(curator, tmp_path, monkeypatch, level):
    halve_noise(level, monkeypatch, cost=4)
    with pytest.raises(InvariantBroken, match="not what was charged"):
        curator.release(plan(), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("fault", "refuted"), [(1, False), (2, True)])
def test_the_auditor_refutes_halved_noise_from_samples(curator, monkeypatch, fault, refuted):
    order = curator._local.offer_order("release", plan({"total": []}, epsilon=8).spec, None).planned
    if fault > 1:
        halve_noise(2, monkeypatch, cost=fault**2)
    law = order.measurement(2)

    def draw(exact, runs):
        return census_runs.noisy(law, np.full(runs, exact, dtype=np.int64))

    claim = Claim("CensusOrder", order._paid(order.amount / 4), (Pair(0, FULL),), draw)
    assert refute(claim, samples=40_000).refuted is refuted


def test_change_one_neighbours_have_twice_the_sensitivity(tmp_path):
    change = Neighbours.CHANGE_ONE
    with census(dp.Curator.in_memory(neighbours=change)) as curator:
        order = curator._local.offer_order("release", plan().spec, None).planned
        assert order.measurement(0).sensitivity == 2 * FULL
        assert curator.release(plan(), tmp_path).release.guarantee.neighbours is change


# --- plans in YAML ------------------------------------------------------------------------------

YAML = """
table: people
geography: places
levels: [state, county, block]
tables:
  total: []
  detail: [sex, age]
bins: {age: 4}
epsilon: 1
delta: 1e-6
invariants:
  state: {N: 400, Y: 212}
"""


def test_a_plan_in_yaml_is_the_plan_in_python():
    read = CensusPlan.from_yaml(YAML)
    python = plan(invariants={"state": {"N": 400, "Y": 212}})
    assert read.spec | {"delta": "1/1000000"} == python.spec
    assert CensusPlan.from_yaml(json.dumps(read.spec | {"tables": {"a": []}})).spec["tables"] == [
        ["a", []]
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "x", "a: [", "\tx: 1", "table: people", YAML + "x: 1", YAML + "table: b"),
        *("{[1]: 2}", "a: &x [1]\nb: *x", "!!python/object:os.system {}", "- " * 10**5),
    ],
)
def test_other_texts_are_no_plans(text):
    with pytest.raises(InputError):
        CensusPlan.from_yaml(text)


# --- memory -------------------------------------------------------------------------------------


def test_leaves_are_read_made_consistent_and_written_a_chunk_at_a_time(
    curator, tmp_path, monkeypatch
):
    """No array of all leaves exists: neither of exact, nor of noisy, nor of released counts."""
    sizes = []
    settle, noisy = census_runs.settle, census_runs.noisy

    def settled(estimates, first, totals):
        sizes.append(estimates.values.size)
        return settle(estimates, first, totals)

    def drawn(law, exact):
        sizes.append(exact.size)
        return noisy(law, exact)

    monkeypatch.setattr(census_runs, "settle", settled)
    monkeypatch.setattr(census_runs, "noisy", drawn)
    made = curator.release(plan({"detail": DETAIL}), tmp_path)
    assert max(sizes) <= 64
    assert made.read("detail", "block").num_rows == 240
    assert pq.ParquetFile(made.files["detail", "block"]).num_row_groups > 3


_TEN_MILLION = """
import resource
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import discreet as dp

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

folder, at, people = Path(sys.argv[1]), np.arange(99_000), np.arange(1000)
curator = dp.Curator(folder / "c")
curator.add(
    "people", pa.table({"id": people, "block": people * 97, "age": people % 100}), unit="id",
    budget=dp.Budget(epsilon=3, delta=1e-6), columns={"age": dp.Bounds(0, 99)},
    required=["age"], limits=dp.Limits(1, 1),
)
curator.add_public("places", pa.table({"county": at // 100, "block": at}), key="block")
plan = dp.releases(
    [["age"]], table="people", geography="places", levels=["county", "block"], bins=100,
    epsilon=1, delta=1e-7,
)
before = peak()
made = curator.release(plan, folder / "out")
print(made.release.cells, peak() - before)
"""


def test_ten_million_groups_take_memory_for_two_million_of_them(tmp_path):
    """They take some 260 MB; in one part they took 680."""
    run = [sys.executable, "-c", _TEN_MILLION, tmp_path]
    told = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    cells, megabytes = map(int, told.split())
    assert cells == 9_999_100
    assert megabytes < 450
