"""Laws that are written down: they sum to 1, and what is drawn follows them and no other."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.catalogue import CATALOGUE
from discreet.audit.enumerate import check_law, views
from discreet.mechanisms import comparison_laws
from discreet.mechanisms.comparison_laws import Bins, at_least, law_of_largest, law_of_marks
from discreet.mechanisms.grid import INTEGERS
from discreet.mechanisms.mechanism import View
from discreet.mechanisms.noise_tails import laplace_tail

LISTED = list(CATALOGUE)


@pytest.mark.parametrize("name", LISTED)
def test_every_law_sums_to_one(name):
    claim = CATALOGUE[name]().claim
    for view in views(claim):
        lower, upper = np.sum(list(view.law(claim.pairs[0].right).values()), axis=0)
        assert lower - 1e-9 <= 1 <= upper + 1e-9


@pytest.mark.parametrize("name", ["tree-count", "above-threshold", "smooth-sensitivity"])
def test_draws_do_not_follow_the_law_of_a_neighbour(name):
    claim = CATALOGUE[name]().claim
    last = claim.pairs[0]

    def of_the_other(view):
        return View(view.read, lambda value: view.law(last.left if value == last.right else value))

    wrong = replace(claim, law=None, views=tuple(map(of_the_other, views(claim))), pairs=(last,))

    assert check_law(wrong, samples=50_000).reason


def test_sums_of_counts_show_what_no_single_count_does():
    """A hundred outcomes, each of the upper half a little likelier than it should be."""
    rule = CATALOGUE["laplace-wide"]().claim
    shifted = replace(
        rule, draw=lambda value, runs: rule.draw(value, runs) + (np.arange(runs) < 900)
    )

    assert check_law(shifted, samples=2000, alpha=0.5).reason.startswith(("outcome", "outcomes"))


def test_marks_of_one_question_are_a_tail_of_two_noises():
    law = law_of_marks([1], (Fraction(2), Fraction(3)), 1)

    assert law[(1,)][0] + law[(0,)][0] == pytest.approx(1)
    assert law[(1,)][0] < 0.5 < law[(0,)][0]


def test_equal_scores_are_equally_likely_and_a_larger_one_is_likelier():
    even, odd = (law_of_largest(scores, Fraction(2)) for scores in ([4, 4, 4], [4, 5, 4]))

    assert [p for p, _ in even.values()] == pytest.approx([1 / 3] * 3)
    assert odd[1][0] > odd[0][1] == odd[2][1]


def test_growing_bins_have_all_numbers_in_order():
    bins = Bins.growing(1000, Fraction(1, 2))
    codes = bins.code(np.arange(-3000, 3001) / 2)

    assert (np.diff(codes) >= 0).all()
    assert codes[0] == 0
    assert codes[-1] == len(bins.edges)


def test_a_tail_goes_on_below_0_by_symmetry():
    tail = at_least(lambda m: laplace_tail(Fraction(2), m), -3) + laplace_tail(Fraction(2), 4)

    assert tail.lower <= 1 <= tail.upper


def test_blocks_of_the_threshold_noise_enclose_its_exact_law(monkeypatch):
    question = [0, 3, -5], (Fraction(40), Fraction(60)), 2
    exact = comparison_laws.law_of_marks(*question)
    monkeypatch.setattr(comparison_laws, "_BLOCKS", 4)
    blocks = comparison_laws.law_of_marks(*question)
    for marks, (low, high) in exact.items():
        assert blocks[marks][0] <= low <= high <= blocks[marks][1]


def test_wide_noise_has_a_law_to_a_thousandth():
    law = comparison_laws.law_of_marks([0, 10**6], (Fraction(10**7), Fraction(2 * 10**7)), 1)
    assert sum(low for low, _ in law.values()) == pytest.approx(1, abs=2e-3)
    assert sum(high for _, high in law.values()) == pytest.approx(1, abs=2e-3)


def test_answers_are_placed_beside_their_marks():
    marks = {(1, 0): (0.25, 0.25), (0, 0): (0.75, 0.75)}
    said = comparison_laws.PlacedAnswers((-1, 1), Fraction(2), INTEGERS)
    law = said.law(marks, [0, 0])
    assert set(law) == {(1, 0), (2, 0), (3, 0), (0, 0)}
    assert law[1, 0] == pytest.approx(law[3, 0])
    assert sum(high for _, high in law.values()) == pytest.approx(1)
    rows = np.array([[1, 1, 1, 0, -1, -1, 0, 1, 5, 0]])
    assert said.read(rows).tolist() == [[1, 2, 3, 0, -1]]
