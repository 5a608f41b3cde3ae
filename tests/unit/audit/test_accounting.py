"""The accountant against laws that are written down."""

from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from discreet.audit.accounting import ACCOUNTING, audit_accounting
from discreet.cli.audit import audit
from discreet.errors import InvariantBroken
from discreet.privacy import (
    ZCDP,
    BoundedRange,
    RandomizedResponseNoise,
    ShuffledRandomizedResponse,
    Subsampled,
    compose,
)

TIGHT = [name for name in ACCOUNTING if name not in {"accountant-choices", "accountant-zcdp"}]
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
    ],
)
def test_a_guarantee_that_is_too_strong_is_caught(name, wrong):
    claim = ACCOUNTING[name]
    assert audit_accounting(name, replace(claim, guarantee=wrong)).refuted


def test_laws_are_not_sampled_and_have_names():
    with pytest.raises(InvariantBroken, match="not sampled"):
        ACCOUNTING["accountant-gdp"].draw(0, 1)
    shown = CliRunner().invoke(audit, ["accountant-sampling", "--csv"])
    assert shown.exit_code == 0
    assert "accountant-sampling,Subsampled,add-remove," in shown.output
