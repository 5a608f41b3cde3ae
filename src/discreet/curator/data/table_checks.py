"""Checks of tables: other people's units, several engines, bounds that do not hold."""

from discreet.curator.arguments import unknown
from discreet.curator.data import registry
from discreet.curator.data.registry import Registration, Registry
from discreet.errors import InputError
from discreet.plan.schema import EachRow, PersonPeriod, Schema, Table
from discreet.rationals import whole


def known_dataset(tables: Registry, dataset: str) -> str:
    """The name of a dataset; InputError where there is none of it."""
    known = tables.datasets()
    if dataset in known:
        return dataset
    raise unknown("dataset", dataset, known)


def check_alone(one: Registration, before: Registration) -> None:
    """Refuse to append to a table that somebody else has appended to meanwhile."""
    if [part.entry for part in one.parts] != [part.entry for part in before.parts]:
        raise InputError(
            f"somebody else has appended to {one.table.name} meanwhile",
            why="parts come one after the other, and each is compared with those before",
            fix="append again",
        )


def with_checked(before: Registry, one: Registration) -> Registry:
    """The tables with one more, whose people have to be those of its dataset."""
    fresh = before.with_table(one)
    others = {t.address for t in fresh.tables.values() if one.dataset and t.dataset == one.dataset}
    if len(others) > 1:
        raise InputError(
            f"{one.table.name} is on another engine than the tables of {one.dataset}",
            why="one dataset lives on one engine",
            fix="move it to the engine of the others, or add it as another dataset",
        )
    check_people(fresh, one)
    _check_units(fresh, one)
    return fresh


def bound_rows(rows: int, stated: int | None, name: str) -> int:
    """The public bound on the rows of a table; one that does not hold is refused."""
    if stated is None:
        return registry.table_rows(rows)
    if rows > whole(stated, "max_table_rows", at_least=1):
        raise InputError(
            f"{name} has more rows than max_table_rows={stated}",
            why="the time limit of a question follows from that bound",
            fix="state a higher one, or none",
        )
    return stated


def check_people(tables: Registry, one: Registration) -> None:
    """Refuse a private table whose people are not those of its dataset.

    Why: a budget is about one kind of people. A key path into another dataset would reveal people
    whose budget pays nothing, and single rows name nobody.
    """
    if not isinstance(one.table, Table):
        return
    hops, unit = tables.schema.path(one.table)
    outside = [hop.table for hop in hops if tables.tables[hop.table].dataset != one.dataset]
    if outside:
        raise InputError(
            f"the key path of {one.table.name} leads to {outside[0]}, which is another dataset's",
            why="its people would be told about, and their budget would not pay for it",
            fix=f"add {one.table.name} within the dataset of {outside[0]}",
        )
    if hops and isinstance(unit, EachRow):
        raise InputError(
            f"the key path of {one.table.name} ends at {hops[-1].table}, which names nobody",
            why="rows that are protected one by one belong to no person",
            fix="lead it to a table with a unit, or protect each row of this one too",
        )
    tables.schema.check_same_people(other.name for other in _about_same(tables, one))


def _about_same(tables: Registry, one: Registration) -> list[Table]:
    """The private tables of a table's dataset."""
    others = [other.table for other in tables.tables.values() if other.dataset == one.dataset]
    return [other for other in others if isinstance(other, Table)]


def _check_units(tables: Registry, one: Registration) -> None:
    """Refuse to count people and single rows under one budget."""
    same = _about_same(tables, one) if isinstance(one.table, Table) else []
    if len({unit_kind(tables.schema, other) for other in same}) > 1:
        raise InputError(
            f"{one.table.name} protects others than the tables of {one.dataset} do",
            why="one budget cannot count people, people in periods and single rows together",
            fix="name the person in each of them, or add it as a dataset of its own",
        )


def unit_kind(schema: Schema, table: Table) -> str:
    """Whom a table protects: people, people in some period, or rows.

    A day is named otherwise by dates than by timestamps, so that one person's would be two.
    """
    _, unit = schema.path(table)
    if isinstance(unit, PersonPeriod):
        return f"{unit.every} by {table.columns[unit.period].kind.value}"
    return "row" if isinstance(unit, EachRow) else "person"
