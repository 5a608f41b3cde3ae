"""The ledger against a model of a few lines, over arbitrary histories with power cuts."""

import copy
import shutil
from fractions import Fraction
from pathlib import Path

import power
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from discreet.curator.ledger.accounts import analyst, dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, State
from discreet.errors import BudgetError, InputError, LedgerError
from discreet.privacy import Filter, Pure

NAMES = ("alice", "bob")
VISITS = dataset("visits")


class Model:
    """What should be true: totals, caps, who paid for which question, and its answer."""

    def __init__(self):
        self.caps = {"visits": Fraction(2), "alice": Fraction(1)}
        self.spent = {"visits": Fraction(0), "alice": Fraction(0), "bob": Fraction(0)}
        self.paid = {}
        self.answers = {}

    def charge(self, order):
        payers = self.paid.get(order.question, set())
        owing = {order.analyst} if payers else {order.analyst, "visits"}
        cost = order.prices[0].amount
        if any(self.spent[name] + cost > self.caps.get(name, 10**6) for name in owing - payers):
            return "refused"
        for name in owing - payers:
            self.spent[name] += cost
        self.paid[order.question] = payers | owing
        return self.answers.get(order.question, "charged")


class Machine(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.folders = []
        self.model, self.disk = Model(), power.Disk()
        self.path = self.folder() / "ledger.sqlite"
        with Ledger.open(self.path) as ledger:
            ledger.open_account(VISITS, Filter.basic(2).limit, by="owner")
            alice = analyst("alice", within="visits")
            ledger.open_account(alice, Filter.basic(1).limit, by="owner")
        self.ledger = power.ledger_on(self.disk, self.path)
        self.ledger._patience = 0

    def folder(self):
        self.folders.append(power.fast_folder())
        return Path(self.folders[-1].name)

    def order(self, name, plan, tenths):
        price = Filter.basic(1).price(Pure(Fraction(tenths, 10)))
        return Order(name, "visits", "v1", f"question {plan}", (price,))

    def attempt(self, work, change):
        """Do it in the ledger and in the model; after a cut it may have happened or not."""
        after = copy.deepcopy(self.model)
        expected = change(after)
        try:
            got = work()
        except LedgerError:
            self.power_is_back(after)
            return
        except (BudgetError, InputError):
            got = "refused"
        assert got == expected
        self.model = after

    def power_is_back(self, after):
        self.ledger.close()
        folder = self.folder()
        self.disk.after_the_cut(folder)
        head = f"{self.path.name}.head"
        shutil.copy(self.path.with_name(head), folder / head)
        self.path, self.disk = folder / self.path.name, power.Disk()
        with Ledger.open(self.path):
            pass
        self.ledger = power.ledger_on(self.disk, self.path)
        self.ledger._patience = 0
        if (
            self.totals() != self.model.spent
            or self.caps() != self.model.caps
            or self.ledger_answers() != self.model.answers
        ):
            self.model = after

    def totals(self):
        found = dict.fromkeys(("visits", *NAMES), Fraction(0))
        return found | {one.holder.name: one.total.amount for one in self.ledger.accounts()}

    def caps(self):
        accounts = self.ledger.accounts()
        return {one.holder.name: one.limit.amount for one in accounts if one.cap is not None}

    def ledger_answers(self):
        sql = """SELECT c.question, r.bytes FROM charges c JOIN releases r
        ON r.charge = c.sequence"""
        return dict(self.ledger._store.snapshot(lambda execute: execute(sql)))

    orders = st.tuples(st.sampled_from(NAMES), st.integers(0, 5), st.integers(0, 6))

    @rule(asked=orders)
    def charge(self, asked):
        order = self.order(*asked)

        def work():
            receipt = self.ledger.charge(order)
            return "charged" if receipt.state is State.CHARGED else receipt.release

        self.attempt(work, lambda model: model.charge(order))

    @rule(which=st.integers(0, 20), answer=st.binary(max_size=3))
    def complete(self, which, answer):
        pending = self.ledger.recover(patience=0) if self.disk.left is None else ()
        if pending:
            receipt = pending[which % len(pending)]
            question = receipt.order.question
            self.attempt(
                lambda: self.ledger.complete(receipt, answer),
                lambda model: model.answers.setdefault(question, answer),
            )

    @rule(cap=st.integers(1, 4))
    def set_cap(self, cap):
        def work():
            limit = Filter.basic(cap).limit
            self.ledger.set_cap(VISITS, limit, by="owner", reason="because")
            return "set"

        def change(model):
            if model.spent["visits"] > cap:
                return "refused"
            model.caps["visits"] = Fraction(cap)
            return "set"

        self.attempt(work, change)

    @rule(operations=st.integers(0, 12))
    def cut_the_power_soon(self, operations):
        self.disk.left = operations

    @rule()
    def open_again(self):
        if self.disk.left is None:
            self.ledger.close()

    @invariant()
    def the_books_are_right(self):
        if self.disk.left is None:
            assert self.totals() == self.model.spent
            assert self.caps() == self.model.caps
            assert self.ledger_answers() == self.model.answers
            assert self.ledger.verify().ok

    def teardown(self):
        if hasattr(self, "ledger"):
            self.ledger.close()
            for folder in self.folders:
                folder.cleanup()


def test_any_history_agrees_with_the_model():
    checked(examples=40)


@pytest.mark.audit
def test_many_histories_agree_with_the_model():
    checked(examples=1000)


def checked(*, examples):
    machine = Machine.TestCase
    machine.settings = settings(max_examples=examples, stateful_step_count=25)
    machine().runTest()
