"""How far apart one row moves the scores of cells is found out, not believed."""

from fractions import Fraction

import pytest
from click.testing import CliRunner

from discreet import noise
from discreet.answer.plan.quantile_draws import QuantileDraw
from discreet.audit.cell_choices import CHOICES, audit_choice
from discreet.cli.audit import audit


@pytest.mark.parametrize("name", CHOICES)
def test_scores_move_apart_by_what_is_stated_and_hardly_less(name):
    before = noise.choose, noise.permute_and_flip
    found = audit_choice(name, CHOICES[name])
    assert 0.89 < found.bound <= 1
    assert not found.refuted
    assert (noise.choose, noise.permute_and_flip) == before


@pytest.mark.parametrize("name", CHOICES)
def test_a_stated_distance_that_is_a_fifth_too_small_is_caught(monkeypatch, name):
    true = QuantileDraw.apart.fget
    monkeypatch.setattr(QuantileDraw, "apart", property(lambda draw: true(draw) * Fraction(4, 5)))
    found = audit_choice(name, CHOICES[name])
    assert found.refuted
    assert "move apart by one row" in found.why


def test_the_command_line_knows_them_by_name():
    shown = CliRunner().invoke(audit, ["cell-min", "--csv"])
    assert shown.exit_code == 0
    assert "cell-min,QuantileDraw,add-remove,1.0," in shown.output
