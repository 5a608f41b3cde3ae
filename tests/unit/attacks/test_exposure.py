import math
from collections import Counter

import numpy as np
import pytest

from discreet.attacks import Exposure, Promise
from discreet.attacks.exposure import name_and_shame, random_record
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError

SECRET = np.array([3, 1, 2, 0])
OTHER = np.array([7, 1, 2, 0])


def law(make, secret, runs=4000):
    release = make(SplitMix64(5))
    return Counter(frozenset(release(secret).items()) for _ in range(runs))


def test_a_random_record_keeps_an_additive_distance_of_one_in_n():
    """The laws of neighbours differ by what is said about the one who changed, once in n."""
    first, second = (law(random_record, secret) for secret in (SECRET, OTHER))
    distance = sum(abs(first[one] - second[one]) for one in first | second) / 2 / 4000

    assert abs(distance - 1 / 4) < 3 * math.sqrt(3 / 16 / 4000)


def test_name_and_shame_keeps_its_ratio_but_for_a_chance_of_one_in_n():
    """Outputs that do not name who changed are equally probable under both: the same draws."""
    first, second = (law(name_and_shame, secret) for secret in (SECRET, OTHER))
    silent = {one for one in first if not any(person == 0 for person, _ in one)}

    assert all(first[one] == second[one] for one in silent)
    named = 1 - sum(first[one] for one in silent) / 4000
    assert abs(named - 1 / 4) < 3 * math.sqrt(3 / 16 / 4000)


def test_both_expose_somebody():
    attack = Exposure(promise=Promise(1))
    additive, by_chance = (
        attack.run(make(SplitMix64(2))) for make in (random_record, name_and_shame)
    )

    assert additive.success == 1.0
    assert abs(by_chance.success - (1 - math.exp(-1))) < 0.06
    assert additive.refutes
    assert by_chance.refutes


def respond(epsilon, codes, draws):
    """Randomized response in floating point: for a test, not for a release."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + codes - 1)

    def publish(secret):
        other = (secret[0] + 1 + int(draws.below(codes - 1, 1)[0])) % codes
        return {0: int(secret[0]) if draws.uniform(1)[0] < truth else int(other)}

    return publish


def test_success_rises_with_epsilon_and_nearly_meets_the_bound():
    found = []
    for epsilon in (0.1, 1, 3, 10):
        outcome = Exposure(promise=Promise(epsilon)).run(respond(epsilon, 100, SplitMix64(4)), 3000)
        found.append(outcome.success)
        assert not outcome.refutes

    assert found == sorted(found)
    assert found[2] > 0.8 * Promise(3).of_event(0.01)


def test_who_publishes_nothing_leaves_a_blind_guess():
    outcome = Exposure(codes=10).run(lambda _: {}, 2000)

    assert abs(outcome.success - 0.1) < 3 * math.sqrt(0.09 / 2000)


@pytest.mark.parametrize("wrong", [{"people": 0}, {"codes": 1}])
def test_nobody_with_a_secret_is_refused(wrong):
    with pytest.raises(InputError, match="codes"):
        Exposure(**wrong)
