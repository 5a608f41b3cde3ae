"""Public facts about a question that its answer carries: who is protected, what was clamped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.plan.expressions import Call, Case, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Range, Value
from discreet.plan.outside import missing_rows
from discreet.plan.query import (
    AggregateFunction,
    Query,
    groupings,
    level_of,
    questions_in,
)
from discreet.plan.reads import mentions, reads
from discreet.plan.relations import (
    JoinPerson,
    MatchPerson,
    Project,
    Relation,
    Scan,
    join_caps,
    nodes_of,
)
from discreet.plan.released_tables import sources_of
from discreet.plan.row_counts import held_counts
from discreet.plan.schema import EachRow, KeyPath, Person, PersonPeriod, Table
from discreet.plan.schema_text import range_words
from discreet.plan.statistics import behind

PICKED = (
    "Rows are picked by noisy numbers: the fewer are shown, the wider their intervals, so that in"
    " an average answer no more than 5 in 100 of them miss"
)


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """Facts about a question that readers of its answer need.

    `unit` says in words whom one unit of protection is, `keys` which shown columns are keys,
    `clamped` which columns were held to which range, `remarks` what else was done.
    """

    unit: str
    by_row: bool
    keys: tuple[str, ...]
    clamped: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def facts_of(query: Query, missing: Sequence[str] | None = None) -> PublicFacts:
    """The facts of a query; nothing but the query and its schema is read.

    `missing` is what is `left_out` of it, where that is at hand.
    """
    parts = questions_in(query)
    picks_rows, keys = picks(query), None
    if query.then is not None:
        sources = sources_of(query.then, parts)
        picks_rows = bool(sources[""])
        keys = [name for name in query.then.columns if not sources[name]]
    said = left_out(query) if missing is None else missing
    return PublicFacts(
        _unit(query.tables),
        query.is_by_row,
        tuple(_shown_keys(query) if keys is None else keys),
        tuple(_clamped(query)),
        (*said, *([PICKED] if picks_rows else []), *_extremes(parts)),
    )


def _shown_keys(query: Query) -> list[str]:
    if not query.outputs:  # all keys and aggregates are shown as they are
        return [key.name for key in query.keys]
    keys = {*(key.name for key in query.keys), *groupings(query)}
    return [out.name for out in query.outputs if mentions(out.expression) <= keys]


def _unit(tables: Sequence[Table]) -> str:
    if isinstance(tables[0].unit, EachRow):
        names = " or ".join(table.name for table in tables)
        return f"one row of {names}, and nobody's other rows"
    if isinstance(tables[0].unit, PersonPeriod):
        return tables[0].unit.words(tables[0].name)
    owners = " and ".join(dict.fromkeys(_owner(table) for table in tables))
    return f"one person with all of their rows, as {owners} tells people apart"


def _owner(table: Table) -> str:
    match table.unit:
        case Person(column):
            return f"{table.name}.{column}"
        case KeyPath(column, target, key):
            return f"{table.name}.{column} by way of {target}.{key}"
        case PersonPeriod():
            return table.unit.words(table.name)
        case EachRow():
            return f"each row of {table.name}"


def _clamped(query: Query) -> list[str]:
    found = []
    for table, column in reads(query):
        of = table.columns[column]
        if of.range is not None:
            found.append(f"{table.name}.{column} to {range_words(of.range, of.kind)}")
    return found


def left_out(query: Query) -> list[str]:
    """Rows that do not count, told where the answer differs from the question for it."""
    parts = questions_in(query)
    said = (
        one
        for part in parts
        for one in (*_joined(part), *_counted_rows(part), *_held(part), *missing_rows(part))
    )
    return list(dict.fromkeys(said))


def _held(query: Query) -> list[str]:
    """That columns are held between bounds which the owner did not state."""
    held = list(clamped_columns(query.relation))
    used = {column for _, column in reads(query)} if held else set()
    return [
        f"{name} is held between {low} and {high}; intervals do not allow for what that cuts off"
        for name, low, high in held
        if name in used
    ]


def _counted_rows(query: Query) -> list[str]:
    """That counts and sums of one person's rows are held to the limits."""
    return [
        f"{name} counts at most {int(of.high):,} {'row' if of.high == 1 else 'rows'} of one person,"
        " as the limits state"
        if type(of) is Range
        else f"{name} of one person is held to {range_words(of, Kind.REAL)}, as the limits state"
        for name, of in held_counts(query).items()
    ]


def _joined(query: Query) -> list[str]:
    """That joins keep a public number of rows a person, where the question has one."""
    nodes, _ = nodes_of(query.relation)
    joins = [node for node in nodes if isinstance(node, JoinPerson | MatchPerson)]
    caps = [cap for node in joins for cap in join_caps(node) if cap]
    if not caps:
        return []
    return [
        f"Of a person with more than {min(caps):,} rows, so many enter a join, chosen at random"
    ]


def _extremes(parts: Sequence[Query]) -> list[str]:
    return [
        f"{a.name} is the {float(100 * level_of(a)):g} % quantile: the one person at the very "
        f"{'bottom' if a.measure is AggregateFunction.MIN else 'top'} cannot be shown"
        for one in parts
        for a in one.aggregates
        if a.measure in {AggregateFunction.MIN, AggregateFunction.MAX}
    ]


# --- rows that noise picks ------------------------------------------------------------------------


def picks(query: Query) -> bool:
    """Whether which rows are shown depends on noise."""
    deciding = picking(query)
    return bool(deciding and behind(query, deciding))


def picking(query: Query) -> list[Expression]:
    """The expressions that decide which rows are shown."""
    having = [] if query.having is None else [query.having]
    cut = query.limit is not None or query.offset > 0
    return having + ([order.expression for order in query.order] if cut else [])


# --- values held between two constants, in a form that is recognised again ------------------------


def clamp(value: Expression, kind: Kind, low: Value, high: Value) -> Expression:
    """A value moved to the nearest of two ends; NULL stays NULL.

    Why: LEAST and GREATEST pass over NULL, which would become the lower end.
    """
    held = Call(Function.GREATEST, (value, Literal(low, kind)))
    held = Call(Function.LEAST, (held, Literal(high, kind)))
    return Case(((Call(Function.IS_NULL, (value,)), Literal(None, kind)),), held)


def clamped_columns(relation: Relation) -> Iterator[tuple[str, Value, Value]]:
    """The stored columns that `clamp` holds between ends, and the ends."""
    nodes, _ = nodes_of(relation)
    for node in nodes:
        if isinstance(node, Project) and isinstance(node.input, Scan):
            for one in node.columns:
                match one.expression:
                    case Case(
                        (_,),
                        Call(
                            Function.LEAST,
                            (
                                Call(Function.GREATEST, (Column(name), Literal(low))),
                                Literal(high),
                            ),
                        ),
                    ) if name == one.name:
                        yield name, low, high
