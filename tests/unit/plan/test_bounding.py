"""Limits on people, the weights they lead to, and the norms that weights hold to the limits."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.plan import canonical
from discreet.plan.bounding import (
    FULL,
    ContributionBounds,
    NoiseKind,
    is_stated,
    largest_weight,
    limits_of,
    within_groups,
)
from discreet.plan.kinds import Kind
from discreet.plan.schema import EachRow, Limits, Person, Schema, Table, column_type
from discreet.sql.reader.read import read
from visits import schema

LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN
BY_CITY = "SELECT city, COUNT(*) FROM visits GROUP BY city"
BY_STREET = "SELECT street, COUNT(*) FROM visits GROUP BY street"
BY_BOTH = "SELECT city, street, COUNT(*) FROM visits GROUP BY city, street"
EACH_ONCE = "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)"


def asked(text, limits=None, unit=None):
    return read(text, schema(unit, limits))


@pytest.mark.parametrize("kind", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(2, 3), Fraction(5, 7)])
def test_rows_that_noise_is_made_for_let_a_limit_stand_above_far(kind, share):
    power = 1 if kind is LAPLACE else 2
    for limit in (4, 5, 9, 11, 39, 1218, 2**20):  # of a third, roots may be nearly whole
        raised = ContributionBounds(kind, 1, 1, 4, share).raised(limit)
        assert raised.far_rows == raised.full_rows >= limit
        assert (raised.rows - 1) ** power * share < limit**power
        kept = replace(raised, rows=limit, far=4 * limit)
        assert kept.full_rows == limit
        assert kept.far_rows**power <= limit**power * share < (kept.far_rows + 1) ** power


def test_a_limit_just_below_far_is_the_last_that_everybody_has():
    bounds = ContributionBounds(LAPLACE, 8, 1, 8, Fraction(1, 2))
    assert (bounds.full_rows, bounds.far_rows) == (8, 4)
    assert replace(bounds, far=7).full_rows == 7
    assert replace(bounds, far=3).full_rows == 4


def test_limits_show_what_they_were_made_of():
    assert repr(ContributionBounds(LAPLACE, 8, 1)) == (
        "ContributionBounds(noise_kind=<NoiseKind.LAPLACE: 'Laplace'>, rows=8, groups=1, far=None, "
        "share=Fraction(1, 1))"
    )


@pytest.mark.parametrize("bounds", [(3, 2), (3, 2, 12, Fraction(3, 4))])
def test_limits_are_stored_as_they_always_were_unless_somebody_is_far(bounds):
    made = ContributionBounds(GAUSSIAN, *bounds)
    stored = ["Gaussian", 3, 2, 12, "3/4"][: len(bounds) + 1]
    assert made.stored() == stored
    assert ContributionBounds.read(stored) == made


def floor_of_weight(limit, norm, *, squared):
    """A weight as the engine computes it: doubles, rounded down."""
    size = math.sqrt(float(norm)) if squared else float(norm)
    return math.floor(largest_weight(limit, squared=squared) / size)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 2**20])
def test_a_weight_times_the_norm_is_within_the_limit_and_wastes_less_than_one(limit):
    for norm in (limit + 1, 2 * limit, 3 * limit + 1, FULL * limit, FULL * limit + 1, 2**53):
        weight = floor_of_weight(limit, norm, squared=False)
        ideal = Fraction(FULL * limit, norm)
        assert weight <= ideal
        assert weight >= ideal - 1 - Fraction(1, 2**20)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 2**40])
def test_a_squared_weight_times_the_squared_norm_is_within_the_limit(limit):
    for norm in (limit + 1, 2 * limit, 4 * limit, 5 * limit + 1, 2**60):
        weight = floor_of_weight(limit, norm, squared=True)
        assert weight**2 * norm <= FULL**2 * limit
        assert (weight + 1 + 2**-20) ** 2 * norm >= FULL**2 * limit


def test_weights_are_computed_from_just_below_the_limit():
    """Five roundings of doubles lift a result by 5 * 2^-53 at most; 2^-40 is below all of them."""
    assert Fraction(largest_weight(3, squared=False)) == 3 * FULL * (1 - Fraction(1, 2**40))
    assert Fraction(largest_weight(9, squared=True)) == 3 * FULL * (1 - Fraction(1, 2**40))
    assert FULL == 1024  # stored noise and proofs count in it


@pytest.mark.parametrize("groups", [1, 2, 3, 5, 16, 1000])
@pytest.mark.parametrize("rows", [1, 2, 7, 100])
def test_stated_limits_are_the_largest_norm_of_somebody_within_them(groups, rows):
    assert ContributionBounds.stated(Limits(groups, rows), LAPLACE) == ContributionBounds(
        LAPLACE, groups * rows, groups
    )
    spread = ContributionBounds.stated(Limits(groups, rows), GAUSSIAN)
    assert (spread.noise_kind, spread.groups) == (GAUSSIAN, groups)
    assert (spread.rows - 1) ** 2 < groups * rows**2 <= spread.rows**2


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
def test_what_is_not_stated_counts_as_one(noise_kind):
    stated = ContributionBounds.stated
    assert stated(Limits(), noise_kind) == stated(Limits(1, 1), noise_kind)
    assert stated(Limits(max_rows=3), noise_kind) == ContributionBounds(noise_kind, 3, 1)
    assert stated(Limits(max_groups=4), noise_kind).groups == 4


def test_groups_are_counted_where_keys_are_public_and_reckoned_with_where_not():
    assert [asked(text).has_known_keys for text in (BY_CITY, BY_STREET, BY_BOTH)] == [
        True,
        False,
        False,
    ]
    assert [asked(text).group_count for text in (BY_CITY, BY_STREET, BY_BOTH)] == [3, 100, 300]
    assert asked("SELECT COUNT(*) FROM visits").group_count == 1


def test_nobody_is_in_more_groups_than_there_are():
    assert [within_groups(limit, asked(BY_CITY)) for limit in (2, 3, 50)] == [2, 3, 3]
    assert within_groups(500, asked(BY_STREET)) == 500  # how many there are is not public


def test_limits_of_the_question_come_before_those_of_its_table():
    assert limits_of(asked(BY_CITY, Limits(2, 4))) == Limits(2, 4)
    assert limits_of(asked(BY_CITY, Limits(50, 4))) == Limits(3, 4)
    narrower = replace(asked(BY_STREET, Limits(2, 4)), limits=Limits(1, 3))
    assert limits_of(narrower) == Limits(1, 3)
    assert limits_of(replace(narrower, limits=Limits(max_rows=3))) == Limits(2, 3)
    assert limits_of(replace(narrower, limits=Limits(max_groups=9))) == Limits(9, 4)


def test_limits_that_nobody_stated_are_left_open():
    assert limits_of(asked(BY_CITY, Limits(max_rows=4))) == Limits(None, 4)
    assert limits_of(asked(BY_CITY, Limits(max_groups=2))) == Limits(2, None)


@pytest.mark.parametrize(
    ("limits", "stated"),
    [
        (Limits(1, 1), True),
        (Limits(None, 1), False),
        (Limits(1, None), False),
        (Limits(None, None), False),
    ],
)
def test_nothing_has_to_be_chosen_where_both_limits_are_stated(limits, stated):
    assert is_stated(limits) is stated


UNITED = "(SELECT person, x FROM a UNION ALL SELECT person, x FROM b)"
MET = "a JOIN b USING (person)"


def limits_over(rows, one, other, by="GROUP BY a.x"):
    columns = {
        "person": column_type("person", Kind.INTEGER),
        "x": column_type("x", Kind.INTEGER),
    }
    tables = {
        name: Table(name, columns, Person("person"), limits)
        for name, limits in (("a", one), ("b", other))
    }
    return limits_of(read(f"SELECT COUNT(*) FROM {rows} {by}", Schema(tables)))


def test_several_tables_state_a_limit_if_all_of_them_do():
    met = f"(SELECT a.x, b.x AS y FROM {MET} WHERE a.x > 0) a"
    assert limits_over(met, Limits(2, 9), Limits(5, 4)) == Limits(5, 36)
    assert limits_over(met, Limits(2, 9), Limits(None, 4)) == Limits(None, 36)
    assert limits_over(met, Limits(2, None), Limits(5, 4)) == Limits(5, None)


def test_rows_multiply_where_a_join_is_on_the_person_alone_and_both_sides_may_have_many():
    many = Limits(2, 9)
    assert limits_over(MET, many, Limits(5, 1)) == Limits(5, 9)
    assert limits_over(MET, many, Limits(1, 1)) == many
    assert limits_over("a JOIN b USING (person, x)", many, Limits(5, 4)) == Limits(5, 9)
    assert limits_over(MET, Limits(1 << 20, 1 << 10), Limits(1, 99)) == Limits(1 << 14, 1 << 16)
    assert limits_over(MET, Limits(1 << 30), many) == Limits(1 << 30)
    once = "a JOIN (SELECT person, MAX(x) AS y FROM b GROUP BY person) c USING (person)"
    assert limits_over(once, many, Limits(5, 4)) == many


def test_a_join_that_was_stored_before_is_held_to_the_widest_limits_as_it_was_measured():
    table = Table(
        "a", {"person": column_type("person", Kind.INTEGER)}, Person("person"), Limits(2, 9)
    )
    query = read("SELECT COUNT(*) FROM a JOIN a b USING (person)", Schema({"a": table}))
    assert (limits_of(query).max_rows, "multiplies" in canonical.write(query)) == (81, True)
    before = canonical.write(query).replace('"multiplies":true,', "")
    assert limits_of(canonical.read(before, Schema({"a": table}))).max_rows == 9


def test_a_union_adds_the_limits_of_its_sides():
    everywhere = f"(SELECT * FROM {UNITED}) a"
    assert limits_over(everywhere, Limits(2, 9), Limits(5, 4)) == Limits(7, 13)
    assert limits_over(everywhere, Limits(2, 9), Limits(5, 4), "") == Limits(1, 13)
    assert limits_over(everywhere, Limits(2, 9), Limits(5, None)) == Limits(7, None)
    assert limits_over(everywhere, Limits(None, 9), Limits(5, 4)) == Limits(None, 13)
    inside = f"a JOIN {UNITED} b USING (person)"
    assert limits_over(inside, Limits(1, 1), Limits(1, 1), "") == Limits(1, 2)
    twice = f"{UNITED} a JOIN {UNITED} b USING (person)"
    assert limits_over(twice, Limits(1, 1), Limits(1, 1), "") == Limits(1, 4)
    each = f"(SELECT person, x, COUNT(*) FROM {UNITED} GROUP BY person, x) a"
    assert limits_over(each, Limits(2, 9), Limits(5, 4)) == Limits(7, 13)
    one = "(SELECT person, MAX(x) AS x FROM a GROUP BY person)"
    assert limits_over(f"({one} UNION ALL {one}) a", Limits(2, 9), Limits(5, 4)) == Limits(2, 2)


def test_whoever_has_one_row_by_public_facts_has_one_row_in_one_group():
    once = asked(EACH_ONCE, Limits(7, 8))
    assert limits_of(once) == Limits(1, 1)
    assert once.counts_whole
    assert not once.is_by_row


def test_rows_that_are_protected_by_themselves_count_whole():
    assert asked(BY_CITY, unit=EachRow()).is_by_row
    assert asked(BY_CITY, unit=EachRow()).counts_whole
    assert not asked(BY_CITY).is_by_row
    assert not asked(BY_CITY).counts_whole
