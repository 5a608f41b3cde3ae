from dataclasses import replace

import numpy as np
import pytest

from discreet.attacks import Linkage, Promise
from discreet.attacks.linkage import DAYS, STARS, Ratings, Scoreboard
from discreet.attacks.simulation import Draws
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


def test_somebody_elses_ratings_tell_nothing():
    others = Ratings.drawn(1000, 800, Draws(99))
    outcome = Linkage(1000, 800, promise=Promise(0.1)).run(lambda _: others, 200)

    assert not outcome.refutes


def test_a_stricter_match_recognises_fewer_strangers():
    lax, strict = (Linkage(1000, 800, eccentricity=e).run(same, 200) for e in (0.5, 4.0))

    assert strict.baseline <= lax.baseline
    assert lax.baseline > 0


def test_drawn_ratings_are_in_range_and_never_double():
    ratings = Ratings.drawn(200, 300, Draws(1))
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
