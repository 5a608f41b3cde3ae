"""The accountant against laws that are written down."""

from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from discreet.audit import accounting
from discreet.audit.accounting import ACCOUNTING, audit_accounting
from discreet.cli.audit import audit
from discreet.errors import InvariantBroken
from discreet.privacy import (
    RHO,
    ZCDP,
    Approximate,
    BoundedRange,
    DiscreteLaplaceNoise,
    Filter,
    LaplaceNoise,
    RandomizedResponseNoise,
    ShuffledRandomizedResponse,
    Subsampled,
    compose,
)
from discreet.privacy.budgets import charges

LOOSE = ("choices", "zcdp", "group-zcdp", "group-approximate", "theorem-basic", "tuning")
LOOSE += ("theorem-advanced", "filter-rho", "filter-mu-squared", "filter-renyi", "filter-epsilon")
TIGHT = [
    name
    for name in ACCOUNTING
    if name.removeprefix("accountant-").removesuffix("-delta") not in LOOSE
]
BIT = RandomizedResponseNoise(1)


@pytest.mark.parametrize("name", ACCOUNTING)
def test_no_law_gives_away_more_than_the_accountant_says(name):
    assert not audit_accounting(name, ACCOUNTING[name]).refuted


@pytest.mark.parametrize("name", TIGHT)
def test_a_law_comes_near_to_what_the_accountant_says(name):
    assert audit_accounting(name, ACCOUNTING[name]).measured.reach > -0.01


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("accountant-response-composition", compose([(BIT, 1)])),
        ("accountant-choices", compose([(BoundedRange(Fraction(3, 4)), 2)])),
        ("accountant-zcdp", ZCDP(Fraction(1, 11))),
        ("accountant-sampling", Subsampled(BIT, Fraction(1, 5))),
        ("accountant-sampled-composition", compose([(Subsampled(BIT, Fraction(6, 25)), 2)])),
        ("accountant-shuffling", ShuffledRandomizedResponse(1, 6)),
        ("accountant-shuffling-k", ShuffledRandomizedResponse(1, 5, 3)),
        ("accountant-group-approximate", Approximate(3, Fraction(3, 100))),
        ("accountant-group-zcdp", ZCDP(Fraction(3, 8))),
        ("accountant-theorem-advanced", Approximate(18, Fraction(1, 100))),
        ("accountant-tuning", ZCDP(Fraction(1, 16))),
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
    assert audit_accounting("planted", ACCOUNTING["accountant-laplace"]).refuted


def test_a_filter_that_forgets_a_delta_is_caught(monkeypatch):
    true = Filter.charge

    def forgetful(self, charge):
        after = true(self, charge)
        object.__setattr__(after, "_left_delta", self._left_delta)
        return after

    assert not audit_accounting("sound", accounting._filter(RHO, Fraction(1, 100))).refuted
    monkeypatch.setattr(Filter, "charge", forgetful)
    assert audit_accounting("planted", accounting._filter(RHO, Fraction(1, 100))).refuted


def test_laws_are_not_sampled_and_have_names():
    with pytest.raises(InvariantBroken, match="not sampled"):
        ACCOUNTING["accountant-gdp"].draw(0, 1)
    shown = CliRunner().invoke(audit, ["accountant-sampling", "--csv"])
    assert shown.exit_code == 0
    assert "accountant-sampling,Subsampled,add-remove," in shown.output
