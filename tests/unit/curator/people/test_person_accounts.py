"""Budgets of people: who takes part, what each has spent, and that nothing else shows it."""

import datetime as dt
import threading
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.answer.plan.measure import Measurement, weighed
from discreet.audit.replay import replay
from discreet.curator.client.remote import Remote
from discreet.curator.ledger import accounts
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.people import opened_accounts, person_accounts
from discreet.curator.people.balance_table import BalanceTable, StoredBalances
from discreet.curator.people.opened_accounts import OpenedAccounts
from discreet.curator.people.person_limits import Population, read_name
from discreet.errors import BudgetError, EngineError, InputError, LedgerError, QueryRefused
from discreet.plan.kinds import Kind
from discreet.privacy.budgets.individual_balances import IndividualBalances, units_as_rho
from people import BUDGET, CITIES, LOUD, WIDE, add, clinic, exact_costs, refolded, spent, visits

CROWD = [(i, CITIES[i % 2], i % 10) for i in range(100)]
COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"


def number(curator, text, **price):
    return curator.sql(text, **{**LOUD, **price}).table.column("n").to_pylist()


def drain(curator, text=COUNT, times=3):
    """Ask as often as a person can pay for."""
    return [number(curator, text, epsilon=120 + k / 1000) for k in range(times)]


def terms(epsilon=120):
    return Terms(epsilon=epsilon, delta=1e-5)


# --- who takes part -------------------------------------------------------------------------------


def test_whoever_cannot_pay_is_left_out_and_nobody_is_told():
    with clinic(CROWD) as curator:
        assert drain(curator, COUNT + " WHERE city = 'Haifa'", 4) == [[50], [50], [50], [0]]
        assert number(curator, BY_CITY) == [50, 0, 0]
        assert number(curator, COUNT, epsilon=122) == [50]


def test_a_question_about_one_city_costs_the_others_nothing():
    with clinic(CROWD) as curator:
        number(curator, COUNT + " WHERE city = 'Haifa'")
        assert set(spent(curator)) == {i for i, city, _ in CROWD if city == "Haifa"}


def test_who_adds_less_pays_less():
    rows = [(1, "Oslo", 0), (2, "Oslo", 0), (2, "Oslo", 1), (3, "Oslo", 0)] + [(3, "Haifa", 0)] * 9
    with clinic(rows, limits=WIDE) as curator:
        number(curator, BY_CITY)
        [entry] = curator.ledger.charges(["visits"], after=0, until=10**6)
        exact = exact_costs(entry, rows, lambda *_: True)
        paid = spent(curator)
        assert exact[1] < exact[2] < exact[3]
        for person, cost in exact.items():
            assert cost <= paid[person] <= cost * (1 + Fraction(1, 10**5))


def test_all_grouping_sets_have_the_same_participants():
    with clinic(CROWD) as curator:
        text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)"
        first, *_ = (number(curator, text, epsilon=200 + k) for k in range(3))
        assert sorted(first) == [0, 50, 50, 100]
        assert sorted(number(curator, text, epsilon=198)) == [0, 0, 0, 0]
        assert spent(curator) == refolded(curator)


def test_people_above_a_limit_weigh_less_in_every_grouping_set():
    rows = [(i, city, 0) for i in range(100) for city in ("Oslo", "Haifa") for _ in range(8)]
    with clinic([*rows, (100, "Nowhere", 0)]) as curator:
        curator.limit_person(100, epsilon=0)  # in the total alone, and left out
        text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)"
        found = sorted(number(curator, text, epsilon=200))
        assert found == pytest.approx([0, 70.3, 70.3, 98.4], abs=3)  # 8 / sqrt(128), and 16 / 16
        assert spent(curator) == refolded(curator)


def test_the_same_question_again_is_free():
    with clinic(CROWD) as curator:
        first = curator.sql(COUNT, **LOUD)
        before = spent(curator)
        assert curator.sql(COUNT, **LOUD, analyst="bob") == first
        assert spent(curator) == before


QUESTIONS = {
    COUNT: lambda _city, _amount: True,
    BY_CITY: lambda _city, _amount: True,
    COUNT + " WHERE city = 'Oslo'": lambda city, _amount: city == "Oslo",
    BY_CITY.replace(" GROUP", " WHERE amount > 4 GROUP"): lambda _city, amount: amount > 4,
}


def model_holds(rows, asked):
    """Whether, in exact arithmetic, nobody passed the limit and everybody paid what it cost them.

    Participants are read off the balances; the costs are computed from the rows.
    """
    with clinic(rows, limits=WIDE) as curator:
        limit = units_as_rho(curator._answer_service.people.of("visits").population.limit)
        exact, before = {}, {}
        for text, epsilon in asked:
            curator.sql(text, epsilon=epsilon, delta=1e-5)
            entry = curator.ledger.charges(["visits"], after=0, until=10**6)[-1]
            paid = spent(curator)
            for person, cost in exact_costs(entry, rows, QUESTIONS[text]).items():
                had = before.get(person, Fraction(0))
                fits = had + cost <= limit * (1 - Fraction(1, 10**4))
                if fits or paid.get(person, Fraction(0)) > had:
                    exact[person] = exact.get(person, Fraction(0)) + cost
            if any(not total <= paid.get(one, 0) <= limit for one, total in exact.items()):
                return False
            before = paid
        return refolded(curator) == before


ROWS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(CITIES), st.integers(0, 9)), min_size=1, max_size=8
)
ASKED = st.lists(
    st.tuples(st.sampled_from(list(QUESTIONS)), st.integers(40, 240)),
    max_size=5,
    unique=True,
)


@settings(max_examples=12)
@given(ROWS, ASKED)
def test_nobody_passes_their_limit_in_exact_arithmetic(rows, asked):
    assert model_holds(rows, asked)


MIXED = [
    "SELECT SUM(amount) AS n FROM visits",
    "SELECT city, AVG(amount) AS n, COUNT(*) AS m FROM visits GROUP BY city",
    "SELECT VARIANCE(amount) AS n, COUNT(DISTINCT id) AS p FROM visits WHERE amount > 1",
    "SELECT city, COUNT(DISTINCT id) AS n FROM visits GROUP BY city",
    "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE amount > 3) AS m FROM visits",
]


@pytest.mark.parametrize("more", [[], [(7, "Austin", 5)]], ids=["two groups", "one too many"])
@pytest.mark.parametrize("text", MIXED)
def test_one_person_alone_pays_for_the_very_numbers_that_meet_noise(text, more, monkeypatch):
    loss, release = [], Measurement.release

    def record(self, totals):
        rows = [weighed(row, totals) for row in self.strategy.combinations]
        square = sum(int(one) ** 2 for row in rows for one in row)
        loss.append(self.cost * square / self.sensitivity**2)
        return release(self, totals)

    monkeypatch.setattr(Measurement, "release", record)
    rows = [(7, "Oslo", 9), (7, "Oslo", 2), (7, "Haifa", 3), (7, "Haifa", 0), (7, "Haifa", 8)]
    with clinic([*rows, *more], limits=WIDE) as curator:
        curator.sql(text, **LOUD)
        [paid] = spent(curator).values()
        assert sum(loss) <= paid <= sum(loss) * (1 + Fraction(1, 10**4)) + Fraction(1, 10**8)


def test_a_moment_that_names_somebody_is_the_same_in_every_zone():
    rows = pa.table({"who": [dt.datetime(2000, 1, 1, 1, tzinfo=dt.UTC)]})
    with dp.Curator.in_memory() as curator:
        curator.add("visits", rows, unit="who", limits=dp.Limits(1, 1), budget=BUDGET)
        east = dt.timezone(dt.timedelta(hours=2))
        curator.limit_person(dt.datetime(2000, 1, 1, 3, tzinfo=east), epsilon=0)
        assert number(curator, COUNT) == [0]


NAMES = {
    "text": ["ann", "bob"],
    "date": [dt.date(2000, 1, 1), dt.date(2000, 1, 2)],
    "timestamp": [dt.datetime(2000, 1, 1, 1), dt.datetime(2000, 1, 1, 2)],  # noqa: DTZ001 - local
    "real": [0.5, -0.0],
}


@pytest.mark.parametrize("kind", NAMES)
def test_people_may_have_names_of_any_kind(kind):
    rows = pa.table({"who": NAMES[kind], "key": [1, 1400]})
    about = {"unit": "who", "limits": dp.Limits(1, 1), "columns": {"key": dp.Keys(range(1500))}}
    with dp.Curator.in_memory() as curator:
        curator.add("visits", rows, budget=BUDGET, **about)
        curator.limit_person(NAMES[kind][1], epsilon=0)
        assert sum(number(curator, "SELECT key, COUNT(*) AS n FROM visits GROUP BY key")) == 1
        assert spent(curator) == refolded(curator)


# --- mutants --------------------------------------------------------------------------------------


class Refund(IndividualBalances):
    """Gives a tenth back."""

    def charge(self, places, costs):
        admitted = super().charge(places, costs)
        self._spent[places] -= np.where(admitted, costs // 10, 0)
        return admitted


class SkippedPerson(IndividualBalances):
    """Forgets to charge the last one."""

    def charge(self, places, costs):
        before = self._spent[places[-1:]]
        admitted = super().charge(places, costs)
        self._spent[places[-1:]] = before
        return admitted


class Midnight(IndividualBalances):
    """Begins anew every other question."""

    asked = 0

    def charge(self, places, costs):
        self.asked += 1
        if self.asked % 2:
            self._spent[:] = 0
        return super().charge(places, costs)


@pytest.mark.parametrize("mutant", [Refund, SkippedPerson, Midnight])
def test_a_fault_in_the_balances_is_caught(mutant, monkeypatch):
    asked = [(BY_CITY, 80), (COUNT, 82), (COUNT, 180)]
    assert model_holds(CROWD[:5], asked)
    monkeypatch.setattr(opened_accounts, "IndividualBalances", mutant)
    assert not model_holds(CROWD[:5], asked)


# --- non-interference -----------------------------------------------------------------------------


def look(rows):
    """Everything an analyst sees of a long conversation."""
    with clinic(rows) as curator:
        analyst = curator.as_analyst("ana")
        told = []
        for k in range(5):
            for text in (COUNT, BY_CITY, "SELECT AVG(amount) AS n FROM visits"):
                price = {"epsilon": 120 + k / 100, "delta": 1e-5}
                told += [analyst.sql(text, **price).to_arrow().to_pylist()]
                told += [repr(analyst.explain(text, **price)), str(analyst.cost(text, **price))]
        told += [analyst.participation("visits", epsilon=100, delta=1e-5).share]
        account = analyst.budget("visits")
        return [*told, account.spent, account.cap]


ALICE = [(1000, "Oslo", 9), (1000, "Oslo", 9), (1000, "Haifa", 9)]


@pytest.mark.parametrize("others", [[], ALICE[:1]])
def test_nothing_but_noisy_numbers_tells_whether_somebody_ran_out(others):
    # Of the first two questions Alice can pay for two, and with one row for more.
    assert not replay(look, CROWD + ALICE, CROWD + others)


def test_a_log_line_or_repr_says_nothing_of_balances(caplog):
    with clinic(CROWD) as curator:
        drain(curator, times=4)
        assert not caplog.records
        assert repr(curator.statement_for(3)) == "PersonStatement(...)"


# --- crashes and neighbours in time ---------------------------------------------------------------


class Killed(BaseException):
    """Stands for a process that ends here."""


@pytest.mark.parametrize("step", ["charge", "left_out", "measured", "keep", "complete"])
def test_a_crash_in_any_step_loses_time_and_no_charge(step, tmp_path, monkeypatch):
    def die(*_, **__):
        raise Killed

    with add(dp.Curator(tmp_path / "a"), CROWD) as curator:
        number(curator, COUNT)
        with monkeypatch.context() as context:
            where = {
                "charge": (curator._answer_service, "collect"),
                "left_out": (person_accounts.PersonAccounts, "_take"),
                "measured": (person_accounts.ChargeAdmission, "weights"),
                "keep": (Ledger, "keep"),
                "complete": (Ledger, "complete"),
            }[step]
            context.setattr(*where, die)
            with pytest.raises(Killed):
                number(curator, BY_CITY)
    with dp.Curator(tmp_path / "a") as again:
        assert again.recover(patience=0) == 1
        assert number(again, BY_CITY) == [50, 50, 0]
        after = spent(again)
        assert after == refolded(again)
        with add(dp.Curator.in_memory(), CROWD) as other:
            number(other, COUNT)
            number(other, BY_CITY)
            assert spent(other) == after


def test_a_cancelled_question_stays_charged():
    with clinic(CROWD) as curator:
        offer = curator._local.offer(COUNT, terms(), None)
        receipt = curator._answer_service.charge(offer)
        curator.cancel(receipt.sequence)
        assert len(spent(curator)) == 100


def test_a_charge_that_others_overtook_has_the_participants_of_its_turn():
    with clinic(CROWD) as curator:
        drain(curator, times=2)
        first = curator._answer_service.charge(curator._local.offer(COUNT, terms(120.5), None))
        assert number(curator, COUNT, epsilon=122) == [0]  # the first took the rest
        assert curator._answer_service.collect(first).table.column("n").to_pylist() == [100]
        late = curator._answer_service.charge(curator._local.offer(COUNT, terms(124), None))
        number(curator, COUNT, epsilon=126)
        curator._answer_service.people.of("visits")._left.clear()  # as after very many
        assert curator._answer_service.collect(late).table.column("n").to_pylist() == [0]


def test_questions_asked_at_once_are_charged_in_the_order_of_the_ledger():
    with clinic(CROWD) as curator:
        found = []
        ask = lambda k: found.extend(number(curator, COUNT, epsilon=120 + k / 1000))  # noqa: E731
        threads = [threading.Thread(target=ask, args=(k,)) for k in range(5)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert sorted(round(one / 100) for one in found) == [0, 0, 1, 1, 1]
        assert spent(curator) == refolded(curator)


def test_balances_are_the_same_after_the_folder_is_opened_again(tmp_path):
    with add(dp.Curator(tmp_path / "a"), CROWD) as curator:
        drain(curator, BY_CITY, 2)
        before = spent(curator)
    with dp.Curator(tmp_path / "a") as again:
        assert spent(again) == before
        assert [number(again, BY_CITY, epsilon=124 + k) for k in range(2)] == [[50, 50, 0], [0] * 3]


def test_without_the_key_of_the_accounts_nothing_is_answered(tmp_path):
    with add(dp.Curator(tmp_path / "a"), CROWD) as curator:
        number(curator, COUNT)
    (tmp_path / "a" / "people.key").write_text("0" * 64)
    with dp.Curator(tmp_path / "a") as again, pytest.raises(LedgerError, match="another secret"):
        number(again, BY_CITY)


def test_rows_that_a_secret_chooses_are_the_same_ones_when_folded_again():
    rows = [(i % 5, CITIES[i % 3], i % 10) for i in range(60)]
    text = "SELECT COUNT(*) AS n FROM visits v JOIN more m ON v.id = m.id WHERE v.amount > m.amount"
    with clinic(rows) as curator:
        add(curator, rows, "more", budget=None, dataset="visits")
        number(curator, text)
        number(curator, text, epsilon=122)
        assert spent(curator) == refolded(curator)


# --- data that grows ------------------------------------------------------------------------------


def test_balances_are_told_by_the_version_that_each_charge_was_made_for(tmp_path):
    later = [(i, CITIES[i % 3], i % 10) for i in range(80, 120)]
    with add(dp.Curator(tmp_path / "a"), CROWD) as curator, dp.Curator(tmp_path / "a") as other:
        drain(curator, times=1)
        waiting = curator._answer_service.charge(curator._local.offer(COUNT, terms(121), None))
        assert other.append("visits", visits(later)) == 2
        assert number(other, COUNT, epsilon=122) == [120]
        assert number(other, COUNT, epsilon=123) == [20]  # new people, and all rows of known ones
        assert number(other, COUNT, epsilon=124, as_of=1) == [0]
        assert curator._answer_service.collect(waiting).table.column("n").to_pylist() == [100]
        before = spent(curator)
        assert before == spent(other) == refolded(curator)
    with dp.Curator(tmp_path / "a") as again:
        assert spent(again) == before


def test_where_parts_are_lost_nothing_is_charged(tmp_path):
    with add(dp.Curator(tmp_path / "a"), CROWD) as curator:
        older = (tmp_path / "a" / "tables.json").read_text()
        curator.append("visits", visits([(500, "Oslo", 1)]))
        number(curator, COUNT)
    (tmp_path / "a" / "tables.json").write_text(older)
    with dp.Curator(tmp_path / "a") as again:
        head = again.ledger.head()
        with pytest.raises(LedgerError, match="has not the parts"):
            number(again, BY_CITY)
        assert again.ledger.head() == head


DAYS = [dt.date(2026, 1, one) for one in (1, 2, 3)]


INTEGERS = pa.int64()


def daily(curator, rows, name="visits", who=INTEGERS, **facts):
    """Rows of (person, day), where each person has a budget a day."""
    people, days = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table({"id": pa.array(people, who), "day": pa.array(days, pa.date32())})
    said = {"budget": BUDGET, "limits": dp.Limits(1, 1), **facts}
    bounds = {"day": dp.Bounds(DAYS[0], dt.date(2026, 12, 31))}
    curator.add(name, table, unit=dp.PersonPeriod("id", "day"), columns=bounds, **said)
    return curator


def of_day(place):
    return f"{COUNT} WHERE day = DATE '{DAYS[place]}'"


def test_questions_about_different_days_cost_different_accounts():
    with daily(dp.Curator.in_memory(), [(i, day) for i in range(50) for day in DAYS]) as curator:
        assert drain(curator, of_day(0), 4) == [[50], [50], [50], [0]]
        assert number(curator, of_day(1)) == [50]
        assert number(curator, COUNT, epsilon=121) == [100]  # all but those of the first day
        assert len(spent(curator)) == 150
        assert spent(curator) == refolded(curator)
        answer = curator.sql(COUNT, epsilon=122, delta=1e-5)
        assert "one person in one day" in answer.statement()
        later = pa.table({"id": pa.array([3]), "day": pa.array([dt.date(2026, 1, 9)])})
        curator.append("visits", later)
        assert number(curator, COUNT + " WHERE day > DATE '2026-01-04'", epsilon=130) == [1]


@pytest.mark.parametrize("who", [pa.int64(), pa.string(), pa.float64()])
def test_a_limit_of_a_person_holds_in_each_of_their_periods(who):
    names = {pa.string(): ("a:b", "ann"), pa.float64(): (0.5, 7.0)}.get(who, (3, 4))
    rows = [(name, day) for name in names for day in DAYS]
    with daily(dp.Curator.in_memory(), rows, who=who) as curator:
        number(curator, of_day(0))
        curator.remove_person(names[0])
        assert number(curator, COUNT, epsilon=121) == [3]
        curator.append("visits", pa.table({"id": pa.array([names[0]], who), "day": [DAYS[2]]}))
        assert number(curator, of_day(2), epsilon=122) == [1]
        told = curator.statement_for(names[1])
        assert told.spent == max(spent(curator).values())
        assert (len(told.releases), told.every) == (5, "day")
        assert "Your budget for each day" in str(told)
        assert spent(curator) == refolded(curator)


def test_who_was_removed_stays_out_where_an_engine_broke_off(monkeypatch):
    with daily(dp.Curator.in_memory(), [(i, day) for i in range(5) for day in DAYS]) as curator:
        curator.remove_person(3)
        with monkeypatch.context() as broken:
            broken.setattr(OpenedAccounts, "_owners_of", lambda *_: 1 / 0)
            with pytest.raises(EngineError):
                number(curator, COUNT)
        assert number(curator, COUNT, epsilon=121) == [12]
        assert spent(curator) == refolded(curator)


def test_a_statement_about_periods_counts_each_answer_once_and_speaks_of_one_period():
    with daily(dp.Curator.in_memory(), [(1, day) for day in DAYS]) as curator:
        drain(curator, times=4)
        told = curator.statement_for(1)
        assert "part of 3 answers" in str(told)
        assert told.left_out == 1
        assert told.odds.startswith("Of each day by itself")


@pytest.mark.parametrize("text", ["1_7", "x", ""])
def test_a_number_that_is_not_written_as_one_is_nobody(text):
    with clinic(CROWD) as curator, pytest.raises(InputError, match="cannot be read"):
        curator.person_named(text)


@pytest.mark.parametrize("name", [1 << 63, -1 - (1 << 63)])
def test_a_name_that_no_column_can_hold_is_refused(name):
    with clinic(CROWD) as curator, pytest.raises(InputError, match="a person named by a int"):
        curator.remove_person(name)


def test_a_day_by_dates_and_the_same_by_timestamps_are_not_two_accounts_of_one_person():
    at = {"id": pa.array([1]), "at": pa.array([dt.datetime(2026, 1, 1, 5)])}  # noqa: DTZ001 - local
    unit, limits = dp.PersonPeriod("id", "at"), dp.Limits(1, 1)
    with daily(dp.Curator.in_memory(), [(1, DAYS[0])]) as curator:
        with pytest.raises(InputError, match="protects others than"):
            curator.add("logins", pa.table(at), unit=unit, dataset="visits", limits=limits)
        curator.add("logins", pa.table(at), unit=unit, budget=BUDGET, limits=limits)
        with pytest.raises(InputError, match="cannot share accounts"):
            curator.link("patients", ["visits", "logins"])


def test_budgets_a_day_and_budgets_for_life_are_not_linked():
    curator = daily(clinic(CROWD), [(1, DAYS[0])], "logins")
    with curator, pytest.raises(InputError, match="cannot share accounts"):
        curator.link("patients", ["visits", "logins"])


# --- the table of balances ------------------------------------------------------------------------


def test_balances_are_saved_with_the_entry_they_reflect_and_taken_up_again(tmp_path, monkeypatch):
    place = tmp_path / "a"
    with add(dp.Curator(place), CROWD) as curator:
        curator.limit_person(3, epsilon=0)
        for k in range(20):
            number(curator, COUNT + f" WHERE amount = {k % 10}", epsilon=60 + k / 100)
        before = spent(curator)
    [table] = place.glob("people-*.parquet")
    kept, seen, folded = table.read_bytes(), [], person_accounts.PersonAccounts._take

    def take(self, entry, shares):
        seen.append(entry.sequence)
        folded(self, entry, shares)

    monkeypatch.setattr(person_accounts.PersonAccounts, "_take", take)
    with dp.Curator(place) as again:
        assert number(again, COUNT, epsilon=70) == [99]
        assert len(seen) == 1  # no charge before it was folded in again
        after = spent(again)
        assert all(after[name] > units for name, units in before.items())
        assert number(again, COUNT + " WHERE id = 3", epsilon=71) == [0]
        assert after == refolded(again)
    for wrong in (kept[:-9], b"", None):
        table.unlink() if wrong is None else table.write_bytes(wrong)
        seen.clear()
        with dp.Curator(place) as again:
            assert spent(again) == after
            assert len(seen) == 22


def test_people_join_again_and_again_after_balances_were_taken_up(tmp_path):
    place = tmp_path / "a"
    with add(dp.Curator(place), CROWD) as curator:
        for k in range(20):
            number(curator, COUNT + " WHERE amount < 3", epsilon=6 + k / 100)
    assert list(place.glob("people-*.parquet"))
    with dp.Curator(place) as again:
        for most in (5, 7, 10):
            assert number(again, COUNT + f" WHERE amount < {most}", epsilon=70) == [10 * most]
        told = spent(again)
        assert len(told) == 100
        assert told == refolded(again)


def test_a_table_of_another_ledger_key_or_with_other_numbers_is_not_trusted(tmp_path):
    with add(dp.Curator(tmp_path / "a"), CROWD) as curator, clinic(CROWD) as other:
        number(curator, COUNT)
        number(other, COUNT)
        people, hashes = Population(("visits",), 7), np.array([b"a" * 32, b"b" * 32])
        kept = StoredBalances(curator.ledger.head().sequence, hashes, hashes, np.array([5, 6]))
        table = BalanceTable(tmp_path, people, "key")
        table.save(kept, curator.ledger)
        assert table.load(curator.ledger).spent.tolist() == [5, 6]
        assert table.load(other.ledger) is None
        assert BalanceTable(tmp_path, people, "other").load(curator.ledger) is None
        [path] = tmp_path.glob("people-*.parquet")
        stored = pq.read_table(path)
        cheap = stored.set_column(2, "spent", pa.array([0, 0]))
        pq.write_table(cheap.replace_schema_metadata(stored.schema.metadata), path)
        assert table.load(curator.ledger) is None


# --- populations ----------------------------------------------------------------------------------


def linked(one, other):
    curator = clinic(one)
    add(curator, other, "labs")
    curator.link("patients", ["visits", "labs"])
    return curator


def test_linked_datasets_share_the_balances():
    with linked(CROWD, [*CROWD[:10], (500, "Oslo", 1)]) as curator:
        assert drain(curator, "SELECT COUNT(*) AS n FROM labs", 2) == [[11], [11]]
        assert drain(curator, COUNT, 3) == [[100], [90], [90]]
        assert number(curator, COUNT, epsilon=132) == [0]
        assert number(curator, "SELECT COUNT(*) AS n FROM labs", epsilon=132) == [1]
        assert spent(curator, "labs") == refolded(curator, "visits")


def test_only_datasets_that_can_share_accounts_are_linked():
    with clinic(CROWD) as curator:
        named = pa.table({"who": ["ann"]})
        curator.add("named", named, unit="who", limits=dp.Limits(1, 1), budget=BUDGET)
        with pytest.raises(InputError, match="named in different kinds"):
            curator.link("patients", ["visits", "named"])
        add(curator, CROWD, "labs")
        add(curator, CROWD, "ordinary", budget=dp.Budget(epsilon=1, delta=1e-6))
        add(curator, CROWD, "less", budget=dp.Budget.per_person(epsilon=1, delta=1e-6))
        for others in ("ordinary", "less"):
            with pytest.raises(InputError, match="cannot share accounts"):
                curator.link("patients", ["visits", others])
        with pytest.raises(InputError, match="cannot share accounts"):
            curator.link("patients", ["visits", "labs"], dp.Budget(epsilon=9, delta=1e-5))
        number(curator, COUNT)
        number(curator, "SELECT COUNT(*) AS n FROM labs")
        with pytest.raises(InputError, match="cannot share accounts"):
            curator.link("patients", ["visits", "labs"])
        members = [accounts.dataset(name) for name in ("visits", "labs")]
        with pytest.raises(InputError, match="cannot share accounts"):  # asked since it was checked
            curator.ledger.open_account(accounts.link("patients"), None, by="own", members=members)


# --- one person -----------------------------------------------------------------------------------


def test_who_opts_out_is_in_no_later_answer_and_may_come_back():
    with clinic(CROWD) as curator:
        curator.limit_person(3, epsilon=0)
        curator.limit_person(12345, epsilon=0)  # who is not there: nobody is told
        assert number(curator, COUNT) == [99]
        curator.limit_person(3, epsilon=150)
        assert number(curator, COUNT, epsilon=122) == [100]
        assert number(curator, COUNT, epsilon=124) == [99]
        assert spent(curator) == refolded(curator)
        with pytest.raises(InputError, match="above what everybody has"):
            curator.limit_person(3, epsilon=321)
        with pytest.raises(InputError, match="kind integer"):
            curator.limit_person("3", epsilon=1)


def test_who_is_removed_leaves_a_tombstone_and_coming_back_refills_nothing():
    with linked(CROWD, CROWD[50:]) as curator:
        number(curator, COUNT)
        curator.remove_person(60, dataset="visits")
        curator.remove_person(60)
        assert number(curator, COUNT, epsilon=122) == [99]
        assert number(curator, "SELECT COUNT(*) AS n FROM labs") == [49]
        assert curator.statement_for(60).closed
        curator.append("visits", visits([(60, "Oslo", 1), (999, "Oslo", 1)]))
        assert number(curator, COUNT + " WHERE city = 'Oslo'", epsilon=130) == [1]
        curator.append("labs", visits([(60, "Oslo", 1)]))
        assert number(curator, "SELECT COUNT(*) AS n FROM labs WHERE city = 'Oslo'") == [0]
        with pytest.raises(InputError, match="closed"):
            curator.limit_person(60, epsilon=9)


def test_who_comes_back_in_another_dataset_has_what_they_had():
    with linked(CROWD, []) as curator:
        drain(curator, COUNT)
        add(curator, [(3, "Oslo", 1), (999, "Oslo", 1)], "back", budget=None, dataset="labs")
        assert number(curator, "SELECT COUNT(*) AS n FROM back") == [1]


def test_a_statement_tells_one_person_what_they_were_in():
    with clinic(CROWD) as curator:
        drain(curator, COUNT + " WHERE city = 'Haifa'", 4)
        number(curator, COUNT + " WHERE city = 'Austin'")
        told, other, nobody = (curator.statement_for(one) for one in (1, 2, 777))
        assert (len(told.releases), told.left_out) == (3, 1)
        assert (len(other.releases), other.left_out) == (1, 0)
        assert told.spent == spent(curator)[1] <= told.rho
        assert "odds" in str(told)
        assert " % of it is used" in str(told)
        assert told.to_dict()["releases"][0]["asked"].startswith("SELECT")
        assert "nothing about you" in nobody.odds
        assert not hasattr(curator.as_analyst("ana"), "statement_for")


def test_analysts_buy_the_share_that_still_takes_part():
    with clinic(CROWD) as curator:
        analyst = curator.as_analyst("ana")
        price = {"epsilon": 100, "delta": 1e-5}
        assert analyst.participation("visits", **price).share == 1
        drain(curator, COUNT + " WHERE city = 'Haifa'")
        assert analyst.participation("visits", **price).share == 1  # the same again is free
        later = analyst.participation("visits", again=1, **price)
        assert later.low <= 0.5 <= later.high
        assert later.share == pytest.approx(0.5, abs=0.05)
        assert "participants" in later.now.statement()
        assert spent(curator) == refolded(curator)


# --- what is refused ------------------------------------------------------------------------------

REFUSED = {
    "quantile": "SELECT MEDIAN(amount) AS n FROM visits",
    "different values": "SELECT COUNT(DISTINCT amount) AS n FROM visits",
    "nobody has listed": "SELECT note, COUNT(*) AS n FROM visits GROUP BY note",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_price_a_person_is_refused_before_any_charge(reason):
    rows = pa.table({"id": [1, 2], "amount": [1, 2], "note": ["a", "b"]})
    with dp.Curator.in_memory() as curator:
        about = {"unit": "id", "limits": dp.Limits(1, 1), "columns": {"amount": dp.Bounds(0, 10)}}
        curator.add("visits", rows, budget=BUDGET, **about)
        head = curator.ledger.head()
        for ask in (curator.sql, curator.explain):
            with pytest.raises(QueryRefused, match=reason) as refused:
                ask(REFUSED[reason], **LOUD)
            assert refused.value.code == "per-person"
        assert curator.ledger.head() == head


def test_other_orders_limits_that_are_chosen_and_joined_answers_are_refused():
    with clinic(CROWD, limits=None) as curator:
        head = curator.ledger.head()
        with pytest.raises(QueryRefused, match="limits that nobody has stated"):
            curator.sql(COUNT, **LOUD)
        with pytest.raises(QueryRefused, match="no question"):
            curator.synthesize("visits", epsilon=1)
        with pytest.raises(QueryRefused, match="Laplace noise"):
            curator.sql("SELECT COUNT(DISTINCT id) AS n FROM visits", epsilon=1, delta=0)
        with pytest.raises(QueryRefused, match="joined with earlier"):
            curator.remeasure("SELECT COUNT(DISTINCT id) AS n FROM visits", **LOUD)
        assert curator.ledger.head() == head


def test_a_budget_a_person_needs_people_and_is_for_life():
    with clinic(CROWD) as curator:
        with pytest.raises(InputError, match="no person can have one"):
            curator.add("rows", pa.table({"x": [1]}), unit=dp.EachRow(), budget=BUDGET)
        with pytest.raises(InputError, match="for somebody else"):
            curator.grant("ana", "visits", BUDGET)
        with pytest.raises(InputError, match="for life"):
            curator.raise_budget("visits", dp.Budget(epsilon=9, delta=1e-6), reason="more")
        assert curator.ledger.verify().ok
        assert curator.budget("visits").is_per_person
        assert curator.dummy().budget("visits").is_per_person
    near = dp.Curator.in_memory(neighbours=dp.Neighbours.CHANGE_ONE)
    with near, pytest.raises(InputError, match="no person can have one"):
        add(near, CROWD)


def test_an_analyst_with_a_cap_of_their_own_is_held_to_it():
    with clinic(CROWD) as curator:
        curator.grant("ana", "visits", dp.Budget(epsilon=150, delta=1e-3))
        analyst = curator.as_analyst("ana")
        analyst.sql(COUNT, **LOUD)
        with pytest.raises(BudgetError):
            analyst.sql(BY_CITY, **LOUD)
        curator.grant("eve", "visits", dp.Budget(epsilon=100))
        with pytest.raises(QueryRefused, match="Laplace noise"):
            curator.as_analyst("eve").sql(BY_CITY, **LOUD)


def test_no_token_reads_the_account_of_one_person():
    remote = object.__new__(Remote)
    for call in (remote.statement_for, remote.remove_person):
        with pytest.raises(InputError, match="one person"):
            call(3)
    with pytest.raises(InputError, match="one person"):
        remote.limit_person(3, epsilon=0)


def test_datasets_of_one_kind_of_people_are_found_by_name():
    with clinic(CROWD) as curator:
        add(curator, CROWD, "labs")
        with pytest.raises(InputError, match="name one dataset: visits, labs"):
            curator.limit_person(3, epsilon=0)
        curator.limit_person(3, epsilon=0, dataset="labs")
        assert number(curator, COUNT) == [100]
        assert number(curator, "SELECT COUNT(*) AS n FROM labs") == [99]
        with pytest.raises(InputError, match="there is no dataset"):
            curator.statement_for(3, dataset="elsewhere")


@pytest.mark.parametrize("text", ["1_7", str(2**63), "x", "1.0"])
def test_a_name_that_is_mistyped_is_nobody_else(text):
    with pytest.raises(InputError, match="cannot be read"):
        read_name(text, Kind.INTEGER)
    assert read_name(text, Kind.TEXT) == text
    assert read_name(str(-(2**63)), Kind.INTEGER) == -(2**63)


def test_somebody_without_an_account_ends_the_question(monkeypatch):
    """Whoever is not charged must not be in the totals: nothing is measured, the charge stays."""
    true, opened = opened_accounts.read_new_people, []

    def misnaming(session, text):
        names, hashes = true(session, text)
        opened.append(len(hashes))
        return [pa.array([f"nobody {one}" for one in part.to_pylist()]) for part in names], hashes

    rows = pa.table({"id": ["ann", "bob"], "city": ["Austin", "Haifa"]})
    with dp.Curator.in_memory() as curator:
        keys = {"city": dp.Keys(CITIES)}
        curator.add("visits", rows, unit="id", budget=BUDGET, limits=dp.Limits(1, 1), columns=keys)
        monkeypatch.setattr(opened_accounts, "read_new_people", misnaming)
        with pytest.raises(EngineError, match="could not be computed"):
            curator.sql(BY_CITY, **LOUD)
    assert opened == [2]
