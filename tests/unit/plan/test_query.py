from dataclasses import replace

import pytest

from discreet.answer.plan.price import Price
from discreet.errors import InputError
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.builder import From
from discreet.plan.expression_builder import (
    correlation,
    count,
    covariance,
    maximum,
    mean,
    median,
    minimum,
)
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.query import AggregateFunction, Query, weighted
from discreet.plan.relations import Scan
from discreet.plan.schema import Limits, Person, Schema, Table
from discreet.plan.statistics import needed
from planned import plan_set

VISITS = Table(
    "visits",
    {"who": Type(Kind.TEXT), "age": Type(Kind.REAL, nullable=False, range=Range(0, 9))},
    Person("who"),
)
SCHEMA = Schema({"visits": VISITS})


def shares(query):
    costs = plan_set(replace(query, limits=Limits(1, 1)), Price(1), NoiseKind.LAPLACE).costs
    return {one.statistics: cost for one, cost in costs.items()}


def test_what_matters_more_gets_more_of_the_budget():
    plain = From(Scan(VISITS)).agg(n=count(), m=mean("age")).query()
    heavy = weighted(plain, {"n": 64})
    rows, total = needed(plain)

    assert shares(plain) == {(rows, total): 1}  # measured together
    assert shares(heavy)[rows,] > 5 * shares(heavy)[total,]
    assert sum(shares(heavy).values()) == 1
    heavy = weighted(plain, {"m": 8})
    assert heavy == From(Scan(VISITS)).agg(n=count(), m=mean("age").weighted(8)).query()


@pytest.mark.parametrize("weight", [0, -1, float("nan")])
def test_a_weight_is_a_positive_number(weight):
    query = From(Scan(VISITS)).agg(n=count()).query()
    with pytest.raises(InputError, match="weight"):
        weighted(query, {"n": weight})


def test_an_aggregate_that_is_weighed_has_to_be_there():
    query = From(Scan(VISITS)).agg(n=count()).query()
    with pytest.raises(InputError, match="no aggregate is called m"):
        weighted(query, {"m": 2})


def test_a_weight_of_one_is_not_written_so_that_older_texts_mean_the_same():
    plain = From(Scan(VISITS)).agg(n=count()).query()

    assert "weight" not in canonical.write(plain)
    assert canonical.write(weighted(plain, {"n": 1})) == canonical.write(plain)
    heavy = weighted(plain, {"n": 2})
    assert canonical.read(canonical.write(heavy), SCHEMA) == heavy
    assert canonical.read(canonical.write(plain), SCHEMA) == plain


def test_extremes_can_be_asked_for_in_python():
    query = From(Scan(VISITS)).agg(low=minimum("age"), high=maximum("age")).query()

    assert [one.measure for one in query.aggregates] == [
        AggregateFunction.MIN,
        AggregateFunction.MAX,
    ]


@pytest.mark.parametrize("sets", [((1,),), ((0, 0),), ((-1,),)])
def test_a_grouping_set_names_keys_that_are_there(sets):
    query = From(Scan(VISITS)).group_by("who").agg(n=count()).query()
    with pytest.raises(InputError, match="grouping set"):
        replace(query, sets=sets)


@pytest.mark.parametrize(
    ("measure", "level"),
    [
        (AggregateFunction.QUANTILE, None),
        (AggregateFunction.QUANTILE, 2),
        (AggregateFunction.MIN, 0.5),
        (AggregateFunction.SUM, 0.5),
    ],
)
def test_a_level_belongs_to_quantiles_alone(measure, level):
    """A quantile without one, or MIN with one, would be found out when it is measured."""
    (median_age,) = From(Scan(VISITS)).agg(q=median("age")).query().aggregates
    with pytest.raises(InputError, match="level"):
        Query(Scan(VISITS), (), (replace(median_age, measure=measure, level=level),))


@pytest.mark.parametrize("of", [correlation, covariance])
def test_one_value_is_too_wide_however_narrow_the_other_is(of):
    """Planning ended in OverflowError: the product was finite, and the square of one was not."""
    columns = {
        "who": Type(Kind.TEXT),
        "wide": Type(Kind.REAL, range=Range(0, 1e200)),
        "narrow": Type(Kind.REAL, range=Range(0, 1e-80)),
    }
    with pytest.raises(InputError, match="very wide bounds"):
        From(Scan(Table("wide", columns, Person("who")))).agg(c=of("wide", "narrow")).query()


def test_the_columns_of_an_answer_are_facts_that_nobody_changes():
    columns = From(Scan(VISITS)).agg(n=count()).query().released_columns

    with pytest.raises(TypeError):
        columns["n"] = Type(Kind.TEXT)
