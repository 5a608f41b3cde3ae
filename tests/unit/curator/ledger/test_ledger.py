"""The same suite on every store."""

import hashlib
import io
import json
import signal
import threading
import time
from dataclasses import replace
from fractions import Fraction

import pytest

import fresh_process
from discreet.curator.ledger.accounts import analyst, dataset, group, link, workbook
from discreet.curator.ledger.ledger import HeldDraws, Ledger
from discreet.curator.ledger.orders import Entry, Order, Receipt, State
from discreet.curator.ledger.transaction import Transaction
from discreet.errors import BudgetError, InputError, LedgerError
from discreet.privacy import ZCDP, Filter, Neighbours, Pure

VISITS = dataset("visits")


def spent(ledger, holder=VISITS):
    return ledger.account(holder).total.amount


def left(ledger, holder=VISITS):
    return ledger.account(holder).left.amount


def answered(ledger, order, release=b"answer"):
    receipt = ledger.charge(order)
    return ledger.complete(receipt, release)


def test_all_that_a_charge_reads_is_read_ahead(visits, ask, monkeypatch):
    """A statement of its own would be one more way to a server, while all others wait."""
    seen, late, read = [], [], Transaction.read

    def watched(self, sql, values=()):
        ahead = not self.writes and (sql, tuple(values)) in self._ahead
        (seen if ahead else late).append(sql)
        return read(self, sql, values)

    monkeypatch.setattr(Transaction, "read", watched)
    visits.charge(ask())
    assert any("retired" in sql for sql in seen)
    assert not late


def test_of_two_threads_that_draw_a_step_at_once_the_first_counts():
    held = HeldDraws()
    assert held.draw(7, 1, lambda: [held.draw(7, 1, lambda: [b"first"]) + b", second"]) == b"first"
    assert held.draw(7, 1, lambda: [b"third"]) == b"first"
    held.let_go(7, 1)
    assert held.draw(7, 1, lambda: [held.let_go(7, 1)]) is None  # a draw that failed


def test_a_charge_debits_dataset_and_analyst_and_is_an_entry(visits, ask):
    receipt = visits.charge(ask())
    assert receipt.state is State.CHARGED
    assert (spent(visits), spent(visits, analyst("alice", within="visits"))) == (
        Fraction(1, 10),
        Fraction(1, 10),
    )
    entry = visits.entries()[-1]
    assert (entry.kind, entry.by, entry.sequence) == ("charged", "alice", receipt.sequence)
    assert entry.facts["prices"][0]["amount"] == "1/10"
    assert entry.facts["measurements"] == [{"what": "count"}]
    assert visits.verify().ok
    assert visits.verify().pending == 1


def test_asking_again_is_free_and_gives_the_same_bytes(visits, ask):
    first = answered(visits, ask(), b"\x00one")
    before = visits.head()
    again = visits.charge(ask())
    assert (again.state, again.release) == (State.RELEASED, first)
    assert (visits.head(), spent(visits)) == (before, Fraction(1, 10))


def test_the_first_answer_stays(visits, ask):
    receipt = visits.charge(ask())
    assert visits.complete(receipt, b"first") == b"first"
    assert visits.complete(receipt, b"second") == b"first"
    assert visits.charge(ask()).release == b"first"


@pytest.mark.parametrize("change", ["plan", "version", "epsilon"])
def test_another_plan_version_or_price_is_another_question(visits, ask, change):
    answered(visits, ask())
    other = ask("sum()") if change == "plan" else ask(epsilon=0.2) if change == "epsilon" else None
    other = other or replace(ask(), version="v2")
    assert visits.charge(other).state is State.CHARGED
    assert spent(visits) > Fraction(1, 10)


def test_a_request_id_stands_for_one_question(visits, ask):
    answered(visits, ask(request="r1"))
    assert visits.charge(ask(request="r1")).state is State.RELEASED
    with pytest.raises(InputError, match="request id"):
        visits.charge(ask("sum()", request="r1"))
    assert spent(visits) == Fraction(1, 10)


def test_an_answer_without_a_charge_is_refused(visits, ask):
    receipt = visits.charge(ask())
    with pytest.raises(LedgerError, match="no charge"):
        visits.complete(replace(receipt, sequence=1), b"x")
    with pytest.raises(LedgerError, match="no charge"):
        visits.complete(replace(receipt, order=ask("sum()")), b"x")
    assert visits.verify().ok


def test_the_last_unit_fits_and_the_next_does_not(visits, ask):
    visits.charge(ask("a", epsilon=1))
    with pytest.raises(BudgetError) as refused:
        visits.charge(ask("b", epsilon=1e-60))
    assert (refused.value.left, refused.value.asked) == (0, 1e-60)
    visits.charge(ask("c", epsilon=0))
    assert visits.verify().ok


def test_all_accounts_are_debited_or_none(visits, ask):
    mine = analyst("alice", within="visits")
    visits.open_account(mine, Filter.basic(epsilon=0.15).limit, by="owner")
    visits.charge(ask("a"))
    head = visits.head()
    with pytest.raises(BudgetError, match="analyst alice"):
        visits.charge(ask("b"))
    assert (spent(visits), spent(visits, mine)) == (Fraction(1, 10), Fraction(1, 10))
    assert visits.head() == head
    visits.charge(ask("b", by="bob"))
    assert visits.verify().ok


def test_an_answer_of_others_costs_an_analyst_but_not_the_dataset(visits, ask):
    bob = analyst("bob", within="visits")
    answered(visits, ask())
    assert visits.charge(ask(by="bob")).release == b"answer"
    assert visits.charge(ask(by="bob")).release == b"answer"
    assert (spent(visits), spent(visits, bob)) == (Fraction(1, 10), Fraction(1, 10))
    assert [entry.kind for entry in visits.entries()][-1] == "shared"
    assert visits.verify().ok


def test_an_analyst_without_budget_cannot_read_the_answers_of_others(visits, ask):
    bob = analyst("bob", within="visits")
    visits.open_account(bob, Filter.basic(epsilon=0.05).limit, by="owner")
    answered(visits, ask())
    with pytest.raises(BudgetError, match="analyst bob"):
        visits.charge(ask(by="bob"))
    assert spent(visits, bob) == 0


def test_a_group_pays_once_for_an_answer_its_members_share(visits, ask):
    team = group("team", within="visits")
    people = [analyst(name, within="visits") for name in ("alice", "bob")]
    cap = Filter.basic(epsilon=0.15).limit
    visits.open_account(team, cap, by="owner", members=people)
    answered(visits, ask())
    assert visits.charge(ask(by="bob")).state is State.RELEASED
    assert spent(visits, team) == Fraction(1, 10)
    with pytest.raises(BudgetError, match="group team"):
        visits.charge(ask("sum()", by="bob"))
    visits.charge(ask("sum()", by="carol"))
    assert visits.verify().ok


def test_who_joins_a_group_brings_what_was_learnt(visits, ask):
    team, alice = group("team", within="visits"), analyst("alice", within="visits")
    visits.open_account(team, None, by="owner")
    visits.charge(ask())
    assert visits.admit(team, alice, by="owner").total.amount == Fraction(1, 10)
    assert visits.admit(team, alice, by="owner").total.amount == Fraction(1, 10)
    assert visits.members(team) == (alice,)
    visits.set_cap(team, Filter.basic(epsilon=0.1).limit, by="owner", reason="enough")
    with pytest.raises(BudgetError):
        visits.charge(ask("sum()"))
    assert visits.verify().ok


def test_linked_datasets_share_a_cap_over_both(visits, ask):
    labs, people = dataset("labs"), link("patients")
    visits.open_account(labs, Filter.basic(epsilon=1).limit, by="owner")
    visits.charge(ask(epsilon=0.3))
    cap = Filter.basic(epsilon=0.5).limit
    opened = visits.open_account(people, cap, by="owner", members=[VISITS, labs])
    assert opened.total.amount == Fraction(3, 10)
    visits.charge(ask(epsilon=0.2, about="labs"))
    with pytest.raises(BudgetError, match="link patients"):
        visits.charge(ask("more", about="labs"))
    assert left(visits, labs) == Fraction(8, 10)
    assert visits.verify().ok


def test_a_granted_cap_counts_what_was_spent_before(visits, ask):
    visits.charge(ask(epsilon=0.3))
    alice = analyst("alice", within="visits")
    with pytest.raises(InputError, match="below what is spent"):
        visits.open_account(alice, Filter.basic(epsilon=0.2).limit, by="owner")
    visits.open_account(alice, Filter.basic(epsilon=0.4).limit, by="owner")
    assert left(visits, alice) == Fraction(1, 10)
    assert visits.verify().ok


def test_a_raise_is_an_entry_with_a_reason(visits, ask):
    visits.charge(ask(epsilon=1))
    visits.set_cap(VISITS, Filter.basic(epsilon=2).limit, by="owner", reason="a new study")
    entry = visits.entries()[-1]
    assert (entry.kind, entry.facts["reason"]) == ("raised", "a new study")
    visits.charge(ask("b", epsilon=1))
    visits.set_cap(VISITS, Filter.basic(epsilon=2).limit, by="owner", reason="as it was")
    with pytest.raises(InputError, match="below what is spent"):
        visits.set_cap(VISITS, Filter.basic(epsilon=1.9).limit, by="owner", reason="too late")
    with pytest.raises(InputError, match="reason"):
        visits.set_cap(VISITS, Filter.basic(epsilon=3).limit, by="owner", reason="")
    assert visits.verify().ok


def test_each_account_counts_in_its_own_measure(ledger):
    ledger.open_account(VISITS, Filter.within(1, 1e-6).limit, by="owner")
    alice = analyst("alice", within="visits")
    ledger.open_account(alice, Filter.basic(epsilon=0.5).limit, by="owner")
    pure, rho = Filter.basic(1).price(Pure(0.2)), Filter.zcdp(1).price(Pure(0.2))
    with pytest.raises(InputError, match="without a price in epsilon"):
        ledger.charge(Order("alice", "visits", "v1", "q", (rho,)))
    ledger.charge(Order("alice", "visits", "v1", "q", (rho, pure)))
    assert (spent(ledger), spent(ledger, alice)) == (rho.amount, Fraction(1, 5))
    assert {one.measure.name for one in ledger.touched("visits", "alice")} == {"epsilon", "rho"}
    assert ledger.verify().ok


def test_a_workbook_pays_for_what_its_analyst_asks_from_it(visits, ask):
    epsilon = Filter.basic(1).limit.measure
    book = workbook("alice", "thesis", epsilon, within="visits")
    with pytest.raises(InputError, match="alice has no workbook thesis of visits"):
        visits.charge(replace(ask(), workbook="thesis"))
    answered(visits, replace(ask(plan="of bob"), analyst="bob"))
    answered(visits, ask(plan="before"))
    visits.open_account(book, Filter.basic(epsilon=0.3).limit, by="alice")
    opened = visits.head().sequence
    for plan in ("of bob", "of bob", "before", "new"):  # others', again, her own, and fresh
        receipt = visits.charge(replace(ask(plan=plan), workbook="thesis"))
        if receipt.release is None:
            visits.complete(receipt, b"answer")
    visits.charge(ask(plan="elsewhere"))
    assert spent(visits, book) == Fraction(2, 10)
    assert [one.order.plan for one in visits.paid_by([book], after=opened)] == ["of bob", "new"]
    assert visits.touched("visits", "alice", "thesis")[-2].holder == book
    visits.charge(replace(ask(plan="third"), workbook="thesis"))
    with pytest.raises(BudgetError, match="workbook alice/thesis"):
        visits.charge(replace(ask(plan="fourth"), workbook="thesis"))
    assert visits.verify().ok


def test_deltas_are_capped_too(ledger):
    budget = Filter.zcdp(1, 1e-6)
    ledger.open_account(VISITS, budget.limit, by="owner")
    ledger.charge(Order("a", "visits", "v", "p", (budget.price(ZCDP(0.1, 6e-7)),)))
    with pytest.raises(BudgetError, match="delta"):
        ledger.charge(Order("a", "visits", "v", "q", (budget.price(ZCDP(0.1, 6e-7)),)))
    assert ledger.verify().ok


def test_charges_about_other_neighbours_are_refused(visits):
    price = Filter.basic(1, neighbours=Neighbours.CHANGE_ONE).limit
    with pytest.raises(InputError, match="under add-remove"):
        visits.charge(Order("alice", "visits", "v1", "q", (price,)))


def test_amounts_that_cannot_be_converted_are_not_mixed(visits, ask):
    visits.charge(ask())
    cap = Filter.zcdp(1).limit
    with pytest.raises(InputError, match="would not count as"):
        visits.open_account(link("l"), cap, by="owner", members=[VISITS])
    with pytest.raises(InputError, match="would not count as"):
        visits.set_cap(VISITS, Filter.zcdp(1).limit, by="owner", reason="r")
    with pytest.raises(InputError, match="epsilon, rho or mu-squared"):
        visits.open_account(dataset("d"), Filter.renyi(1, 2).limit, by="owner")


def test_accounts_are_opened_once_and_only_where_they_belong(visits):
    cap, alice = Filter.basic(1).limit, analyst("alice", within="visits")
    with pytest.raises(InputError, match="already"):
        visits.open_account(VISITS, cap, by="owner")
    visits.open_account(alice, cap, by="owner")
    for holder, members in [
        (alice, []),
        (analyst("x", within="nowhere"), []),
        (dataset("d"), [alice]),
        (link("l"), [alice]),
        (link("l"), [dataset("nowhere")]),
        (link("l"), [VISITS, VISITS]),
        (group("g", within="visits"), [analyst("bob", within="labs")]),
    ]:
        with pytest.raises(InputError):
            visits.open_account(holder, cap, by="owner", members=members)
    for holder in (dataset("d"), alice, link("l")):
        with pytest.raises(InputError):
            visits.open_account(holder, None, by="owner")
    with pytest.raises(InputError, match="no account"):
        visits.admit(group("g", within="visits"), alice, by="owner")
    counting = visits.open_account(link("all"), None, by="owner", members=[VISITS])
    assert (counting.limit, counting.left) == (None, None)
    with pytest.raises(InputError, match="no account"):
        visits.admit(link("all"), dataset("nowhere"), by="owner")
    with pytest.raises(InputError, match="account named by"):
        visits.account("visits")
    assert visits.verify().ok


def test_a_dataset_without_a_budget_is_not_asked(ledger, ask):
    with pytest.raises(InputError, match="no account"):
        ledger.charge(ask())
    assert [entry.kind for entry in ledger.entries()] == ["founded"]


def test_a_second_asker_waits_for_the_first(visits, ask):
    receipt = visits.charge(ask())
    assert visits.charge(ask()).state is State.PENDING
    with pytest.raises(LedgerError, match="not there yet"):
        visits.wait(ask(), timeout=0.02)
    finish = threading.Timer(0.1, visits.complete, (receipt, b"late"))
    finish.start()
    assert visits.wait(ask(), timeout=30).release == b"late"
    finish.join()
    assert spent(visits) == Fraction(1, 10)


def test_a_charge_whose_worker_died_is_finished_under_the_same_charge(visits, ask):
    visits.charge(ask())
    assert visits.recover() == ()
    [receipt] = visits.recover(patience=0)
    assert (receipt.state, receipt.order.plan) == (State.CHARGED, "count()")
    assert receipt.order.measurements == [{"what": "count"}]
    visits.complete(receipt, b"recovered")
    assert visits.charge(ask()).release == b"recovered"
    assert (visits.recover(patience=0), spent(visits)) == ((), Fraction(1, 10))


def test_the_next_asker_takes_over_a_lapsed_claim(visits, ask):
    visits.charge(ask())
    visits._patience = 0
    assert visits.charge(ask()).state is State.CHARGED
    assert spent(visits) == Fraction(1, 10)


def test_an_export_can_be_checked_without_the_ledger(visits, ask):
    answered(visits, ask("Zürich \n \N{SNOWMAN}"))
    file = io.StringIO()
    assert visits.export(file) == visits.head()
    lines = file.getvalue().splitlines(keepends=True)
    before, found = "0" * 64, []
    for line in lines:
        said = json.loads(line)
        text = line.removeprefix(f'{{"hash":"{said["hash"]}","entry":').removesuffix("}\n")
        assert hashlib.sha256(text.encode()).hexdigest() == said["hash"]
        assert said["entry"]["previous"] == before
        before, found = said["hash"], [*found, Entry(**said["entry"])]
    assert tuple(found) == visits.entries()


def test_other_events_can_be_recorded_but_not_forged(visits):
    entry = visits.record("registered", by="owner", facts={"dataset": "visits", "rows": "public"})
    assert visits.entries(after=entry.sequence - 1) == (entry,)
    for kind in ("charged", "raised", "founded"):
        with pytest.raises(InputError, match="writes these"):
            visits.record(kind, by="owner", facts={})
    with pytest.raises(InputError, match="plain JSON"):
        visits.record("x", by="owner", facts={"x": float("nan")})


def test_nobody_but_the_ledger_says_what_is_left_of_accounts(visits):
    with pytest.raises(InputError, match="after"):
        visits.record("noted", by="owner", facts={"after": {VISITS.key: "0" * 64}})
    assert visits.verify().ok


def test_entries_are_read_in_pages(visits, ask):
    for n in range(5):
        visits.charge(ask(f"q{n}", epsilon=0.01))
    pages = [visits.entries(after=n, limit=2) for n in (0, 2, 4, 6)]
    assert [entry.sequence for page in pages for entry in page] == [1, 2, 3, 4, 5, 6, 7]


def test_names_may_be_odd(visits, ask):
    names = ['a"b', "c,d]", "Zoë\n", "'; DROP TABLE entries; --", "%s ?", "\\"]
    for name in names:
        visits.charge(ask(f"q {name}", by=name, epsilon=0.01))
    known = {one.holder.name for one in visits.accounts() if one.holder.kind == "analyst"}
    assert known == set(names)
    assert visits.verify().ok
    for bad in ("", "a\0b", "\ud800", 7):
        with pytest.raises(InputError, match="not a name"):
            ask(by=bad)


def test_sixty_four_threads_race_for_the_last_unit_and_one_wins(visits, ask):
    visits.charge(ask("before", epsilon=0.9))
    won, lost, start = [], [], threading.Barrier(64)

    def race(n):
        start.wait()
        try:
            won.append(visits.charge(ask(f"q{n}", by=f"analyst {n}")))
        except BudgetError:
            lost.append(n)

    threads = [threading.Thread(target=race, args=(n,)) for n in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost), left(visits)) == (1, 63, 0)
    assert visits.verify().ok


def test_a_refusal_in_a_shared_transaction_harms_nobody_else(visits, ask):
    outcomes, start = {}, threading.Barrier(16)

    def race(n):
        start.wait()
        try:
            outcomes[n] = visits.charge(ask(f"q{n}", epsilon=5 if n % 2 else 0.01)).state
        except BudgetError:
            outcomes[n] = None

    threads = [threading.Thread(target=race, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(outcomes[n] is (None if n % 2 else State.CHARGED) for n in range(16))
    assert spent(visits) == Fraction(8, 100)
    assert visits.verify().ok


def test_concurrent_duplicates_are_charged_once(visits, ask):
    receipts, start = [], threading.Barrier(16)

    def race():
        start.wait()
        receipts.append(visits.charge(ask()))

    threads = [threading.Thread(target=race) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    states = [receipt.state for receipt in receipts]
    assert (states.count(State.CHARGED), states.count(State.PENDING)) == (1, 15)
    assert spent(visits) == Fraction(1, 10)


def test_a_ledger_opens_again_with_everything_in_it(tmp_path, ask):
    for place in (tmp_path / "ledger.sqlite", tmp_path / "a ? # % 'ü b.sqlite"):
        with Ledger.open(place) as first:
            first.open_account(VISITS, Filter.basic(1).limit, by="owner")
            answered(first, ask())
        with Ledger.open(str(place)) as second:
            assert second.charge(ask()).release == b"answer"
            assert second.verify().ok


def test_a_claim_made_by_a_clock_that_was_set_back_lapses(visits, ask, monkeypatch):
    ahead = time.time_ns() + 10**9 * 3600
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: ahead)
        made = visits.charge(ask())

    assert visits.charge(ask()).state is State.CHARGED
    assert visits.charge(ask()).state is State.PENDING
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: ahead)
        assert [one.sequence for one in visits.recover()] == [made.sequence]
    assert [one.sequence for one in visits.recover()] == [made.sequence]
    assert visits.recover() == ()


def test_names_that_were_both_let_in_before_stay(visits, monkeypatch):
    cap = Filter.basic(epsilon=1).limit
    members = [analyst(name, within="visits") for name in ("Bob", "bob", "BOB")]
    with monkeypatch.context() as patched:
        patched.setattr("discreet.curator.ledger.account_changes.skeletons", lambda name: [name])
        visits.open_account(group("lab", within="visits"), cap, by="owner", members=members)

    for name in ("Bob", "bob", "BOB"):
        assert visits.touched("visits", name)[-1].holder.name == name
    with pytest.raises(InputError, match="reads like"):
        visits.touched("visits", "bOb")


def test_an_entry_has_a_bounded_size(visits, ask):
    before = visits.head()
    with pytest.raises(InputError, match="262,144 bytes at most"):
        visits.charge(ask("x" * (1 << 18)))
    with pytest.raises(InputError, match="262,144 bytes at most"):
        visits.record("noted", by="owner", facts={"text": "x" * (1 << 18)})
    assert visits.head() == before


def test_entries_are_found_by_what_they_are_about(visits):
    for table in ("visits", "labs", "visits"):
        visits.record("added", by="owner", facts={"table": table})
    assert visits.added("visits").sequence == 5
    assert visits.added("labs").sequence == 4
    assert visits.added("nothing") is None
    assert [one.sequence for one in visits.noted("added", after=3)] == [4, 5]
    assert visits.verify().ok


def test_the_claim_of_a_worker_that_was_killed_lapses_at_once(tmp_path, ask):
    place = tmp_path / "ledger.sqlite"
    script = f"""
import os, signal
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.privacy import Filter, Pure
ledger, budget = Ledger.open({str(place)!r}), Filter.basic(epsilon=1)
ledger.open_account(dataset("visits"), budget.limit, by="owner")
for plan in ("count()", "sum()"):
    order = Order("alice", "visits", "v1", plan, (budget.price(Pure(0.1)),), [{{"what": "count"}}])
    ledger.charge(order)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert fresh_process.run(script).returncode == -signal.SIGKILL
    with Ledger.open(place) as ledger, Ledger.open(place) as other:
        assert ledger.charge(ask()).state is State.CHARGED
        assert other.charge(ask()).state is State.PENDING
        assert [one.order.plan for one in other.recover()] == ["sum()"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda ledger: ledger.entries(aftr=5),
        lambda ledger: ledger.set_cap(dataset("visits"), None),
        lambda ledger: ledger.step(1, 2, b"x", 3, 4),
        lambda ledger: ledger.cancel(Receipt(1, None, State.CHARGED), to="x"),
    ],
)
def test_wrong_arguments_are_the_callers_mistake_and_no_tampering(wrong):
    with pytest.raises(TypeError):
        wrong(Ledger.in_memory())
