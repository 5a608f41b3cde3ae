from fractions import Fraction
from functools import cache

import pytest

from discreet.errors import InputError
from discreet.lab.curves import ALARMS, EPSILONS, NOISES, REACH
from discreet.lab.curves import curves as draw
from discreet.mechanisms import Gaussian, Laplace

curves = cache(draw)
every = pytest.mark.parametrize(
    ("noise", "epsilon"), [(n, e) for n in NOISES for e in (EPSILONS[0], 1, EPSILONS[-1])]
)


def guarantee(noise, epsilon):
    if noise == "laplace":
        return Laplace(epsilon=epsilon, sensitivity=1).guarantee
    return Gaussian(epsilon=epsilon, delta=Fraction(1, 10**6), sensitivity=1).guarantee


@every
def test_the_laws_are_the_mechanisms_own_one_count_apart(noise, epsilon):
    drawn = curves(noise, epsilon)

    assert len(drawn.answers) == len(drawn.without) == len(drawn.joined) == 2 * REACH + 2
    # What is further out than one in 10^9 is not listed.
    assert drawn.joined[1:] == pytest.approx(drawn.without[:-1], abs=1e-9)
    within = sum(p for a, p in zip(drawn.answers, drawn.without, strict=True) if abs(a) <= REACH)
    assert 0.3 < within <= 1 + 1e-12


@every
def test_the_errors_are_sums_of_the_law(noise, epsilon):
    drawn = curves(noise, epsilon)

    for i in range(len(drawn.answers) - 1):
        assert drawn.alarms[i] - drawn.alarms[i + 1] == pytest.approx(drawn.without[i], abs=1e-9)
        assert drawn.misses[i + 1] - drawn.misses[i] == pytest.approx(drawn.joined[i], abs=1e-9)


@every
def test_no_attacker_is_below_the_floor_and_thresholds_are_on_it(noise, epsilon):
    drawn, promise = curves(noise, epsilon), guarantee(noise, epsilon)

    for alarms, misses in list(zip(drawn.alarms, drawn.misses, strict=True))[::6]:
        least = promise.tradeoff(Fraction(min(1.0, alarms)))
        assert least - 1e-12 <= misses <= least + 1e-6
    for alarms, misses in drawn.floor[::40]:
        assert misses <= promise.tradeoff(Fraction(min(1.0, alarms))) + 1e-6


def test_the_floor_runs_from_corner_to_corner():
    floor = curves("laplace", 1).floor

    assert [*floor[0], *floor[-1]] == pytest.approx([0, 1, 1, 0], abs=1e-12)
    assert [one for one, _ in floor] == sorted(one for one, _ in floor)


@every
def test_the_odds_in_words_are_those_of_the_trade_off_rounded_up(noise, epsilon):
    drawn = curves(noise, epsilon)
    share = 1 - guarantee(noise, epsilon).tradeoff(Fraction(ALARMS, 100))

    assert 0 <= drawn.of_people - 100 * share < 1


def test_more_privacy_finds_fewer_and_errs_more():
    drawn = [curves("laplace", epsilon) for epsilon in EPSILONS]
    found, widths = [d.of_people for d in drawn], [d.half_width for d in drawn]

    assert found == sorted(found)
    assert widths == sorted(widths, reverse=True)
    assert found[0] < 13
    assert found[-1] == 100


@pytest.mark.parametrize("epsilon", [0, -1, 0.01, 11, float("nan"), float("inf"), True, "1"])
def test_an_epsilon_that_cannot_be_drawn_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        draw("laplace", epsilon)


def test_another_noise_is_refused():
    with pytest.raises(InputError, match="noise"):
        curves("static", 1)
