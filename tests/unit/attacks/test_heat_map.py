import numpy as np
import pytest

from discreet.attacks import HeatMap, Promise
from discreet.attacks.heat_map import CELLS, LEAST, LONGEST, RINGS, SIDE, ZONE, masked
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError


def shown(attack, areas):
    """The tracks that an attack lets its target see."""
    seen = []
    attack.run(lambda tracks: seen.append(tracks) or tracks.heat, areas)
    return seen[0]


@pytest.mark.parametrize("crew", [1, 4, 12])
def test_exact_totals_show_every_base(crew):
    outcome = HeatMap(crew, promise=Promise(1)).run(lambda tracks: tracks.heat, 200)

    assert (outcome.success, outcome.baseline, outcome.n) == (1.0, 0.5, 200)
    assert outcome.bound == pytest.approx(1 / (1 + np.exp(-crew)))


def test_zones_around_starts_and_a_threshold_hide_no_crew_but_one_runner():
    assert HeatMap(4).run(masked, 200).success == 1.0
    assert HeatMap(1, strays=0).run(masked, 200).success < 0.65


def test_nobody_is_on_a_masked_map_near_their_start_or_alone():
    tracks = shown(HeatMap(1, strays=1), 50)
    heat = masked(tracks)
    counted = heat[heat > 0]

    assert counted.size == 0 or counted.min() >= LEAST
    near = np.abs(np.subtract(*(np.divmod(one, SIDE) for one in (tracks.cell, tracks.start))))
    crowded = masked(shown(HeatMap(8, strays=0), 50))
    assert (near.max(axis=0) <= ZONE).any()
    assert crowded.sum() < shown(HeatMap(8, strays=0), 50).heat.sum()


def test_runs_are_as_long_as_is_public_and_stay_in_one_area():
    tracks = shown(HeatMap(), 100)
    runs = np.unique(np.stack([tracks.person, tracks.area]), axis=1)

    assert np.bincount(tracks.person).max() <= max(LONGEST, SIDE)
    assert len(np.unique(runs[0])) == runs.shape[1]
    assert np.unique(np.stack([tracks.person, tracks.cell]), axis=1).shape[1] == tracks.cell.size
    assert RINGS.shape[1] == CELLS


@pytest.mark.parametrize("sigma", [2.0, 8.0, 20.0])
def test_a_base_is_told_from_noise_as_well_as_the_rings_allow(sigma):
    """Against the likelihood of every ring, computed cell by cell with the true deviation."""
    attack, areas, kept = HeatMap(4, strays=0, seed=3), 400, []

    def noisy(tracks):
        kept.append((tracks, tracks.heat + sigma * SplitMix64(9).normal(areas, CELLS)))
        return kept[0][1]

    outcome = attack.run(noisy, areas)
    tracks, heat = kept[0]
    base = np.bincount(tracks.area, minlength=areas) > 0
    logs = np.array([((heat**2 - (heat - 4 * r) ** 2) / (2 * sigma**2)).sum(axis=1) for r in RINGS])
    best = np.mean((np.logaddexp.reduce(logs) - np.log(len(RINGS)) > 0) == base)

    assert outcome.success == pytest.approx(best, abs=0.02)


@pytest.mark.parametrize("wrong", [{"crew": 0}, {"strays": -1}])
def test_a_map_without_runners_is_refused(wrong):
    with pytest.raises(InputError, match="runs around a base"):
        HeatMap(**wrong)


def test_a_group_is_promised_its_people_times_as_much():
    group = Promise(0.5, 1e-6, mu=0.2).group(3)

    assert (group.epsilon, group.mu) == (1.5, pytest.approx(0.6))
    assert group.delta == pytest.approx(3e-6 * np.exp(1.0))
    assert Promise(500, 0.1).group(3).delta == 1
    assert Promise().group(3).of_bit() == 1
