"""Balances that are folded in batches are those of a fold charge by charge, to the last unit."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.people import charge_batches, person_accounts
from discreet.curator.people.charge_batches import PersonClasses
from discreet.curator.people.person_accounts import PersonAccounts
from discreet.engines.timing import Deadline
from discreet.errors import EngineError
from discreet.privacy.budgets.individual_balances import ClassCosts, IndividualBalances
from people import BUDGET, WIDE, add, clinic

ROWS = [
    (i, ("Austin", "Haifa", "Oslo", None)[i * 7 % 4], None if i % 11 == 0 else (i * i + j) % 10)
    for i in range(60)
    for j in range(1 + i % 3)
] + [(99, "Oslo", i % 10) for i in range(40)]
COUNT, BY_CITY = "SELECT COUNT(*) AS n FROM visits", "SELECT city, SUM(amount) AS n FROM visits"
ASKED = [
    COUNT + " WHERE amount > 4",
    COUNT + " WHERE city = 'Oslo'",
    COUNT + " WHERE amount IN (1, 2) OR city <> 'Haifa'",
    COUNT + " WHERE amount IS NULL",
    BY_CITY + " WHERE amount > 4 GROUP BY city",
    BY_CITY + " WHERE city = 'Oslo' GROUP BY city",
    "SELECT city, AVG(amount) AS n FROM visits GROUP BY ROLLUP (city)",
    "SELECT COUNT(DISTINCT id) AS n FROM visits WHERE amount < 6",
    COUNT + " WHERE CAST(city AS TEXT) <> 'data.\"visits\"'",
    COUNT + " v JOIN more m ON v.id = m.id WHERE v.amount > m.amount",
    COUNT.replace(
        "visits", "(SELECT id, MAX(amount) AS top FROM visits GROUP BY id) t WHERE top > 5"
    ),
    COUNT + " JOIN towns ON visits.city = towns.city WHERE towns.size > 3",
]


def charge(curator, text, epsilon):
    offer = curator._local.offer(text, Terms(epsilon=epsilon, delta=1e-5), None)
    curator.ledger.charge(offer.order())


def fresh(curator, dataset="visits"):
    """Accounts into which nothing is folded."""
    curator._answer_service.people.renew()
    return curator._answer_service.people.of(dataset)


def history(curator, monkeypatch, many, dataset="visits"):
    """Everybody's balance by their hash, and what became of two people."""
    known = fresh(curator, dataset)
    engine = curator._data_store.open_for([dataset])
    with monkeypatch.context() as context:
        context.setattr(person_accounts, "_MANY", many)
        if many == 1:  # a batch that fails must not hide behind the fold charge by charge
            context.delattr(PersonAccounts, "_fold_each")
        told = [known.history(known.hash_of(one, engine)) for one in (5, 99)]
    people = told[0][0]
    found = zip(people._opened.hashes.tolist(), people.balances.spent.tolist(), strict=True)
    # Accounts have other numbers where people were met in another order.
    seen = [[(c.sequence, c.units, c.took_part) for c in charges] for _, charges in told]
    return {one: units for one, units in found if units}, seen


@pytest.fixture(scope="module")
def charged():
    """A ledger of charges that some can pay and others not, with limits and new rows between."""
    with clinic(ROWS, limits=WIDE) as curator:
        add(curator, ROWS[::2], "more", budget=None, dataset="visits", limits=WIDE)
        towns = pa.table({"city": ["Oslo", "Haifa"], "size": [5, 2]})
        curator.add_public("towns", towns, key="city", columns={"size": dp.Bounds(0, 9)})
        rng = np.random.default_rng(5)
        for k in range(40):
            charge(curator, ASKED[rng.integers(len(ASKED))], int(rng.integers(20, 120)))
            if k % 20 == 9:
                curator.limit_person(k % 7, epsilon=k)
        yield curator


@pytest.mark.parametrize("kept", [1 << 28, 9000])
def test_batches_are_as_charge_by_charge(charged, kept, monkeypatch):
    expected = history(charged, monkeypatch, 10**9)
    monkeypatch.setattr(person_accounts, "_MOST_KEPT", kept)
    monkeypatch.setattr(charge_batches, "_ROWS_COMPARED", 2)
    assert history(charged, monkeypatch, 1) == expected
    limit = charged._answer_service.people.of("visits").population.limit
    turned_away = [took_part for people in expected[1] for *_, took_part in people if not took_part]
    assert turned_away
    assert max(expected[0].values()) <= limit


def test_most_charges_are_read_in_few_statements(charged, monkeypatch):
    seen = []
    real = PersonAccounts._alone
    monkeypatch.setattr(PersonAccounts, "_alone", lambda *a: seen.append(a[1].batch) or real(*a))
    history(charged, monkeypatch, 1)
    # Alone: few of a kind, and joins of a person's tables.
    assert None in seen
    assert len(seen) < 40


def test_an_engine_that_breaks_off_leaves_balances_as_they_were(charged, monkeypatch):
    monkeypatch.setattr(person_accounts, "_MANY", 1)
    people = fresh(charged)
    head = charged.ledger.head().sequence

    def fail(*_):
        raise EngineError("no", why="no", fix="no")
        yield

    with monkeypatch.context() as context:
        context.setattr(person_accounts, "read_costs", fail)
        with pytest.raises(EngineError):
            people.catch_up(head, Deadline(0.0))
        assert people.sequence == 0
        assert not people.balances.spent.any()
    people.catch_up(head)
    found = dict(zip(people._opened.hashes.tolist(), people.balances.spent.tolist(), strict=True))
    assert {k: v for k, v in found.items() if v} == history(charged, monkeypatch, 10**9)[0]


@pytest.mark.parametrize("part", ["read_costs", "render_rows"])
def test_a_batch_that_fails_is_folded_charge_by_charge(charged, part, monkeypatch):
    def fail(*_):
        raise pa.ArrowInvalid("offset overflow")

    expected = history(charged, monkeypatch, 10**9)
    monkeypatch.setattr(person_accounts, part, fail)
    assert history(charged, monkeypatch, 2) == expected


def test_names_of_views_in_literals_keys_and_other_tables_are_no_scans(monkeypatch):
    name, view = "café", 'data."café"'
    cities = [view, "Haifa"]
    rows = pa.table({"id": range(6), "city": [cities[i % 2] for i in range(6)]})
    with dp.Curator.in_memory() as curator:
        keys = {"city": dp.Keys(cities)}
        curator.add(name, rows, unit="id", budget=BUDGET, columns=keys, limits=dp.Limits(1, 1))
        towns = pa.table({"city": cities, "size": [5, 2]})
        columns = {"size": dp.Bounds(0, 9)}
        curator.add_public('café"x', towns, key="city", columns=columns)
        count = COUNT.replace("visits", '"café" c')
        for k in range(8):
            charge(curator, f"{count} WHERE CAST(city AS TEXT) <> '{view}{k or ''}'", 50 + k)
            charge(curator, f"{count} GROUP BY city".replace("COUNT", "city, COUNT"), 50 + k)
            joined = f'{count} JOIN "café""x" x ON c.city = x.city'
            charge(curator, f"{joined} WHERE x.size > {k}", 50 + k)
        expected = history(curator, monkeypatch, 10**9, name)
        assert history(curator, monkeypatch, 1, name) == expected
        assert len(set(expected[0].values())) > 1


def test_no_more_costs_are_held_than_fit(charged, monkeypatch):
    held = []
    real = PersonAccounts._fold

    def fold(people, batch):
        held.append([one.of.nbytes + one.costs.nbytes for _, one in batch if one is not None])
        return real(people, batch)

    monkeypatch.setattr(person_accounts, "_MOST_KEPT", 2000)
    monkeypatch.setattr(person_accounts, "_WORTH_CLASSES", 10**9)  # each is read by itself
    monkeypatch.setattr(PersonAccounts, "_fold", fold)
    history(charged, monkeypatch, 1)
    assert all(sum(sizes[:-1]) <= 2000 for sizes in held)  # the last one passed the limit


def test_a_charge_within_a_batch_has_the_participants_of_its_turn(monkeypatch):
    monkeypatch.setattr(person_accounts, "_MANY", 2)
    with clinic(ROWS[:9]) as curator:
        for k in range(2):
            charge(curator, COUNT, 120 + k / 100)
        offer = curator._local.offer(COUNT, Terms(epsilon=122, delta=1e-5), None)
        waiting = curator._answer_service.charge(offer)
        for k in range(4):
            charge(curator, COUNT, 123 + k)
        assert curator.sql(COUNT, epsilon=130, delta=1e-5).table.column("n").to_pylist() == [0]
        told = curator._answer_service.collect(waiting).table.column("n").to_pylist()
        assert told == [len({one for one, *_ in ROWS[:9]})]  # the third is the last all can pay


def one_by_one(limits, charges):
    balances = IndividualBalances(0)
    balances.join(len(limits))
    balances.limits[:] = limits
    for one in charges:
        asked = np.array(
            [one.costs[one.of[i]] if i < len(one.of) else -1 for i in range(len(limits))]
        )
        places = np.flatnonzero(asked >= 0)
        balances.charge(places, asked[places])
    return balances


@pytest.mark.parametrize("seed", range(8))
def test_many_charges_at_once_are_taken_in_their_turn(seed):
    rng = np.random.default_rng(seed)
    limits = rng.choice([-3, 0, 40, 200, 2**60 - 1], 50)
    kinds = [rng.integers(-1, 4, 40).astype(np.int32), rng.integers(-1, 6, 50).astype(np.int32)]
    charges = []
    for _ in range(30):
        of = kinds[rng.integers(2)]
        costs = rng.choice([-1, 0, 1, 13, 60, 2**59, 2**60], int(of.max()) + 2)
        charges.append(ClassCosts(of, np.append(costs[:-1], -1)))
    balances = IndividualBalances(0)
    balances.join(len(limits))
    balances.limits[:] = limits
    balances.charge_all(charges)
    assert balances.spent.tolist() == one_by_one(limits, charges).spent.tolist()


def test_people_are_of_one_class_where_their_rows_are_the_same():
    people = np.array([0, 0, 1, 1, 2, 3, 4, 4, 4, 6, 7, 8])
    numbers = pa.chunked_array([[1.0, 0.0, 0.0, 1.0, 1.0, None, 1.0, 0.0, 1.0, -0.0, 0.0, None]])
    texts = pa.chunked_array([["a", None, None, "a", "a", "a", "a", None, "a", "a", "a", "a"]])
    found = PersonClasses.find(people, [numbers, texts])
    assert found.of[0] == found.of[1]
    assert found.of[3] == found.of[8]
    assert found.of[5] == -1
    assert len(set(found.of.tolist())) == len(found.members) + 1 == 7
    assert [found.of[one] for one in found.members] == list(range(len(found.members)))


def test_texts_of_a_column_may_take_more_than_an_array_holds():
    chunk = pa.array([letter * (1 << 24) for letter in "abab"])  # 64 MiB, of which 33 are 2.1 GiB
    found = PersonClasses.find(np.arange(4 * 33), [pa.chunked_array([chunk] * 33)])
    assert found.of.tolist() == [0, 1] * 66
