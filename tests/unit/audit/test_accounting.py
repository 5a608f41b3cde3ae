"""The accountant against laws that are written down."""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from discreet.audit import accounting
from discreet.audit.accounting import ACCOUNTING, audit_accounting
from discreet.audit.enumerate import check_statements
from discreet.cli.audit import audit
from discreet.errors import BudgetError, InvariantBroken
from discreet.local import KRandomizedResponse
from discreet.local.device_ledger import DeviceLedger
from discreet.mechanisms.median import Median
from discreet.privacy import (
    EPSILON,
    GDP,
    MU_SQUARED,
    RDP,
    RHO,
    ZCDP,
    Approximate,
    BoundedRange,
    Charge,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Filter,
    GaussianNoise,
    Guarantee,
    IndividualFilter,
    LaplaceNoise,
    Neighbours,
    Odometer,
    Pure,
    RandomizedResponseNoise,
    ShuffledRandomizedResponse,
    Subsampled,
    Tabulated,
    compose,
)
from discreet.privacy.budgets import charges, filters
from discreet.privacy.budgets import odometer as odometers
from discreet.privacy.budgets.charges import units
from discreet.privacy.budgets.individual import BUDGET_UNITS
from discreet.privacy.guarantees import clones

TIGHT = {
    "accountant-" + name
    for name in (
        *(
            "pure-composition",
            "response-composition",
            "alone-gdp",
            "alone-discretelaplacenoise",
            "discrete-gaussian",
        ),
        *(
            "sampled-responses",
            "sampled-composition",
            "sampled-gaussian",
            "shuffling",
            "shuffling-k",
        ),
        *("clones", "group-pure", "group-discretelaplacenoise", "group-gdp"),
        *("group-discretegaussiannoise", "change-pure", "change-discretelaplacenoise"),
        *("change-gdp", "change-discretegaussiannoise", "theorem-optimal", "deltas"),
    )
}
SLIP = Fraction(1, 100)
BIT, LATTICE = RandomizedResponseNoise(1), DiscreteGaussianNoise(1, 4)


LONG = {f"accountant-{name}" for name in ("training", "tuning", "sampled-gaussian")}
"""Several seconds each, of laws whose parts are among the others."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.audit] * (one in LONG)) for one in ACCOUNTING],
)
def test_no_law_gives_away_more_than_the_accountant_says_and_tight_ones_come_near(name):
    found = audit_accounting(name, ACCOUNTING[name])

    assert not found.refuted
    assert name not in TIGHT or found.measured.reach > -0.01


def test_what_is_tight_is_among_the_laws():
    assert set(ACCOUNTING) >= TIGHT


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("accountant-response-composition", compose([(BIT, 1)])),
        ("accountant-choices", compose([(BoundedRange(Fraction(3, 4)), 2)])),
        ("accountant-alone-zcdp", ZCDP(Fraction(1, 11))),
        ("accountant-sampled-responses", Subsampled(BIT, Fraction(1, 5))),
        ("accountant-sampled-composition", compose([(Subsampled(BIT, Fraction(6, 25)), 2)])),
        ("accountant-shuffling", ShuffledRandomizedResponse(1, 6)),
        ("accountant-shuffling-k", ShuffledRandomizedResponse(1, 5, 3)),
        ("accountant-group-approximate", Approximate(3, Fraction(3, 100))),
        ("accountant-group-zcdp", ZCDP(Fraction(3, 8))),
        ("accountant-theorem-advanced", Approximate(18, Fraction(1, 100))),
        ("accountant-tuning", ZCDP(Fraction(1, 16))),
        (
            "accountant-training",
            compose([Subsampled(GaussianNoise(Fraction(1, 2)), Fraction(1, 4))]),
        ),
        ("accountant-group-subsampled", Subsampled(LATTICE, Fraction(1, 4))),
        ("accountant-change-zcdp", ZCDP(Fraction(1, 4))),
        ("accountant-group-rdp", RDP(lambda order: order / 8).group(2)),
        ("accountant-theorem-advanced-delta", Approximate(20, Fraction(1, 100))),
    ],
)
def test_a_guarantee_that_is_too_strong_is_caught(name, wrong):
    claim = ACCOUNTING[name]
    assert audit_accounting(name, replace(claim, guarantee=wrong)).refuted


def test_a_price_that_is_too_low_is_caught(monkeypatch):
    true = charges._PRICES["rho"]

    def half(guarantee, measure):
        amount, delta = true(guarantee, measure)
        return amount / 2, delta

    monkeypatch.setitem(charges._PRICES, "rho", half)
    found = audit_accounting("planted", ACCOUNTING["accountant-choices"])
    assert "Renyi divergence" in found.why


def test_a_rho_that_is_too_low_is_caught(monkeypatch):
    monkeypatch.setattr(DiscreteLaplaceNoise, "rho", LaplaceNoise.rho)
    assert audit_accounting("planted", ACCOUNTING["accountant-alone-discretelaplacenoise"]).refuted


def test_a_composition_that_counts_the_delta_of_repetitions_once_is_caught(monkeypatch):
    true = Composed.infinity

    def once(self, *direction):
        return true(Composed((one, 1) for one, _ in self.parts), *direction)

    monkeypatch.setattr(Composed, "infinity", once)
    found = audit_accounting("planted", ACCOUNTING["accountant-deltas"])
    assert "the loss is infinite with probability 0.0297" in found.why


def test_a_zcdp_price_without_its_delta_is_caught(monkeypatch):
    true = charges._PRICES["rho"]
    monkeypatch.setitem(charges._PRICES, "rho", lambda *asked: (true(*asked)[0], Fraction(0)))
    assert audit_accounting("planted", ACCOUNTING["accountant-zcdp-deltas"]).refuted


# --- budgets without a claim of their own, against the same laws ---------------------------------


def within(measure):
    """A filter for (1, delta) that is used up: by Gaussian noise, and by deltas."""
    whole = Filter.within(1, 2 * SLIP, by=measure, deltas=SLIP).limit.amount
    variance = 1 / (2 * whole if measure == RHO else whole)
    laws = accounting._or_truth(accounting._rounded(1, variance), SLIP)
    return accounting._claim(Approximate(1, 2 * SLIP), lambda: laws)


def odometer(measure):
    """The rho that an odometer has counted after an answer that was priced in a measure."""
    spent = Odometer().charge(Filter(Charge(0, measure=measure)).price(Pure(1)))
    counted = ZCDP(Odometer.from_dict(spent.to_dict()).spent.amount)
    return accounting._claim(counted, lambda: accounting._responses(1))


def individual():
    """As many charges as the filter of one person admits that has room for little more than two."""
    rho = Fraction(Pure(1).rho().upper)
    budget, admitted = IndividualFilter(1, rho * Fraction(201, 100)), 0
    for _ in range(9):
        budget, mask = budget.charge(rho)
        admitted += int(mask[0])
    return accounting._claim(budget.guarantee, lambda: accounting._responses(admitted))


def device(path):
    """As many answers as a device gives that has room for two, and is switched off after each."""
    survey, told = KRandomizedResponse(epsilon=Fraction(1), domain=9), 0
    with suppress(BudgetError):
        for value in range(9):
            with DeviceLedger(path, limit=2) as ledger:
                survey.reporter(ledger).report(value)
            told += 1
    return accounting._claim(Pure(2), lambda: accounting._responses(told))


def test_budgets_give_away_no_more_than_they_promise(tmp_path):
    claims = [*map(within, (RHO, MU_SQUARED)), *map(odometer, (EPSILON, RHO, MU_SQUARED))]
    for claim in (*claims, individual(), device(tmp_path / "told")):
        assert not audit_accounting("budget", claim).refuted


def test_a_budget_that_counts_too_little_is_caught(monkeypatch, tmp_path):
    monkeypatch.setattr(IndividualFilter, "_fits", lambda self, _: self._spent < BUDGET_UNITS)
    assert audit_accounting("planted", individual()).refuted
    true, amount = DeviceLedger._load, filters.amount_within

    def forgetful(self):
        true(self)
        self._spent = Fraction(0)

    monkeypatch.setattr(DeviceLedger, "_load", forgetful)
    assert audit_accounting("planted", device(tmp_path / "told")).refuted
    monkeypatch.setattr(filters, "amount_within", lambda *asked: amount(*asked[:3]))
    assert audit_accounting("planted", within(MU_SQUARED)).refuted
    monkeypatch.setattr(odometers, "_rho_units", lambda charge: units(charge.amount / 4))
    assert audit_accounting("planted", odometer(MU_SQUARED)).refuted


@pytest.mark.parametrize("about", list(Neighbours))
def test_a_local_sensitivity_of_fewer_changes_is_caught(monkeypatch, about):
    true = Median.local
    accounting._local_loss.cache_clear()
    sooner = lambda median, cells, far: true(median, cells, max(far - 1, 0))  # noqa: E731
    monkeypatch.setattr(Median, "local", sooner)
    name = f"accountant-local-median-{about.value}"
    assert audit_accounting(name, ACCOUNTING[name]).refuted
    accounting._local_loss.cache_clear()


def test_laws_are_not_sampled_and_have_names():
    with pytest.raises(InvariantBroken, match="not sampled"):
        ACCOUNTING["accountant-alone-gdp"].draw(0, 1)
    shown = CliRunner().invoke(audit, ["accountant-sampled-responses", "--csv"])
    assert shown.exit_code == 0
    assert "accountant-sampled-responses,Subsampled,add-remove," in shown.output


def test_a_tail_of_clones_that_is_too_large_is_caught(monkeypatch):
    true = clones.half_tail

    def larger(counts, start):
        tail, steps = true(counts, start)
        return 1.01 * tail, steps

    monkeypatch.setattr(clones, "half_tail", larger)
    assert audit_accounting("planted", accounting._crowd(300)).refuted


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Pure, "_tradeoff"), (Approximate, "_epsilon"), (GDP, "_epsilon"), (Tabulated, "_epsilon")],
)
def test_a_statement_that_differs_from_its_curve_is_caught(monkeypatch, kind, name):
    true = getattr(kind, name)

    def better(guarantee, asked):
        if name == "_tradeoff":
            return true(guarantee, asked) * 1.01
        return true(guarantee, min(asked * Fraction(3, 2), Fraction(99, 100)))

    claim = ACCOUNTING[
        f"accountant-alone-{'table' if kind is Tabulated else kind.__name__.lower()}"
    ]
    monkeypatch.setattr(kind, name, better)
    assert check_statements(claim).refuted


def test_groups_about_the_usual_neighbours_are_caught(monkeypatch):
    true = Guarantee.from_dict
    usual = lambda stored: true({**stored, "neighbours": "add-remove"})  # noqa: E731
    monkeypatch.setattr(Guarantee, "from_dict", staticmethod(usual))
    assert "neighbours" in audit_accounting("planted", ACCOUNTING["accountant-change-pure"]).why
