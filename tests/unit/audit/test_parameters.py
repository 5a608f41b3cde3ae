"""Parameters that a guarantee or its noise forgets are caught, also where defaults hide them."""

from fractions import Fraction

import pytest

from discreet.audit.parameters import PARAMETERS, audit_parameters
from discreet.mechanisms import key_selection
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.privacy import Pure


def said(kind):
    found = audit_parameters(kind.__name__, kind, alpha=1e-6)
    return found.why if found.refuted else ""


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_mechanism_keeps_its_guarantee_at_other_parameters(name):
    assert said(PARAMETERS[name]) == ""


@pytest.mark.parametrize("kind", [ReportNoisyMax, Laplace, SparseVector, Gaussian])
def test_a_guarantee_with_the_usual_neighbours_is_caught(monkeypatch, kind):
    true = kind.guarantee.fget
    usual = lambda rule: replace_neighbours(true(rule))  # noqa: E731
    monkeypatch.setattr(kind, "guarantee", property(usual))
    assert "neighbours" in said(kind)


def replace_neighbours(guarantee):
    facts = {**guarantee.to_dict(), "neighbours": "add-remove"}
    return type(guarantee).from_dict(facts)


def test_noise_that_forgets_the_sensitivity_is_caught(monkeypatch):
    monkeypatch.setattr(ReportNoisyMax, "moved", lambda rule, _: rule.grid.step)
    assert said(ReportNoisyMax)


def test_noise_for_one_hit_is_caught(monkeypatch):
    true = SparseVector.guarantee.fget
    once = lambda rule: Pure(true(rule).epsilon0 / rule.hits, neighbours=rule.neighbours)  # noqa: E731
    monkeypatch.setattr(SparseVector, "guarantee", property(once))
    assert said(SparseVector)


def test_bounds_for_one_row_of_a_person_are_caught(monkeypatch):
    true = AutomaticBounds.guarantee.fget
    rows = lambda rule: Pure(  # noqa: E731
        Fraction(true(rule).epsilon0) / rule.max_rows_per_unit, neighbours=rule.neighbours
    )
    monkeypatch.setattr(AutomaticBounds, "guarantee", property(rows))
    assert said(AutomaticBounds)


def test_a_table_of_keys_for_one_group_is_caught(monkeypatch):
    true = key_selection.keep_table
    monkeypatch.setattr(
        key_selection,
        "keep_table",
        lambda epsilon, delta, groups: true(epsilon, delta, min(groups, 1)),
    )
    assert said(key_selection.KeySelection)
