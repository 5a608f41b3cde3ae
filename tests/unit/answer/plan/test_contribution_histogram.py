"""What a noisy histogram of people shows of its tail; none of it is thrown away."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from discreet.answer.plan.contribution_histogram import LADDER, ContributionHistogram, noise_tail
from discreet.plan.bounding import NoiseKind


def spread(counts, scale=1.0, steps=LADDER, top=None):
    people = np.zeros(len(steps) + 1)
    for step, count in counts.items():
        people[steps.index(step)] = count
    return ContributionHistogram(people, scale, steps, top)


def geometric(people=20_000, mean=7.0, scale=1.0):
    """People with a geometric number of rows, in their buckets, without noise."""
    ends = np.array([0, *LADDER], dtype=np.float64)
    alive = people * np.exp(-ends / mean)
    return ContributionHistogram(np.append(alive[:-1] - alive[1:], alive[-1]), scale, LADDER)


def test_the_share_of_people_beyond_a_limit_is_told_with_its_error():
    people = spread({1: 600, 4: 300, 64: 100})
    shares = [people.beyond(limit)[0] for limit in (1, 4, 64)]
    errors = [people.beyond(limit)[1] for limit in (1, 4, 64)]

    assert shares == pytest.approx([0.4, 0.1, 0])
    assert all(0 < error < 0.03 for error in errors)
    assert people.beyond(10**6)[0] == 0


def test_people_who_are_far_out_and_unseen_are_within_the_error_of_the_share():
    """0.0 % ± 5.9 % was told where 10 % of people had more."""
    far = dict.fromkeys((39, 46, 54, 64, 77), 400)
    share, error = spread({1: 9000, 2: 9000, **far}, scale=200.0).beyond(2)

    assert share == 0
    assert share + error >= 0.1


def test_buckets_below_the_noise_still_count_in_the_share():
    """Nine noise scales used to be the least that was seen."""
    people = spread({1: 900, 2: 25, 3: 25, 4: 25, 5: 25}, scale=10)

    assert people.beyond(1)[0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("counts", "end"),
    [
        ({1: 500}, 1),
        ({1: 500, 2: 60}, 1),
        ({1: 500, 2: 61}, 2),
        ({1: 500, 64: 112}, 1),
        ({1: 500, 64: 113}, 64),
        # Each of these is nothing beside the noise; together they are a tail.
        ({1: 500, 2: 30, 3: 30, 4: 30, 5: 30}, 5),
    ],
)
def test_the_last_bucket_that_is_seen_is_surer_the_further_out_it_is(counts, end):
    people = spread(counts, scale=10)

    assert LADDER[people.end] == end


def test_nothing_is_seen_where_noise_is_all_there_is():
    assert not spread({1: 49}, scale=10).is_seen
    assert spread({1: 51}, scale=10).is_seen


def test_people_that_noise_could_hide_are_reckoned_with():
    crowd = spread({4: 1000}, scale=10).estimate()

    assert crowd.people.sum() == pytest.approx(1000 + 12.5)
    assert crowd.most > 4
    assert crowd.people[crowd.norms > crowd.most].sum() == 0


def test_an_edge_is_not_continued_far_and_a_tail_is():
    edge, tail = spread({8: 20_000}, scale=10).estimate(), geometric(scale=10).estimate()

    assert edge.most < 1.25 * 8
    assert 1.5 * LADDER[geometric(scale=10).end] < tail.most < 120


def test_a_tail_is_continued_about_as_long_as_it_is():
    """Seen up to about 30 rows, continued to about where one person is left: 7 ln 20,000 = 69."""
    seen = geometric(scale=10)
    crowd = seen.estimate()
    beyond = crowd.people[crowd.norms > 45].sum()

    assert 25 < LADDER[seen.end] < 50
    assert beyond == pytest.approx(20_000 * np.exp(-45 / 7), rel=0.5)


def test_doubt_makes_the_tail_longer():
    seen = geometric(scale=10)
    plain, doubted = seen.estimate(), seen.estimate(1.0)

    assert doubted.people.sum() > plain.people.sum()
    assert doubted.most > plain.most


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
def test_whatever_noise_makes_of_a_histogram_it_can_be_read(scale):
    """Nothing may fail after the charge because of data, or of noise."""
    draws = np.random.default_rng(3)
    for people in (0, 1, 10**4, 10**9):
        for steps in (LADDER, (1,), (1, 2, 3)):
            noisy = np.rint(draws.laplace(0, scale, len(steps) + 1))
            noisy[draws.integers(len(steps) + 1)] += people
            seen = ContributionHistogram(noisy, scale, steps)
            crowd = seen.estimate(1.0)
            assert np.isfinite(crowd.people).all()
            assert crowd.most >= 1
            assert all(0 <= one <= 1 for one in seen.beyond(steps[-1]))


def test_nobody_is_in_more_groups_than_there_are():
    steps = (1, 2, 3, 4, 5)
    crowd = spread({1: 500, 5: 500}, scale=10, steps=steps, top=5).estimate(1.0)

    assert crowd.most == 5
    assert crowd.norms[crowd.people > 0].max() <= 5


@pytest.mark.parametrize("missing", [-8.0, -7.25, -5.5])
def test_noise_that_says_fewer_than_none_before_the_last_bucket_raises_nothing(missing):
    """It raised while data was read: a charge lost for noise."""
    few = {1: 1000, 20: 6, 23: 6, 27: 6, 39: missing, 46: missing, 54: missing, 64: 20.25}
    people = spread(few)

    assert people.steps[people.end] == 64
    assert people.estimate().most >= 64


@pytest.mark.parametrize("t", [0.5, 3.0, 20.0])
def test_the_tail_of_the_noise_of_some_buckets_is_exact(t):
    assert noise_tail(t, 1) == pytest.approx(math.exp(-t) / 2)
    assert noise_tail(t, 2) == pytest.approx(math.exp(-t) * (2 + t) / 4)
    # The law of four is that of two and two, added up.
    x = np.linspace(-60, 60, 24_001)
    two = np.exp(-np.abs(x)) * (1 + np.abs(x)) / 4
    above = np.array([noise_tail(abs(y), 2) if y > 0 else 1 - noise_tail(abs(y), 2) for y in t - x])
    assert noise_tail(t, 4) == pytest.approx(float((two * above).sum()) * 0.005, rel=1e-4)


@pytest.mark.parametrize("width", [1, 4, 16])
def test_the_tail_of_gaussian_noise_is_that_of_its_deviation(width):
    deviation = math.sqrt(2 * width)
    for t in (0.5, 3.0, 20.0):
        tail = NormalDist(0, deviation).cdf(-t)
        assert noise_tail(t, width, NoiseKind.GAUSSIAN) == pytest.approx(tail, rel=1e-6)


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
def test_noise_is_seldom_taken_for_people(noise_kind):
    """Nobody has more than one row. A bucket r times further out is taken for people with
    probability e^-SURE r^-1.5 / 2 for each of five widths: in all 36 and 22 of 2,000 histograms at
    most. More than 75 and 54 of them are with probability below 1e-7."""
    draws, most = np.random.default_rng(4), {NoiseKind.LAPLACE: 75, NoiseKind.GAUSSIAN: 54}
    laws = {NoiseKind.LAPLACE: draws.laplace, NoiseKind.GAUSSIAN: draws.normal}
    scale = 10.0
    spread = scale if noise_kind is NoiseKind.LAPLACE else scale * math.sqrt(2)
    false = 0
    for _ in range(2000):
        people = laws[noise_kind](0, spread, len(LADDER) + 1)
        people[0] += 10_000
        false += ContributionHistogram(people, scale, LADDER, None, noise_kind).end > 0
    assert false < most[noise_kind]
