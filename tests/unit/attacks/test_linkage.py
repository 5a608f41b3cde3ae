from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from discreet.attacks import Linkage, Promise
from discreet.attacks.linkage import DAYS, STARS, Ratings, Scoreboard, Suspicion
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError


def same(ratings):
    return ratings


@pytest.mark.parametrize(
    ("known", "wrong", "days", "floor"), [(8, 2, 14, 0.97), (4, 0, 14, 0.95), (2, 0, 3, 0.8)]
)
def test_a_few_ratings_tell_the_rest(known, wrong, days, floor):
    outcome = Linkage(1000, 800, known, wrong, days, promise=Promise(1)).run(same, 100)

    assert outcome.success >= floor
    assert outcome.success - outcome.baseline >= 0.5
    assert outcome.refutes


def counting(noise):
    """A system that says how many people fit, with noise."""

    def count(ratings, asked):
        return [one.fits(ratings).size for one in asked] + noise(len(asked))

    return lambda ratings: partial(count, ratings)


def test_a_system_that_counts_who_fits_gives_them_away():
    outcome = Linkage(1000, 800, promise=Promise(1)).run(counting(np.zeros), 100)

    assert outcome.success >= 0.97
    assert outcome.baseline <= 0.02
    assert outcome.refutes


def test_success_rises_with_epsilon_and_nearly_meets_the_bound():
    found = []
    for epsilon in (0.1, 1, 3, 10):
        noise = SplitMix64(6)
        outcome = Linkage(500, 300, promise=Promise(epsilon)).run(
            counting(lambda n, d=noise, e=epsilon: d.laplace(1 / e, n)), 400
        )
        found.append(outcome.success)
        assert not outcome.refutes
        assert outcome.success > 0.85 * outcome.bound

    assert found == sorted(found)


def test_who_fits_has_enough_of_what_is_known_and_what_is_to_be_learnt():
    ratings = Ratings(
        *map(
            np.array,
            ([0, 0, 0, 1, 1, 1], [5, 6, 7, 5, 6, 7], [3, 4, 1, 3, 4, 2], [10, 20, 30, 10, 29, 30]),
        )
    )
    known = Ratings(*map(np.array, ([9, 9], [5, 6], [3, 4], [12, 18])))

    assert Suspicion(known, 2, 3, 7, 1).fits(ratings).tolist() == [0]
    assert Suspicion(known, 2, 3, 7, 2).fits(ratings).tolist() == []
    assert Suspicion(known, 1, 3, 7, 2).fits(ratings).tolist() == [1]
    assert Suspicion(known, 2, 14, 7, 2).fits(ratings).tolist() == [1]


def test_counts_that_are_not_numbers_are_refused():
    with pytest.raises(InputError, match="finite"):
        Linkage(50, 60).run(lambda _: lambda asked: np.full(len(asked), np.nan), 10)


def test_somebody_elses_ratings_tell_nothing():
    others = Ratings.drawn(1000, 800, SplitMix64(99))
    outcome = Linkage(1000, 800, promise=Promise(0.1)).run(lambda _: others, 200)

    assert not outcome.refutes


def test_a_stricter_match_recognises_fewer_strangers():
    lax, strict = (Linkage(1000, 800, eccentricity=e).run(same, 200) for e in (0.5, 4.0))

    assert strict.baseline <= lax.baseline
    assert lax.baseline > 0


def test_drawn_ratings_are_in_range_and_never_double():
    ratings = Ratings.drawn(200, 300, SplitMix64(1))
    pairs = set(zip(ratings.person.tolist(), ratings.film.tolist(), strict=True))

    assert len(pairs) == ratings.person.size
    assert 1 <= ratings.stars.min() <= ratings.stars.max() <= STARS
    assert 0 <= ratings.day.min() <= ratings.day.max() < DAYS
    assert ratings.film.max() < 300
    assert len(set(ratings.person)) == 200


def test_a_score_is_the_papers_sum():
    release = Ratings(*(np.array(x) for x in ([0, 1, 1], [5, 5, 6], [3, 1, 2], [10, 40, 7])))
    known = Ratings(*(np.array(x) for x in ([9], [5], [3], [10])))
    weight = 1 / np.log(3)

    assert Scoreboard(release, 7).scores(known) == pytest.approx(
        [weight * 2, weight * (np.exp(-2 / 1.5) + np.exp(-1))]
    )


def test_an_empty_release_matches_nobody():
    nothing = Ratings(*(np.zeros(0, dtype=np.int64) for _ in range(4)))
    outcome = Linkage(50, 60).run(lambda _: nothing, 10)

    assert (outcome.success, outcome.baseline) == (0.0, 0.0)


@pytest.mark.parametrize("wrong", [{"known": 13}, {"wrong": 8}, {"wrong": -1}])
def test_knowledge_that_cannot_be_had_is_refused(wrong):
    with pytest.raises(InputError, match="known ratings"):
        Linkage(**wrong)


def test_more_targets_than_people_are_refused():
    with pytest.raises(InputError, match="targets"):
        Linkage(people=10).run(same, 11)


def test_what_a_release_calls_people_does_not_matter():
    other = Linkage(300, 200).run(lambda all_of: replace(all_of, person=10**14 - all_of.person), 40)

    assert other == Linkage(300, 200).run(same, 40)


def test_a_release_of_nothing_tells_nothing():
    none = np.zeros(0, dtype=np.int64)

    assert Linkage(300, 200).run(lambda _: Ratings(none, none, none, none), 40).success == 0
