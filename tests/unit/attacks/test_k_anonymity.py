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
from discreet.attacks.simulation import Draws
from discreet.errors import InputError

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


def test_a_table_without_rows_is_refused():
    with pytest.raises(InputError, match="without rows"):
        k_of([], *ABOUT)


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_mondrian_keeps_k_people_in_every_class(k):
    draws = Draws(1)
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
