import numpy as np
import pytest

from discreet.attacks import CensusTables, Promise
from discreet.attacks.census_tables import AGES, STARTS, Residents, Tables, _matched
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError


def residents(*rows):
    return Residents(*(np.array(column) for column in zip(*rows, strict=True)))


def test_the_people_who_are_rebuilt_have_every_published_count():
    people = Residents.drawn(20, SplitMix64(1))
    tables = Tables.of(people, 20)
    again = Tables.of(tables.rebuilt(SplitMix64(2)), 20)

    assert (again.blocks == tables.blocks).all()
    assert (again.tract == tables.tract).all()


def test_exact_tables_give_half_of_the_people_away():
    outcome = CensusTables(promise=Promise(0.5)).run(lambda tables: tables, 1)

    assert outcome.success > 0.45
    assert outcome.success > 2 * outcome.baseline
    assert outcome.refutes


def test_one_is_found_for_one_and_a_year_off_is_near():
    people = residents((0, 0, 0, 30), (0, 0, 0, 30), (0, 1, 0, 50), (1, 0, 0, 0))
    found = residents((0, 0, 0, 30), (0, 0, 0, 31), (0, 1, 1, 50), (0, 1, 6, AGES - 1))

    assert _matched(people, found) == (1, 2)
    assert _matched(people, people) == (4, 4)


def test_success_rises_with_epsilon_within_the_bound():
    gains = []
    for epsilon in (0.2, 2, 20):
        draws = SplitMix64(5)

        def noisy(tables, d=draws, scale=2 / epsilon):
            return Tables(*(t + d.laplace(scale, *t.shape) for t in (tables.blocks, tables.tract)))

        outcome = CensusTables(40, Promise(epsilon)).run(noisy, 2)
        gains.append(outcome.success - outcome.baseline)
        assert not outcome.refutes

    assert gains == sorted(gains)
    assert gains[-1] > 0.2


def test_names_are_found_for_most_and_chance_alone_does_not_explain_it():
    found = CensusTables().rebuild(lambda tables: tables, SplitMix64(0))

    assert found.exactly < found.within_a_year
    assert found.rightly < found.named < 0.75
    assert found.by_chance < found.exactly / 2


def test_empty_tables_rebuild_nobody():
    outcome = CensusTables(10).run(lambda t: Tables(0 * t.blocks, 0 * t.tract), 1)

    assert (outcome.success, outcome.baseline) == (0.0, 0.0)


def test_there_are_38_bands_from_birth_on():
    assert STARTS.size == 38
    assert STARTS[0] == 0
    assert (np.diff(STARTS) > 0).all()


def test_tables_of_another_shape_are_refused():
    with pytest.raises(InputError, match="array"):
        CensusTables(10).run(lambda t: Tables(t.blocks[:3], t.tract), 1)
