"""Counts and sums of one person's rows that nobody has bounded, measured by the rows themselves.

The sum over people of what their rows add up to is the sum over all rows. So `AVG(n)` over a
subquery that counts each person's rows is the number of rows over the number of people, and how
much one person may weigh is what limits on rows say: stated ones, or those that a part of the price
buys. Nothing else has to be known of `n`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.plan import relations as rel
from discreet.plan.expressions import Call, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind
from discreet.plan.relations import Named
from discreet.plan.summaries import SUMMED, PersonAggregate, Summary, WindowColumn

_ADDED = {Summary.COUNT, Summary.SUM}
_YES, _NO = (Literal(one, Kind.BOOLEAN) for one in (True, False))


@dataclass(frozen=True, slots=True)
class SpreadRows:
    """A relation of people with each person's rows in place of their one row.

    `values` are the columns that counted or added up these rows, and what each row adds: the column
    of its value (None for 1) and that of whether it counts. `keys` are further columns that tell
    rows of people apart below: where groups do not share them, one person is several.

    Stability: rows are those of `PersonWindow` over the rows below, and filters on what is the same
    in all rows of a person; whoever is added or removed takes their own rows along.
    """

    relation: rel.Relation
    values: Mapping[str, tuple[str | None, str]]
    keys: frozenset[str]


def spread(relation: rel.Relation) -> SpreadRows | None:
    """A relation of people by their rows; None where it is none, or has other summaries."""
    match relation:
        case rel.PerPerson():
            return _of_people(relation)
        case rel.FilterRows(below, predicate):
            found = spread(below)
            return found and replace(found, relation=rel.FilterRows(found.relation, predicate))
        case rel.Project(below, columns):
            found = spread(below)
            return found and _projected(found, columns)
    return None


def _of_people(relation: rel.PerPerson) -> SpreadRows | None:
    below, aggregates = relation.input, relation.aggregates
    if any(one.summary not in SUMMED for one in aggregates):
        return None
    others = [k for k in relation.keys if not rel.names_person(k.expression, below)]
    taken = {name.lower() for name in rel.columns_of(below)}
    partition = tuple(one.expression for one in others)
    windows = {one.name: _fresh(f"all {one.name}", taken) for one in aggregates}
    columns = tuple(
        WindowColumn(windows[one.name], one.summary, one.argument, partition, where=one.where)
        for one in aggregates
    )
    named = [*relation.keys, *(Named(old, Column(new)) for old, new in windows.items())]
    names = {one.name.lower() for one in named}
    values = {}
    for one in aggregates:
        if one.summary in _ADDED:
            counts = _fresh(f"{one.name} counts", names)
            named.append(Named(counts, _counts(one)))
            value = None
            if one.summary is Summary.SUM and one.argument is not None:
                value = _fresh(f"each {one.name}", names)
                named.append(Named(value, one.argument))
            values[one.name] = value, counts
    rows = rel.PersonWindow(below, columns) if columns else below
    return SpreadRows(
        rel.Project(rows, tuple(named)), values, frozenset(one.name for one in others)
    )


def _counts(one: PersonAggregate) -> Expression:
    """Whether a row counts, for a summary of its owner's rows."""
    always = Call(Function.IS_NULL, (one.argument,)) if one.argument is not None else None
    parts = [] if one.where is None else [Call(Function.COALESCE, (one.where, _NO))]
    parts += [] if always is None else [Call(Function.NOT, (always,))]
    return (parts[0] if len(parts) == 1 else Call(Function.AND, tuple(parts))) if parts else _YES


def _projected(found: SpreadRows, columns: tuple[Named, ...]) -> SpreadRows | None:
    """The same under other names; what each row adds is carried along."""
    copies = {
        one.expression.name: one.name for one in columns if isinstance(one.expression, Column)
    }
    if not found.keys <= copies.keys():
        return None
    names = {one.name.lower() for one in columns}
    kept = {old: copies[old] for old in found.values if old in copies}
    carried = {
        part: _fresh(part, names) for old in kept for part in found.values[old] if part is not None
    }
    more = tuple(Named(new, Column(old)) for old, new in carried.items())
    values = {
        new: (value and carried[value], carried[counts])
        for old, new in kept.items()
        for value, counts in (found.values[old],)
    }
    keys = frozenset(copies[one] for one in found.keys)
    return SpreadRows(rel.Project(found.relation, (*columns, *more)), values, keys)


def _fresh(name: str, taken: set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name
