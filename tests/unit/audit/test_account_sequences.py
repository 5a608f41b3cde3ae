"""Accounts that count too little are caught by sums made beside them."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.account_sequences import SEQUENCES, audit_sequence
from discreet.local.device_ledger import DeviceLedger
from discreet.privacy import Charge, Filter, IndividualFilter, Odometer
from discreet.privacy.budgets import buying, charges, filters
from discreet.privacy.budgets import odometer as odometers
from discreet.privacy.budgets.individual_balances import IndividualBalances


def said(name):
    found = audit_sequence(name, SEQUENCES[name])
    return found.why if found.refuted else ""


@pytest.mark.parametrize("name", SEQUENCES)
def test_every_account_adds_up(name):
    assert said(name) == ""


def test_a_filter_that_forgets_a_delta_is_caught(monkeypatch):
    true = Filter.charge

    def forgetful(self, charge):
        after = true(self, charge)
        object.__setattr__(after, "_left_delta", self._left_delta)
        return after

    monkeypatch.setattr(Filter, "charge", forgetful)
    assert "left" in said("account-rho-add-remove")


def test_a_filter_that_holds_either_of_amount_and_delta_is_caught(monkeypatch):
    either = lambda self, cost, slip: cost <= self._left or slip <= self._left_delta  # noqa: E731
    monkeypatch.setattr(Filter, "holds", either)
    assert said("account-mu-squared-change-one")


def test_a_stored_filter_without_charges_of_a_delta_alone_is_caught(monkeypatch):
    true = Filter.to_dict
    some = lambda self: [one.to_dict() for one in self.history if one.amount]  # noqa: E731
    monkeypatch.setattr(Filter, "to_dict", lambda self: {**true(self), "charges": some(self)})
    assert "left" in said("account-epsilon-add-remove")


@pytest.mark.parametrize("kind", [Filter, Odometer])
def test_an_account_that_is_read_back_empty_is_caught(monkeypatch, kind):
    fresh = {
        Filter: lambda stored: Filter(Charge.from_dict(stored["limit"])),
        Odometer: lambda stored: Odometer(Fraction(stored["deltas"])),
    }
    monkeypatch.setattr(kind, "from_dict", staticmethod(fresh[kind]))
    assert said("account-renyi-add-remove" if kind is Filter else "account-odometer-add-remove")


def test_charges_that_are_rounded_down_are_caught(monkeypatch):
    monkeypatch.setattr(charges, "units", lambda amount: amount * charges.UNITS // 1)
    assert said("account-epsilon-add-remove")


def test_a_filter_with_the_usual_neighbours_is_caught(monkeypatch):
    true = Filter.guarantee.fget
    usual = lambda self: true(Filter(Charge(self.limit.amount, measure=self.limit.measure)))  # noqa: E731
    monkeypatch.setattr(Filter, "guarantee", property(usual))
    assert "neighbours" in said("account-epsilon-change-one")


def test_an_amount_that_buys_more_than_it_pays_for_is_caught(monkeypatch):
    true = buying._most
    monkeypatch.setattr(buying, "_most", lambda fits: true(fits) * Fraction(101, 100))
    buying.buys.cache_clear()
    assert "buys" in said("account-mu-squared-add-remove")
    buying.buys.cache_clear()


def test_an_odometer_that_counts_a_part_of_gaussian_answers_is_caught(monkeypatch):
    true = odometers._rho_units
    half = lambda charge: true(charge) // (1 + (charge.measure == filters.MU_SQUARED))  # noqa: E731
    monkeypatch.setattr(odometers, "_rho_units", half)
    assert "less than was charged" in said("account-odometer-add-remove")


@pytest.mark.parametrize("share", [0, Fraction(1, 2)])
def test_an_odometer_that_takes_off_a_part_of_the_deltas_is_caught(monkeypatch, share):
    true = Odometer.epsilon
    more = lambda meter, delta=0: true(meter, delta + (1 - share) * meter.deltas)  # noqa: E731
    monkeypatch.setattr(Odometer, "epsilon", more)
    assert said("account-odometer-add-remove")


def test_people_who_pay_for_one_however_much_they_weigh_are_caught(monkeypatch):
    true = IndividualFilter._cost

    def once(self, rho, weights):
        return true(self, rho, None if weights is None else np.minimum(weights, 1))

    monkeypatch.setattr(IndividualFilter, "_cost", once)
    assert "more than their budget" in said("account-individual")


def test_balances_that_forget_what_was_spent_before_are_caught(monkeypatch):
    """Where several charges are taken at once, whoever could pay them from a whole budget pays."""
    true = IndividualBalances.charge_all

    def forgetful(balances, charges):
        before = balances.spent.copy()
        balances.spent[:] = 0
        true(balances, charges)
        balances.spent[:] += before

    monkeypatch.setattr(IndividualBalances, "charge_all", forgetful)
    assert "one by one" in said("account-balances")


def test_balances_that_take_all_of_what_is_folded_in_or_nothing_are_caught(monkeypatch):
    """Whoever could pay for the first charges and not for the last has paid for the first."""
    true = IndividualBalances.charge_all

    def all_or_nothing(balances, charges):
        total = sum(max(one.costs) for one in charges)
        room = (balances.limits - balances.spent).min(initial=total)
        true(balances, charges if total <= room else [])

    monkeypatch.setattr(IndividualBalances, "charge_all", all_or_nothing)
    assert "one by one" in said("account-balances")


def test_a_device_that_forgets_when_it_is_switched_off_is_caught(monkeypatch):
    true = DeviceLedger._load

    def forgetful(self):
        true(self)
        self._spent = Fraction(0)

    monkeypatch.setattr(DeviceLedger, "_load", forgetful)
    assert "a device has told more" in said("account-device")


def test_a_limit_of_a_device_that_rises_again_is_caught(monkeypatch):
    true = DeviceLedger._load

    def rising(self):
        true(self)
        self._limit = self._asked

    monkeypatch.setattr(DeviceLedger, "_load", rising)
    assert "a device has told more" in said("account-device")
