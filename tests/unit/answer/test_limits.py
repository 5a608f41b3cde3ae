import numpy as np
import pytest

from discreet.answer.limits import LADDER, Spread


def spread(counts, scale=1.0):
    people = np.zeros(len(LADDER) + 1)
    for step, count in counts.items():
        people[LADDER.index(step)] = count
    return Spread(people, scale)


def test_the_share_of_people_beyond_a_limit_is_read_off_the_histogram():
    people = spread({1: 600, 4: 300, 64: 100})

    assert people.beyond(1) == pytest.approx(0.4)
    assert people.beyond(4) == pytest.approx(0.1)
    assert people.beyond(64) == 0


def test_what_noise_could_have_made_is_nobody():
    assert spread({1: 5, 64: 3}, scale=10).beyond(1) is None
    assert spread({1: 500, 64: 3}, scale=1).beyond(1) == 0
