"""Real epsilons, a town's release, a sample dossier."""

import math

import pytest

from discreet.errors import InputError
from discreet.lab.clinic import sample_dossier
from discreet.lab.quantum import EPSILONS as NOISES
from discreet.lab.quantum import SIZES, sweep
from discreet.lab.society import EPSILONS, FINE, SIDE, frontier, publish, town
from discreet.lab.stories import DEPLOYMENTS, converted


def test_deployments_are_in_order_and_name_their_sources():
    shown = [one.shown for one in DEPLOYMENTS]

    assert shown == sorted(shown)
    assert all(one.source and one.protects for one in DEPLOYMENTS)
    assert len({one.name for one in DEPLOYMENTS}) == len(DEPLOYMENTS) >= 15


def test_rho_is_converted_as_the_census_bureau_states_it():
    """Their 17.14 for rho 2.56 is of the exact noise; a conversion from rho alone is just above."""
    census = next(one for one in DEPLOYMENTS if one.name == "Census, redistricting")

    assert (census.epsilon, census.rho) == (17.14, 2.56)
    assert 17.14 <= converted(2.56) < 17.2


def test_more_privacy_costs_small_places_most():
    made = publish(1)
    whole, quarter, block = (level.percent for level in made.levels)

    assert (sum(made.truth), len(made.published)) == (int(town().sum()), SIDE**2)
    assert whole < quarter < block
    assert block == pytest.approx(16 * quarter) == pytest.approx(64 * whole)
    assert made.found == pytest.approx(10 * math.e)


def test_a_town_without_noise_misplaces_nothing_and_one_of_noise_alone_nearly_all():
    assert publish(100).misplaced == 0
    assert publish(0.001).misplaced > 30


def test_the_frontier_only_trades():
    points = frontier()
    epsilons, found, off = zip(*points, strict=True)

    assert len(points) == FINE * (len(EPSILONS) - 1) + 1
    assert set(map(float, EPSILONS)) <= set(epsilons)
    assert list(found) == sorted(found)
    assert list(off) == sorted(off, reverse=True)
    assert min(found) > 10


@pytest.mark.parametrize("epsilon", [0, -1])
def test_a_town_under_no_promise_is_refused(epsilon):
    with pytest.raises(InputError):
        publish(epsilon)


@pytest.mark.parametrize("n", SIZES)
def test_a_sweep_meets_the_theorem_at_every_epsilon(n):
    found = sweep(n)

    assert found.loss == pytest.approx(NOISES, rel=1e-9)
    assert found.damage == pytest.approx(found.most, rel=1e-9)
    for low, coins, high in zip(found.least, found.coins, found.most, strict=True):
        assert low <= high * (1 + 1e-12)
        assert coins <= high * (1 + 1e-9)
    assert all(math.fsum(row) == pytest.approx(1) for row in (found.before, *found.after))


def test_the_sample_dossier_is_of_a_clinic_that_was_asked_twice():
    made = sample_dossier()

    assert made is sample_dossier()
    assert "2 questions are on record" in made.to_markdown()
