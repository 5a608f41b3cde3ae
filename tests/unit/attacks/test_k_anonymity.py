import math

import numpy as np
import pytest

from discreet.attacks import Intersection, Promise
from discreet.attacks.intersection import mondrian
from discreet.attacks.k_anonymity import (
    HOSPITAL_A,
    HOSPITAL_B,
    candidates,
    classes,
    homogeneous,
    k_of,
    l_of,
)
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError
from pycanon_answers import MISSING, SENSITIVE, asked, kept, tables

ABOUT = (["age"], "condition")


def test_the_two_hospital_tables_are_as_anonymous_as_they_claim():
    assert (k_of(HOSPITAL_A, *ABOUT), l_of(HOSPITAL_A, *ABOUT)) == (4, 1)
    assert (k_of(HOSPITAL_B, *ABOUT), l_of(HOSPITAL_B, *ABOUT)) == (6, 3)


def test_everybody_in_a_homogeneous_class_is_told():
    assert homogeneous(HOSPITAL_A, *ABOUT) == {("3*",): "cancer"}
    assert homogeneous(HOSPITAL_B, *ABOUT) == {}


def test_somebody_of_28_in_both_hospitals_has_one_condition_left():
    first, second = classes(HOSPITAL_A, *ABOUT), classes(HOSPITAL_B, *ABOUT)

    assert candidates(first["<30",], second["<35",]) == {"AIDS"}


def test_several_quasi_identifiers_make_finer_classes():
    rows = [{"a": i % 2, "b": i % 3, "c": i} for i in range(12)]

    assert k_of(rows, ["a"], "c") == 6
    assert k_of(rows, ["a", "b"], "c") == 2


def checked(rows):
    quasi = [name for name in rows[0] if name != SENSITIVE]
    return [k_of(rows, quasi, SENSITIVE), l_of(rows, quasi, SENSITIVE)]


def test_k_and_l_are_those_of_pycanon():
    answers = {
        i: (checked(rows), theirs)
        for i, (rows, theirs) in enumerate(zip(tables(), kept(), strict=True))
        if rows is not MISSING
    }

    assert [i for i, (ours, theirs) in answers.items() if ours != theirs] == []
    assert len({tuple(ours) for ours, _ in answers.values()}) > 20


def test_somebody_whose_quasi_identifier_is_missing_is_still_somebody():
    # pycanon leaves the row out and says 5: on the side that puts the person at risk.
    assert kept()[tables().index(MISSING)][0] == 5
    assert k_of(MISSING, ["postcode"], SENSITIVE) == 1


@pytest.mark.audit
def test_pycanon_still_says_what_it_said(tmp_path):
    assert asked(tmp_path) == kept()


def test_values_that_are_missing_are_one_value_however_they_are_written():
    rows = [{"q": 1, "s": missing} for missing in (None, math.nan, float("nan"), np.float32("nan"))]

    assert l_of(rows, ["q"], "s") == 1
    assert k_of(rows, ["s"], "q") == 4
    assert homogeneous(rows, ["q"], "s") == {(1,): None}


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="a row without postcode"):
        k_of(HOSPITAL_A, ["postcode"], "condition")


def test_without_quasi_identifiers_everybody_is_alike():
    assert k_of(HOSPITAL_A, [], "condition") == 12


def test_a_table_without_rows_is_refused():
    with pytest.raises(InputError, match="without rows"):
        k_of([], *ABOUT)


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_mondrian_keeps_k_people_in_every_class(k):
    draws = SplitMix64(1)
    places, conditions = draws.uniform(500, 2), draws.below(30, 500)
    counts = mondrian(k)(places, conditions, 30)(places)

    assert counts.sum(axis=1).min() >= k
    assert counts.sum(axis=1).max() < 4 * k
    assert (counts[range(500), conditions] >= 1).all()


def test_two_anonymous_releases_together_are_not():
    together = Intersection(2000, promise=Promise(1)).run(mondrian(5), 300)
    coarser = Intersection(2000, promise=Promise(1)).run(mondrian(100), 300)

    assert together.success > 0.45
    assert together.refutes
    assert coarser.success < 0.2


def test_a_release_about_nobody_gives_chance():
    outcome = Intersection(600, promise=Promise(0)).run(
        lambda _p, _c, values: lambda wanted: 0 * wanted[:, :1] + [1.0] * values, 500
    )

    assert not outcome.refutes


def test_bad_sizes_are_refused():
    with pytest.raises(InputError, match="k is 0"):
        mondrian(0)
    with pytest.raises(InputError, match="effort"):
        Intersection(10).run(mondrian(2), 11)
