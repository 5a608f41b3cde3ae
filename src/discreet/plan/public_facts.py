"""Public facts about a question: who is protected, what was clamped, which columns it reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from discreet.errors import InputError
from discreet.plan import relations as rel
from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Function,
    IsIn,
    Literal,
    all_mentioned,
    chain,
    conjuncts,
    mentions,
    nested,
)
from discreet.plan.expressions import Truncate as Truncated
from discreet.plan.keylists import few
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.query import (
    EXTREMES,
    Aggregate,
    AggregateFunction,
    Query,
    level_of,
    measured_in,
    questions_in,
)
from discreet.plan.released_tables import RegroupedTable, sources_of
from discreet.plan.row_counts import held_counts
from discreet.plan.schema import EachRow, KeyPath, Person, PersonPeriod, Table, counted, range_words
from discreet.plan.statistics import behind
from discreet.plan.typing import infer

PICKED = (
    "Noisy numbers decide which rows are shown: intervals are widened for that, the more the fewer"
    " are shown, so that 95 % of those shown hold on average"
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
    keys = {*(key.name for key in query.keys), *query.groupings}
    return [out.name for out in query.outputs if mentions(out.expression) <= keys]


def _unit(tables: Sequence[Table]) -> str:
    if isinstance(tables[0].unit, EachRow):
        names = " or ".join(table.name for table in tables)
        return f"one row of {names}, not all rows of a person"
    if isinstance(tables[0].unit, PersonPeriod):
        return tables[0].unit.words(tables[0].name)
    owners = " and ".join(dict.fromkeys(_owner(table) for table in tables))
    return f"one person, with all of their rows (identified by {owners})"


def _owner(table: Table) -> str:
    match table.unit:
        case Person(column):
            return f"{table.name}.{column}"
        case KeyPath(column, target, key):
            return f"{table.name}.{column} through {target}.{key}"
        case PersonPeriod():
            return table.unit.words(table.name)
        case EachRow():
            return f"each row of {table.name}"


def _clamped(query: Query) -> list[str]:
    return [
        f"{table.name}.{column} to {range_words(of.range, of.kind)}"
        for table, column in reads(query)
        if (of := table.columns[column]).range is not None
    ]


def left_out(query: Query) -> list[str]:
    """Notes where the answer differs from the question, as other dialects or all rows have it."""
    parts = questions_in(query)
    said = (
        one for part in parts for one in (*_join_caps(part), *_counted_rows(part), *_held(part))
    )
    missing = (one for part in parts for one in missing_rows(part, totals=query.then is not None))
    return list(dict.fromkeys([*said, *missing, *_empty_groups(query), *_weekdays(parts)]))


_OF_GROUPS = {AggregateFunction.COUNT, AggregateFunction.MEAN, AggregateFunction.MIN}


def _empty_groups(query: Query) -> list[str]:
    """Notes that groups are counted or averaged and public ones count whether they have rows."""
    tables = [] if query.then is None else query.then.nodes()
    regrouped = [one.aggregates for one in tables if isinstance(one, RegroupedTable)]
    if not any(a.measure in _OF_GROUPS for aggregates in regrouped for a in aggregates):
        return []
    return [
        f"All {one.group_count:,} groups of {' and '.join(key.name for key in one.keys)} count, "
        "also empty ones"
        + "; NULL is one of them"
        * any(None in (of.keys or ()) for of in one.key_types)
        for one in questions_in(query)
        if one.keys and one.has_known_keys
    ]


def _held(query: Query) -> list[str]:
    """Notes on columns clamped to bounds which the owner did not state."""
    held = list(clamped_columns(query.relation))
    used = {column for _, column in reads(query)} if held else set()
    return [
        f"{name} is clamped to {low} .. {high}; intervals do not include the effect of that"
        for name, low, high in held
        if name in used
    ]


def _counted_rows(query: Query) -> list[str]:
    """Notes on counts and sums of one person's rows that the limits clamp."""
    if all(one.measure.is_count for one in query.aggregates):
        return []
    return [
        f"{name} counts at most {counted(int(of.high), 'row')} per person (the stated limits)"
        if type(of) is Range
        else f"{name} of one person is clamped to {range_words(of, Kind.REAL)} (the stated limits)"
        for name, of in held_counts(query).items()
    ]


def _join_caps(query: Query) -> list[str]:
    """A note that joins keep a public number of rows a person, for questions with joins."""
    nodes, _ = rel.nodes_of(query.relation)
    joins = [node for node in nodes if isinstance(node, rel.JoinPerson | rel.MatchPerson)]
    caps = [cap for node in joins for cap in rel.join_caps(node) if cap]
    if not caps:
        return []
    return [f"At most {min(caps):,} rows of a person enter a join, chosen at random"]


def _extremes(parts: Sequence[Query]) -> list[str]:
    return [
        (
            f"{a.name} aims a few rows from the end"
            if a.from_end
            else f"{a.name} is the {float(100 * level_of(a)):g} % quantile"
        )
        + ": the very "
        f"{'lowest' if a.measure is AggregateFunction.MIN else 'highest'} value may be one "
        "person's, and cannot be shown"
        for one in parts
        for a in one.aggregates
        if a.measure in EXTREMES
    ]


def _weekdays(parts: Sequence[Query]) -> list[str]:
    """A note on the numbers of weekdays, which some dialects count from 1."""
    nodes = (node for one in parts for node in rel.nodes_of(one.relation)[0])
    found = [e for node in nodes for e in rel.expressions_of(node)]
    found += [e for one in parts for e in measured_in(one)]
    found += [key.expression for one in parts for key in one.keys]
    for part in (part for one in found for part in nested(one)):
        match part:
            case Call(Function.MODULO, (Call(Function.WEEKDAY), Literal(7))):
                return ["Weekdays are numbered from Sunday, which is 0, to Saturday, which is 6"]
    return []


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


def clamped_columns(relation: rel.Relation) -> Iterator[tuple[str, Value, Value]]:
    """The stored columns that `clamp` holds between ends, and the ends."""
    nodes, _ = rel.nodes_of(relation)
    for node in nodes:
        if isinstance(node, rel.Project) and isinstance(node.input, rel.Scan):
            for one in node.columns:
                match one.expression:
                    case Case(
                        (_,),
                        Call(
                            Function.LEAST,
                            (Call(Function.GREATEST, (Column(name), Literal(low))), Literal(high)),
                        ),
                    ) if name == one.name:
                        yield name, low, high


# --- rows that are in no group of an answer, and the question that counts them --------------------

MOST = 5000
"""Groups that are written into a question about what is outside of them."""

OUTSIDE = "outside"
"""The column with the number of people."""


def missing_rows(query: Query, *, totals: bool = False) -> list[str]:
    """Rows that public facts leave in no group: NULL keys, or unlisted ones.

    Where more is computed from the groups, `totals` of them are without these rows too.
    """
    said = [f"{name} is {words}" for name, words in incomplete_keys(query).items()]
    none = "no group, nor in shares and totals of groups" if totals else "no group"
    return [f"Rows where {', or '.join(said)} are in {none}"] if said else []


def incomplete_keys(query: Query) -> dict[str, str]:
    """The public keys whose lists rows may be outside of, and what such rows have instead.

    A condition `key IN (...)` or `key = ...` that names listed values alone leaves no row outside.
    """
    scope, found = rel.columns_of(query.relation), dict[str, str]()
    for key, of in zip(query.keys, query.key_types, strict=True):
        if of.keys is None or _is_filtered(query.relation, key.expression, of.keys):
            continue
        null = of.nullable and None not in of.keys
        other = is_declared(key.expression, scope)
        declared = infer(key.expression, scope).keys or of.keys
        words = ["NULL"] * null + [f"none of its {len(declared):,} keys"] * other
        found |= {key.name: " or ".join(words)} if words else {}
    return found


def _is_filtered(relation: rel.Relation, key: Expression, keys: Sequence[Value]) -> bool:
    """Whether the conditions on all rows let a key be one of the listed values alone."""
    while isinstance(relation, rel.FilterRows):
        for one in conjuncts(relation.predicate):
            match one:
                case IsIn(operand, values) if operand == key:
                    return {literal.value for literal in values} <= {*keys}
                case Call(Function.EQUAL, (operand, Literal(value))) if operand == key:
                    return value in keys
        relation = relation.input
    return False


def is_declared(expression: Expression, scope: Mapping[str, Type]) -> bool:
    """Whether the keys of an expression are a declared list, which may not contain all rows.

    Truth values, bounded numbers and the texts of a CASE are all listed, for any row.
    """
    match expression:
        case Column(name):
            of = scope[name]
            every = few(of.range, of.kind, nullable=False)
            complete = every is not None and {*every} <= {*(of.keys or ())}
            return of.keys is not None and of.kind is not Kind.BOOLEAN and not complete
        case Case(branches, otherwise):
            return any(is_declared(one, scope) for one in (*(v for _, v in branches), otherwise))
        case Call(_, arguments):
            boolean = infer(expression, scope).kind is Kind.BOOLEAN
            return not boolean and any(is_declared(one, scope) for one in arguments)
        case Cast(operand, _) | Truncated(operand, _):
            return is_declared(operand, scope)
    return False


def count_outside(query: Query, found: Sequence[Sequence[Value]] | None = None) -> Query:
    """The question of how many people have a row in none of the groups; of rows, where each counts.

    `found` are the groups of an earlier answer, for questions whose groups are not public.
    """
    types = query.key_types
    if not types or query.also:
        raise InputError(
            "rows outside the groups of a question that has none, or several answers",
            why="all rows are in the one group, or each answer has groups of its own",
            fix="ask about one question with GROUP BY",
        )
    keys = [key.expression for key in query.keys]
    if all(of.keys is not None for of in types):
        lists = [of.keys or () for of in types]
        inside = [_among(*one) for one in zip(keys, lists, types, strict=True)]
        condition = chain(Function.AND, inside)
    elif found is None:
        raise InputError(
            "the groups of this question are not public",
            why="people outside are those in none of the groups that an answer told",
            fix="ask the question first, and pass its answer as shown=answer",
        )
    else:
        _check_few(len(found))
        rows = [
            [_among(*one) for one in zip(keys, [(value,) for value in row], types, strict=True)]
            for row in found
        ]
        each = [chain(Function.AND, row) for row in rows]
        condition = chain(Function.OR, each or [_FALSE])
    outside = rel.FilterRows(query.relation, Call(Function.NOT, (condition,)))
    by_row = query.is_by_row
    measure = AggregateFunction.COUNT if by_row else AggregateFunction.COUNT_PEOPLE
    return Query(outside, (), (Aggregate(OUTSIDE, measure),), limits=query.limits)


_FALSE = Literal(value=False, kind=Kind.BOOLEAN)


def _among(key: Expression, values: Sequence[Value], of: Type) -> Expression:
    """Whether a key is one of some values, NULL among them or not: never NULL itself."""
    _check_few(len(values))
    real = of.kind is Kind.REAL
    plain = (float(v) if real and isinstance(v, int) else v for v in values if v is not None)
    known = tuple(Literal(v, of.kind) for v in plain)
    parts: list[Expression] = []
    if known:
        parts.append(Call(Function.COALESCE, (IsIn(key, known), _FALSE)))
    if None in values:
        parts.append(Call(Function.IS_NULL, (key,)))
    return chain(Function.OR, parts)


def _check_few(count: int) -> None:
    if count > MOST:
        raise InputError(
            f"{count:,} groups are named to ask about people outside of them",
            why=f"a question names {MOST:,} at most",
            fix="group by a coarser key",
        )


Read: TypeAlias = tuple[Table, str]
"""A private table and one of its columns."""


def reads(query: Query) -> list[Read]:
    """The columns of private tables that a query reads, each once, in order of the tables.

    Example:
        >>> from discreet.plan.builder import From
        >>> from discreet.plan.expression_builder import mean
        >>> from discreet.plan.kinds import Kind, Range, Type
        >>> from discreet.plan.relations import Scan
        >>> from discreet.plan.schema import Person
        >>> number = Type(Kind.INTEGER, range=Range(0, 120))
        >>> visits = Table("visits", {"who": Type(Kind.TEXT), "age": number}, Person("who"))
        >>> [column for _, column in reads(From(Scan(visits)).agg(m=mean("age")).query())]
        ['age']
    """
    found = (
        read
        for one in questions_in(query)
        for read in _reads(one, {id(node): set() for node in rel.nodes_of(one.relation)[0]})
    )
    return list({(table.name, name): (table, name) for table, name in found}.values())


def fetched(query: Query) -> list[Read]:
    """The same, with the columns by which rows are hashed or ordered: all of them."""
    order, _ = rel.nodes_of(query.relation)
    kinds = rel.JoinPerson | rel.MatchPerson | rel.PersonWindow
    joins = {id(node) for node in order if isinstance(node, kinds)}
    return _reads(
        query, {id(node): set(rel.columns_of(node) if id(node) in joins else ()) for node in order}
    )


def _reads(query: Query, wanted: dict[int, set[str]]) -> list[Read]:
    """The stored columns behind requested columns; each relation is looked at once."""
    order, _ = rel.nodes_of(query.relation)
    names = wanted[id(query.relation)]
    names |= all_mentioned([*(key.expression for key in query.keys), *measured_in(query)])
    for node in reversed(order):  # whoever reads a relation comes before it
        for below, some in _wants(node, wanted[id(node)]):
            wanted[id(below)] |= some
    scans = [node for node in order if isinstance(node, rel.Scan)]
    found = {
        (scan.table.name, name): (scan.table, name)
        for scan in scans
        for name in scan.table.columns
        if name in wanted[id(scan)]
    }
    return list(found.values())


def _wants(relation: rel.Relation, names: set[str]) -> list[tuple[rel.Relation, set[str]]]:
    """The columns that a relation reads of each input to compute these columns."""
    match relation:
        case rel.Scan():
            return []
        case rel.FilterRows(below, predicate):
            return [(below, names | mentions(predicate))]
        case rel.Project(below, columns):
            return [(below, all_mentioned(c.expression for c in columns if c.name in names))]
        case rel.JoinPublic(below, _, on, _, _):
            return [(below, names | all_mentioned(on))]
        case rel.JoinPerson(left, right, on, _, condition) | rel.MatchPerson(
            left, right, on, _, condition
        ):
            names = names if condition is None else names | mentions(condition)
            here = names | all_mentioned(pair[0] for pair in on)
            return [(left, here), (right, names | all_mentioned(pair[1] for pair in on))]
        case rel.MatchPublic(below, _, on):
            return [(below, names | all_mentioned(here for here, _ in on))]
        case rel.PersonWindow(below, columns):
            read = [one for column in columns if column.name in names for one in column.reads]
            return [(below, names | all_mentioned(read))]
        case rel.PerPerson(below, keys, aggregates):
            read = [one for a in aggregates if a.name in names for one in a.reads]
            return [(below, all_mentioned([*(key.expression for key in keys), *read]))]
        case rel.Union(left, right):
            places = [i for i, name in enumerate(rel.columns_of(left)) if name in names]
            across = list(rel.columns_of(right))
            return [(left, names), (right, {across[i] for i in places})]
        case _:
            assert_never(relation)
