"""How far likely noise moves numbers that are computed from noisy ones."""

import numpy as np
import pytest

from discreet.answer.estimate.aggregates import furthest, quotient_width

DRAWS = 1000
EVEN = (np.arange(DRAWS) + 0.5) / DRAWS


@pytest.fixture(scope="module")
def noise():
    """Laplace noise of three groups, laid out evenly and shuffled."""
    one = np.sign(EVEN - 0.5) * -np.log(1 - np.abs(2 * EVEN - 1))
    rng = np.random.default_rng(1)
    return np.stack([rng.permutation(one) for _ in range(3)], axis=1)


def test_what_is_straight_is_hardly_wider_than_it_must_be(noise):
    """At 96 in 100; the least that holds is the 95 in 100 of the law."""
    found = furthest(7 * noise, [noise])
    assert np.all(found >= -7 * np.log(0.05))
    assert np.all(found <= -7 * np.log(0.039))


def test_two_noises_are_likely_together(noise):
    other = np.roll(noise, 1, axis=1)
    moved = 3 * noise + 4 * other
    found, least = furthest(moved, [noise, other]), np.quantile(np.abs(moved), 0.95, axis=0)
    assert np.all((least <= found) & (found <= 1.2 * least))


def test_what_is_folded_is_as_wide_as_what_is_not(noise):
    """ABS around 2: noise of -2 and of 2 give 0 and 4, and the truth may be at either."""
    assert np.all(furthest(np.abs(noise + 2) - 2, [noise]) >= -np.log(0.05))


def test_what_cannot_be_computed_is_unknown_where_that_is_likely_alone(noise):
    rare, common = (np.where(noise > -np.log(p), np.nan, noise) for p in (0.02, 0.2))
    assert not np.isnan(furthest(rare, [noise])).any()
    assert np.isnan(furthest(common, [noise])).all()


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e306])
def test_no_size_is_too_large_or_small(noise, size):
    found = furthest(size * noise, [noise])
    assert found == pytest.approx(size * furthest(noise, [noise]))


def test_noise_that_is_none_moves_nothing(noise):
    assert np.all(furthest(np.zeros_like(noise), [np.zeros_like(noise)]) == 0)
    assert furthest(noise[:, :0], [noise[:, :0]]).size == 0


def test_noises_that_share_something_are_counted_once(noise):
    """A share of a count: both have the noise of the smaller one in them."""
    other = np.roll(noise, 1, axis=1)
    moved = noise - 0.3 * (noise + other)
    found = furthest(moved, [noise, noise + other])
    assert np.all(found <= 1.15 * np.quantile(np.abs(moved), 0.95, axis=0))
    assert furthest(noise, [noise, noise]) == pytest.approx(furthest(noise, [noise]))


def quotients(truth, bottom, scale, runs=400):
    """Which share of intervals holds a true quotient, of a denominator with noise of this scale."""
    rng = np.random.default_rng(3)
    drawn = rng.laplace(0, scale, (2, DRAWS, runs))
    tops, bottoms = (
        np.vstack([base, base + more])
        for base, more in zip(
            (of + rng.laplace(0, scale, runs) for of in (truth * bottom, bottom)),
            drawn,
            strict=True,
        )
    )
    centre = tops[0] / bottoms[0]
    return np.abs(centre - truth) <= quotient_width(tops, bottoms, centre)


@pytest.mark.parametrize(("truth", "bottom"), [(0.3, 1000), (0.3, 8), (5, 20), (0, 6)])
def test_an_interval_of_a_quotient_holds_also_where_its_denominator_is_near_its_noise(
    truth, bottom
):
    """Of 400 at 95 %, fewer than 360 hold with probability 2e-5."""
    assert quotients(truth, bottom, 1.5).sum() >= 360


def test_an_interval_of_a_quotient_is_hardly_wider_than_it_must_be():
    assert quotients(0.3, 1000, 1.5).mean() <= 0.98


def test_a_denominator_that_may_be_0_leaves_a_quotient_open_but_for_its_ends(noise):
    tops, bottoms = (
        np.vstack([np.ones(3), 1 + noise]),
        np.vstack([np.ones(3), 1 + np.roll(noise, 1, 1)]),
    )
    assert np.all(np.isinf(quotient_width(tops, bottoms, np.ones(3))))
    assert quotient_width(tops, bottoms, np.full(3, 0.5), (-1.0, 1.0)) == pytest.approx(1.5)
