"""What owners type, what is kept of it, and what each way of counting buys."""

import sqlite3
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import COUNT, add_visits, spent
from discreet.curator.ledger.accounts import Account, dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, State
from discreet.curator.ledger.store import APPLICATION
from discreet.curator.reports.privacy_promise import promised
from discreet.errors import BudgetError, InputError
from discreet.privacy import EPSILON, GDP, MU_SQUARED, RHO, ZCDP, Approximate, Filter, Pure
from discreet.privacy.budgets.charges import price

CAPS = [(1, "1e-9"), (1, "1e-5"), (3, "1e-6"), ("0.3", "1e-6")]


@pytest.mark.parametrize(("epsilon", "delta"), CAPS)
@pytest.mark.parametrize("measure", [None, "epsilon", "rho", "mu-squared"])
def test_every_cap_keeps_to_the_epsilon_and_delta_that_were_typed(epsilon, delta, measure):
    e, d = Fraction(epsilon), Fraction(delta)
    cap = dp.Budget(e, d, measure=measure).cap()
    assert cap.measure.name == (measure or "mu-squared")
    assert cap.stated == (e, d)
    kept = Filter(cap).guarantee.delta(e)
    assert (kept.lower if measure == "epsilon" else kept.upper) <= d
    assert promised(Account.under(dataset("d"), cap)) == {"epsilon": float(e), "delta": float(d)}


def test_a_cap_in_mu_squared_is_larger_than_twice_that_in_rho():
    for epsilon, delta in CAPS:
        caps = [
            dp.Budget(Fraction(epsilon), Fraction(delta), measure=by).cap().amount
            for by in ("mu-squared", "rho")
        ]
        assert Fraction(109, 100) < caps[0] / (2 * caps[1]) < Fraction(120, 100)


@pytest.mark.parametrize(
    "said",
    [
        {"epsilon": 1, "measure": "rho"},
        {"epsilon": 1, "measure": "mu-squared"},
        {"rho": 1, "measure": "epsilon"},
        {"epsilon": 1, "delta": 1e-6, "measure": "renyi"},
        {"epsilon": 1, "delta": 1e-6, "measure": 3},
    ],
)
def test_measures_that_cannot_keep_a_budget_are_refused(said):
    with pytest.raises(InputError, match="counted in"):
        dp.Budget(**said)


def test_epsilons_with_a_delta_are_for_a_few_precise_questions():
    with dp.Curator.in_memory() as curator:
        few = dp.Budget(epsilon=1, delta=1e-6, measure="epsilon")
        add_visits(curator, budget=few)
        exact = curator.explain(COUNT, epsilon=1).half_width("n")
        curator.sql(COUNT, epsilon=1)
        assert curator.budget("visits").left.amount == 0
        assert spent(curator)[1] == 0  # delta is for found keys alone
    with dp.Curator.in_memory() as curator:
        add_visits(curator, budget=dp.Budget(epsilon=1, delta=1e-6))
        assert curator.explain(COUNT, epsilon=1).half_width("n") > 2.5 * exact


def test_found_keys_are_paid_by_delta_where_epsilons_are_added():
    rows = pa.table({"id": list(range(400)), "city": ["Austin", "Haifa"] * 200})
    with dp.Curator.in_memory() as curator:
        budget = dp.Budget(epsilon=2, delta=1e-6, measure="epsilon")
        curator.add("people", rows, unit="id", budget=budget, limits=dp.Limits(1, 1))
        found = curator.sql("SELECT city, COUNT(*) AS n FROM people GROUP BY city", epsilon=1)
        assert found.table.num_rows == 2
        assert curator.budget("people").total.amount == 1
        assert 0 < curator.budget("people").total.delta <= Fraction(1, 10**6) / 50


def test_comparing_says_what_each_choice_buys():
    told = dp.Budget(epsilon=1, delta=1e-6).compare()
    assert told.half_widths["epsilon"][0] == pytest.approx(2.996, rel=1e-3)
    assert told.half_widths["mu-squared"][3] < told.half_widths["rho"][3] < 300
    assert told.few == 8
    assert dp.Budget(epsilon=1).compare().few is None
    assert dp.Budget(rho=1).compare([5]).half_widths["rho"] == [pytest.approx(3.099, rel=1e-3)]


def test_caps_within_a_dataset_count_as_it_does_unless_they_say_otherwise():
    with dp.Curator.in_memory() as curator:
        add_visits(curator, budget=dp.Budget(epsilon=3, delta=1e-6, measure="rho"))
        curator.as_analyst("alice").sql(COUNT, epsilon=0.1)
        alike = curator.grant("alice", "visits", dp.Budget(epsilon=1, delta=1e-7))
        own = curator.grant("bob", "visits", dp.Budget(epsilon=1, delta=1e-7, measure="epsilon"))
        assert (alike.measure, own.measure) == (RHO, EPSILON)
        raised = curator.raise_budget("visits", dp.Budget(epsilon=4, delta=1e-6), reason="more")
        assert (raised.measure, raised.stated) == (RHO, (4, Fraction(1, 10**6)))
        curator.as_analyst("bob").sql(COUNT, epsilon=0.1)
        assert curator.ledger.verify().ok


def test_an_account_refuses_what_its_filter_refuses():
    account = Account.under(dataset("d"), Filter.gdp(1, Fraction(1, 10**6)).limit)
    units = price(GDP(Fraction(1, 2)), MU_SQUARED).units
    for _ in range(4):
        account = account.after((units, 0))
    assert account.left.amount == 0
    with pytest.raises(BudgetError, match="left to dataset d"):
        account.after((1, 0))
    leaky = price(Approximate(0, Fraction(1, 10**5)), MU_SQUARED)
    with pytest.raises(BudgetError, match="delta: only"):
        account.after((leaky.units, leaky.delta_units))


def test_a_ledger_of_the_third_version_keeps_its_budgets(tmp_path):
    """The dump was written before accounts kept what was typed, and is never renewed."""
    path = tmp_path / "ledger.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.executescript((Path(__file__).parent / "version_3.sql").read_text())
    connection.close()
    with Ledger.adopt(path, by="owner", reason="from a dump") as ledger:
        visits, bills = ledger.account(dataset("visits")), ledger.account(dataset("bills"))
        assert (visits.measure, visits.stated, bills.measure) == (RHO, None, EPSILON)
        assert promised(visits) == {"epsilon": 3.0, "delta": 1e-6}
        assert visits.total.amount == Fraction(1, 100)
        order = Order("alice", "visits", "v1", "count()", (price(ZCDP(Fraction(1, 100)), RHO),))
        assert ledger.charge(order).state is State.RELEASED
        more = Order("bob", "bills", "v1", "sum()", (price(Pure(Fraction(1, 2)), EPSILON),))
        assert ledger.charge(more).state is State.CHARGED
        cap = dp.Budget(epsilon=4, delta=1e-6, measure="rho").cap()
        assert ledger.set_cap(dataset("visits"), cap, by="owner", reason="r").stated == cap.stated
        assert ledger.account(dataset("visits")).stated == cap.stated
        assert ledger.verify().ok
