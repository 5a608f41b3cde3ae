"""Readings in words and pictures, every number on the safe side."""

import math
import re
from fractions import Fraction
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.privacy.guarantees.gaussian import GDP
from discreet.privacy.guarantees.interpretation import Region, odds_after, read
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure
from discreet.privacy.guarantees.shuffled import Shuffled
from discreet.privacy.guarantees.zcdp import ZCDP

CHANGE = Neighbours.CHANGE_ONE
NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"


def named_odds(text):
    """All odds in a text, as exact fractions."""
    pairs = re.findall(rf"({NUMBER}):({NUMBER})", text)
    return [Fraction(a) / Fraction(b) for a, b in pairs]


def test_one_to_nine_looks_at_most_like_one_to_three_point_three():
    text = read(Pure(1, neighbours=CHANGE))
    assert "odds of some trait of a person were 1:9, afterwards they are at most 1:3.3," in text


@pytest.mark.parametrize("epsilon", [0, 0.01, 0.3, 1, 2.5, 7, 30])
@pytest.mark.parametrize("odds", [Fraction(1, 9), Fraction(1), Fraction(7, 2), Fraction(1, 10**6)])
def test_odds_are_rounded_away_from_the_truth_but_not_far(epsilon, odds):
    prior, high, low = named_odds(read(Pure(epsilon, neighbours=CHANGE), odds=odds))
    assert prior == odds
    up, down = float(odds) * math.exp(epsilon), float(odds) / math.exp(epsilon)
    assert up * (1 - 1e-12) <= high <= up * 1.12
    assert down / 1.12 <= low <= down * (1 + 1e-12)


def test_no_leak_changes_no_odds():
    assert named_odds(read(Pure(0, neighbours=CHANGE))) == [Fraction(1, 9)] * 3


def test_a_trait_is_two_steps_from_another_under_add_remove():
    text = read(Pure(1))
    assert "odds of a person having taken part were 1:9, afterwards they are at most 1:3.3" in text
    assert "odds of some trait of a person were 1:9, afterwards they are at most 1:1.2" in text


def test_delta_is_read_as_a_chance_that_covers_it():
    text = read(Approximate(1, 1e-6, neighbours=CHANGE))
    assert "1:3, except with probability 1.2e-5" in text  # 9/(1.1 e) = 3.01, 11e-6 rounded up
    assert "except with probability" in read(GDP(1))
    assert "except with probability" in read(Approximate(1, 1e-6))


def test_a_named_delta_is_used():
    assert named_odds(read(GDP(1), delta=1e-3))[1] < named_odds(read(GDP(1), delta=1e-9))[1]


def test_where_nothing_is_promised_nothing_is_claimed():
    assert "does not bound them" in read(Approximate(3, 0.9))
    assert "does not bound them" in read(Pure(1000, neighbours=CHANGE))


def test_the_attacker_sentence_never_understates():
    for epsilon in (0.1, 0.5, 1, 2):
        text = read(Pure(epsilon, neighbours=CHANGE))
        share = float(re.search(r"at most ([\d.]+) % of cases", text)[1])
        truth = 100 * (1 - Pure(epsilon).tradeoff(0.05))
        assert truth <= share <= truth * 1.1 + 0.1


def test_odds_after_encloses():
    low, high = odds_after(Fraction(1, 9), Fraction(1, 2))
    assert low < math.exp(-0.5) / 9 * (1 + 1e-15)
    assert high > math.exp(0.5) / 9 * (1 - 1e-15)
    assert high / low < math.e * (1 + 1e-12)


@pytest.mark.parametrize("odds", [0, -1, float("nan")])
def test_bad_odds_raise_input_errors(odds):
    with pytest.raises(InputError):
        read(Pure(1), odds=odds)
    with pytest.raises(InputError):
        odds_after(odds, 1)


@pytest.mark.parametrize(
    "guarantee", [Pure(1), Approximate(0.5, 0.01), GDP(1), ZCDP(0.3), Pure(0), Pure(20)]
)
def test_the_region_is_bounded_by_every_line_of_the_guarantee(guarantee):
    region = Region.of(guarantee, points=41)
    for p, q in zip(region.false_alarms, region.misses, strict=True):
        # No attacker does better than the guarantee's own curve, and the drawing is close to it.
        exact = guarantee.tradeoff(float(p))
        assert exact - 0.02 <= q <= exact + 1e-7
    assert np.all(np.diff(region.misses) <= 1e-15)


def test_the_region_of_a_pure_guarantee_has_its_corner_where_both_lines_meet():
    region = Region.of(Pure(math.log(3)), points=5)
    assert region.misses == pytest.approx([1, 0.25, 1 / 6, 1 / 12, 0], abs=1e-12)


def test_region_points_are_never_above_the_truth():
    for epsilon in (0.1, 1, 3):
        region = Region.of(Pure(epsilon), points=33)
        p, q = region.false_alarms, region.misses
        truth = np.maximum(1 - math.exp(epsilon) * p, math.exp(-epsilon) * (1 - p))
        assert np.all(q <= np.maximum(truth, 0) + 2e-16)
        region = Region.of(Approximate(epsilon, 0.05), points=33)
        truth = np.maximum(0.95 - math.exp(epsilon) * p, math.exp(-epsilon) * (0.95 - p))
        assert np.all(region.misses <= np.maximum(truth, 0) + 2e-16)


def test_any_guarantee_can_be_drawn():
    for guarantee in (Shuffled(1, 100), Approximate(1, 1), ZCDP(1, 0.1)):
        assert Region.of(guarantee, points=5).misses[-1] == 0


def test_the_picture_is_well_formed_accessible_and_escaped():
    picture = ET.fromstring(Region.of(GDP(1)).svg(title="a < b & c"))  # noqa: S314
    tag = "{http://www.w3.org/2000/svg}"
    assert picture.attrib["role"] == "img"
    assert picture.find(f"{tag}title").text == "a < b & c"
    assert picture.find(f"{tag}desc").text
    points = picture.find(f"{tag}polyline").attrib["points"].split()
    assert len(points) == 101
    assert points[0] == "56.00,36.00"
    assert points[-1] == "312.00,292.00"


@pytest.mark.parametrize("points", [1, 0, 2.5])
def test_a_region_needs_two_points(points):
    with pytest.raises(InputError):
        Region.of(Pure(1), points=points)


def test_a_chance_of_one_or_more_is_no_bound_and_is_told_so():
    told = read(Approximate(12, Fraction(1, 10**6)), delta=Fraction(1, 10**6))
    assert "does not bound them" in told.split("some trait", 1)[1]
    assert "chance of 1.8" not in told
