import numpy as np
import pytest

from discreet.attacks import Census, CensusCounts, Promise
from discreet.attacks.census import (
    BLOCK,
    KINDS,
    LARGEST,
    OLDEST,
    PUBLISHED,
    Statistic,
    solve,
    tabulate,
)
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError

OFFICE = tabulate(BLOCK)


def test_the_published_statistics_are_those_of_the_block():
    found = {(one.pattern, one.count, one.median, one.mean) for one in map(OFFICE, PUBLISHED)}

    assert found == {
        ("...", 7, 30, 38.0),
        ("F..", 4, 30, 33.5),
        ("M..", 3, 30, 44.0),
        (".B.", 4, 51, 48.5),
        (".W.", 3, 24, 24.0),
        ("..M", 4, 51, 54.0),
        ("FB.", 3, 36, 36.7),
    }


def test_exactly_one_block_fits_and_it_is_the_true_one():
    assert solve([OFFICE(pattern) for pattern in PUBLISHED]) == [tuple(sorted(BLOCK))]


def test_the_attack_rebuilds_seven_of_seven():
    outcome = Census(promise=Promise(1)).run(OFFICE)

    assert (outcome.success, outcome.n) == (1.0, 7)
    assert outcome.refutes


def test_a_block_drawn_blindly_finds_as_few_as_the_baseline_says():
    # As many draws from 928 kinds of people as an office may say there are; three standard errors
    # of 4000 blocks. Against seven draws, a noisy office that says ten would seem to tell more.
    draws, people = (
        SplitMix64(1),
        sorted((age, kind) for kind in KINDS for age in range(OLDEST + 1)),
    )
    blocks = draws.below(len(people), 4000, LARGEST)
    wanted = [people.index(person) for person in BLOCK]
    rate = np.mean([np.isin(wanted, block).mean() for block in blocks])
    baseline = Census().run(OFFICE, effort=1).baseline

    assert abs(rate - baseline) < 3 * np.sqrt(baseline / (4000 * len(BLOCK)))


def test_small_blocks_are_solved_as_brute_force_solves_them():
    block = ((3, "FBS"), (7, "FBS"), (7, "MWM"))
    office = tabulate(block)
    asked = [office("..."), office("F..")]
    found = solve(asked, most=10_000)

    expected = set()
    for a in range(18):
        b, c = 10 - a, 7
        if a <= b and sorted((a, b, c))[1] == 7:
            expected.add((a, b, c))
    ages = {tuple(age for age, kind in sorted(one, key=lambda p: (p[1][0], p[0]))) for one in found}
    assert ages == expected
    assert tuple(sorted(block)) in found


def test_statistics_that_contradict_each_other_fit_no_block():
    wrong = [OFFICE(pattern) for pattern in PUBLISHED[:-1]] + [Statistic("FB.", 5, 36, 36.7)]

    assert solve(wrong) == []


def test_a_search_that_is_cut_short_claims_nothing():
    assert Census().run(OFFICE, effort=100).success == 0.0


@pytest.mark.parametrize("count", [-3, 0, 40])
def test_a_nonsensical_population_rebuilds_nobody(count):
    outcome = Census().run(lambda pattern: Statistic(pattern, count, 30, 30.0))

    assert outcome.success == 0.0


def test_statistics_without_a_total_are_refused():
    with pytest.raises(InputError, match="everybody"):
        solve([OFFICE("F..")])


def test_a_group_without_people_has_no_ages():
    assert tabulate(((3, "FBS"),))("M..") == Statistic("M..", 0, 0, 0)


def test_no_effort_is_refused():
    with pytest.raises(InputError, match="effort"):
        Census().run(OFFICE, effort=0)


def counts():
    """How many people of the block have each age and kind."""
    table = np.zeros((OLDEST + 1, len(KINDS)))
    for age, kind in BLOCK:
        table[age, KINDS.index(kind)] += 1
    return table


def test_success_on_noisy_counts_rises_with_epsilon_and_nearly_meets_the_bound():
    found = []
    for epsilon in (0.1, 1, 3, 5, 10, 50):
        draws = SplitMix64(3)
        outcome = CensusCounts(promise=Promise(epsilon)).run(
            lambda d=draws, e=epsilon: counts() + d.laplace(1 / e, OLDEST + 1, len(KINDS)), 300
        )
        found.append(outcome.success)
        assert not outcome.refutes

    assert found == sorted(found)
    assert found[1] > 0.8 * Promise(1).of_event(10 / 928)
    assert found[2] > 0.9 * Promise(3).of_event(10 / 928)
    assert found[-1] == 1.0


def test_equal_counts_prefer_nobody():
    outcome = CensusCounts().run(lambda: np.zeros((OLDEST + 1, len(KINDS))), 1000)

    assert abs(outcome.success - outcome.baseline) < 3 * np.sqrt(outcome.baseline / outcome.n)


def test_counts_of_another_shape_are_refused():
    with pytest.raises(InputError, match="array"):
        CensusCounts().run(lambda: np.zeros((3, 3)), 1)
