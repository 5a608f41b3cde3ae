"""Well-typed questions grown by a chooser, over the poison of `growth` and who it belongs to.

Relations keep the names and kinds of the columns of `growth`, whatever is built, so that its
expressions fit anywhere.
"""

from fractions import Fraction

import pyarrow as pa

from discreet.errors import InputError
from discreet.plan.expressions import Call, Cast, Column, Function, IsIn, Literal
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.query import Aggregate, AggregateFunction, Query, of_possible_groups
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    Keep,
    MatchPerson,
    MatchPublic,
    Named,
    PerPerson,
    PersonWindow,
    Project,
    Scan,
    Union,
    columns_of,
)
from discreet.plan.schema import PERSON, EachRow, Limits, Person, PublicTable, Schema, Table
from discreet.plan.summaries import (
    PersonAggregate,
    RowOrder,
    Summary,
    WindowColumn,
    WindowFunction,
)
from discreet.plan.typing import infer
from reference.growth import COLUMNS, Seeded, grow, stored_values
from reference.interpreter import read

ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}
OWNED = {"who": Type(Kind.INTEGER), **COLUMNS}
POISON = Table("poison", OWNED, Person("who"), Limits(40, 40))
SINGLE = Table("single", OWNED, EachRow())
LABELS = PublicTable(
    "labels",
    {
        "code": Type(Kind.INTEGER, nullable=False),
        "name": Type(Kind.TEXT, keys=("x", "y", None)),
        "size": Type(Kind.REAL, range=Range(0, 9)),
    },
    ("code",),
)
SCHEMA = Schema({"poison": POISON, "single": SINGLE, "labels": LABELS})
CODES = [(0, "x", 1.5), (1, "y", None), (2, None, 99.0), (7, "x", 0.0), (2**63 - 1, "y", 9.0)]
EVERYTHING = tuple(Named(name, Column(name)) for name in OWNED)


def stored_rows(count, seed):
    """Poison with owners: a few people, one of them with most rows, and rows of nobody."""
    choose = Seeded(seed)
    columns = {name: stored_values(name, count, f"{seed} {name}") for name in COLUMNS}
    owners = [choose.one([1, 1, 1, 1, 2, 3, 4, None]) for _ in range(count)]
    return {"who": owners, **columns}


def arrow(columns):
    """Stored columns as an engine takes them."""
    return pa.table({name: pa.array(columns[name], ARROW[of.kind]) for name, of in OWNED.items()})


def labels():
    """The public table as an engine takes it."""
    names, kinds = list(LABELS.columns), [pa.int64(), pa.string(), pa.float64()]
    parts = zip(names, kinds, zip(*CODES, strict=True), strict=True)
    return pa.table({name: pa.array(values, kind) for name, kind, values in parts})


def clean(columns):
    """The same as rows of clean values, for the reference: of people, of nobody, public."""
    rows = [
        {name: read(value, OWNED[name]) for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]
    owned = [{PERSON: row["who"], **row} for row in rows if row["who"] is not None]
    public = [
        {name: read(v, LABELS.columns[name]) for name, v in zip(LABELS.columns, row, strict=True)}
        for row in CODES
    ]
    single = [{PERSON: at, **row} for at, row in enumerate(rows)]
    return {"poison": owned, "single": single, "labels": public}


# --- relations ------------------------------------------------------------------------------------


def grow_relation(choose, depth, table=POISON):
    """Rows with the columns of `growth`."""
    if depth == 0:
        return Scan(table)
    below = grow_relation(choose, depth - 1, table)
    makers = [filtered, filtered, projected, labelled]
    if table is POISON:
        makers += [united, joined, matched, windowed, beside]
    makers.append(listed)
    return choose.one(makers)(choose, below)


def filtered(choose, below):
    return FilterRows(below, grow(choose, Kind.BOOLEAN, 2))


def projected(choose, below):
    """One column becomes an expression of its kind."""
    name = choose.one(sorted(COLUMNS))
    kind, scope = COLUMNS[name].kind, columns_of(below)
    expression = grow(choose, kind, 2)
    if infer(expression, scope).kind is not kind:
        expression = Cast(expression, kind)
    return Project(below, replaced({name: expression}))


def replaced(expressions):
    return tuple(Named(name, expressions.get(name, Column(name))) for name in OWNED)


def labelled(choose, below):
    """Beside a public table: its columns take the place of two of ours."""
    keep = choose.one(list(Keep))
    shown = (("label name", "name"), ("label size", "size"))
    on = grow(choose, Kind.INTEGER, 1)
    if infer(on, columns_of(below)).kind is not Kind.INTEGER:
        on = Cast(on, Kind.INTEGER)
    wide = JoinPublic(below, LABELS, (on,), keep, shown)
    return Project(wide, replaced({"t": Column("label name"), "p": Column("label size")}))


def united(choose, below):
    return Union(below, choose.one([Scan(POISON), filtered(choose, Scan(POISON)), below]))


def joined(choose, below):
    """Beside one row a person: its summaries take the place of some of ours."""
    where = choose.one([None, grow(choose, Kind.BOOLEAN, 1)])
    adding, value = choose.one([Summary.SUM, Summary.MEAN]), choose.one(["p", "q", "n"])
    counted = choose.one([Summary.COUNT, Summary.COUNT_DISTINCT])
    extreme = choose.one([Summary.MIN, Summary.MAX, Summary.FIRST])
    spread = choose.one([Summary.MEDIAN, Summary.VARIANCE, Summary.VARIANCE_POP])
    level = choose.one([None, Fraction(1, 4), Fraction(9, 10)])
    level = level if spread is Summary.MEDIAN else None
    by = (row_order(choose),) if extreme is Summary.FIRST else ()
    people = PerPerson(
        choose.one([Scan(POISON), filtered(choose, Scan(POISON))]),
        (Named("their key", choose.one([Column("b"), Column("k")])),) * choose.one([0, 1]),
        (
            PersonAggregate("their count", counted, Column(choose.one(sorted(COLUMNS))), where),
            PersonAggregate("their rows", Summary.COUNT),
            PersonAggregate("their sum", adding, Column(value), where),
            PersonAggregate("their date", extreme, Column(choose.one(["d", "e"])), where, by),
            PersonAggregate(
                "their spread", spread, Column(choose.one(["p", "q"])), where, (), level
            ),
        ),
    )
    wide = JoinPerson(below, people, (), choose.one(list(Keep)))
    total = Cast(Column("their sum"), Kind.REAL) if value != "p" else Column("their sum")
    if infer(Column("their sum"), columns_of(wide)).kind is Kind.REAL:
        total = Column("their sum")
    most = Call(Function.LEAST, (Column("their rows"), Literal(9, Kind.INTEGER)))
    here = {"n": Column("their count"), "q": most, "x": total, "d": Column("their date")}
    return Project(wide, replaced({**here, choose.one(["r", "p"]): Column("their spread")}))


def row_order(choose):
    name = choose.one(["x", "p", "n", "q", "b", "t", "d", "s"])
    return RowOrder(Column(name), choose.one([False, True]), choose.one([False, True]))


def others(choose):
    """Rows of the same people under other names."""
    rows = choose.one([Scan(POISON), filtered(choose, Scan(POISON))])
    return Project(rows, tuple(Named(f"other {name}", Column(name)) for name in OWNED))


def met(choose):
    """Equal values and a condition, under which rows meet."""
    name = choose.one(["b", "k", "q", "x", "t"])
    on = ((Column(name), Column(f"other {name}")),) * choose.one([0, 1])
    later = Call(Function.LESS, (Column(choose.one(["q", "n"])), Column("other q")))
    return on, choose.one([None, later])


def matched(choose, below):
    """Whether the same person has another row."""
    on, condition = met(choose)
    wide = MatchPerson(below, others(choose), on, "met", condition)
    mark = Call(Function.AND, (Column("met"), Column("b")))
    kept = Call(Function.NOT, (Column("met"),))
    return choose.one(
        [Project(wide, replaced({"b": mark})), Project(FilterRows(wide, kept), EVERYTHING)]
    )


def beside(choose, below):
    """Beside two other rows of the same person, under a condition; so nobody has too many."""
    on, condition = met(choose)
    turn = WindowColumn("turn", WindowFunction.ROW_NUMBER, order=(RowOrder(Column("other q")),))
    few = Call(Function.LESS, (Column("turn"), Literal(3, Kind.INTEGER)))
    two = FilterRows(PersonWindow(others(choose), (turn,)), few)
    wide = JoinPerson(below, two, on, choose.one(list(Keep)), condition)
    return Project(wide, replaced({"p": Column("other p"), "k": Column("other k")}))


def listed(choose, below):
    """Whether a public table holds a value."""
    on = choose.one([((Column("q"), "code"),), ((Column("k"), "name"),), ()])
    large = Call(Function.LESS, (Column("size"), Literal(2, Kind.INTEGER)))
    wide = MatchPublic(below, LABELS, on, "met", choose.one([None, large]))
    return Project(wide, replaced({"b": Column("met")}))


def windowed(choose, below):
    """Values of the rows of the same person before, after and around each."""
    order = tuple(row_order(choose) for _ in range(choose.one([1, 1, 2])))
    part = choose.one([(), (), (Column("b"),)])
    where = choose.one([None, grow(choose, Kind.BOOLEAN, 1)])
    frame = choose.one([None, (None, None), (-2, 0), (-1, 1), (None, -1), (1, None)])
    numbered = choose.one([f for f in WindowFunction if f.value.endswith(("rank", "number"))])
    moved = choose.one([WindowFunction.LAG, WindowFunction.LEAD, WindowFunction.FIRST_VALUE])
    bounded = columns_of(below)["p"].range is not None
    added = choose.one([Summary.SUM, Summary.MEAN] if bounded else [Summary.MIN])
    other = choose.one([Summary.MIN, Summary.MAX])
    last = WindowFunction.LAST_VALUE if frame else WindowFunction.FIRST_VALUE
    default = choose.one([None, Literal(7, Kind.INTEGER)])
    default = None if moved is WindowFunction.FIRST_VALUE else default
    columns = (
        WindowColumn("w n", numbered, None, part, order),
        WindowColumn("w q", moved, Column("q"), part, order, None, choose.one([0, 1, 2]), default),
        WindowColumn("w x", added, Column("p"), part, order, where, frame=frame),
        WindowColumn("w d", other, Column("d"), part, order, where, frame=frame),
        WindowColumn("w k", last, Column("k"), part, order, frame=frame),
        WindowColumn("w m", Summary.COUNT, None, part, order, where, frame=frame),
    )
    wide = PersonWindow(below, columns)
    here = {name: Column(f"w {name}") for name in ("n", "q", "x", "d", "k", "m")}
    return Project(wide, replaced(here))


# --- questions ------------------------------------------------------------------------------------

KEYS = [
    Column("b"),
    Column("k"),
    Call(Function.MONTH, (Column("e"),)),
    Call(Function.SIGN, (Column("x"),)),
    Call(Function.MODULO, (Column("n"), Literal(3, Kind.INTEGER))),
    Call(Function.IS_NULL, (Column("d"),)),
]
ALONE = [AggregateFunction.COUNT, AggregateFunction.COUNT_PEOPLE]
NUMBERS = [
    AggregateFunction.SUM,
    AggregateFunction.MEAN,
    AggregateFunction.VARIANCE,
    AggregateFunction.QUANTILE,
    AggregateFunction.MAX,
]
PAIRS = [AggregateFunction.COVARIANCE, AggregateFunction.CORRELATION]


def grow_query(choose, table=POISON):
    """A question with one to three aggregates of zero to two keys."""
    relation = grow_relation(choose, choose.one([0, 1, 2, 3]), table)
    keys = list(dict.fromkeys(choose.one(KEYS) for _ in range(choose.one([0, 1, 2]))))
    named = tuple(Named(f"key {i}", key) for i, key in enumerate(keys))
    aggregates = []
    while len(aggregates) < choose.one([1, 2, 3]):
        aggregate = grow_aggregate(choose, f"a{len(aggregates)}")
        try:
            Query(relation, named, (aggregate,))
        except InputError:  # no bounds
            continue
        aggregates.append(aggregate)
    return of_possible_groups(Query(picked(choose, relation, keys), named, tuple(aggregates)))


def picked(choose, relation, keys):
    """Sometimes the rows of some values of a key alone: then other values are no groups."""
    of = infer(keys[0], columns_of(relation)) if keys and choose.one([True, False]) else None
    if of is None or not of.keys or of.keys == (None,):
        return relation
    value = Literal(choose.one([key for key in of.keys if key is not None]), of.kind)
    equal = Call(Function.EQUAL, (keys[0], value))
    condition = choose.one([equal, Call(Function.NOT, (equal,)), IsIn(keys[0], (value,))])
    return FilterRows(relation, condition)


def grow_aggregate(choose, name):
    where = choose.one([None, None, grow(choose, Kind.BOOLEAN, 1)])
    measure = choose.one([*ALONE, AggregateFunction.COUNT_DISTINCT, *NUMBERS, *NUMBERS, *PAIRS])
    if measure in ALONE:
        return Aggregate(name, measure, (), where)
    if measure is AggregateFunction.COUNT_DISTINCT:
        return Aggregate(name, measure, (Column(choose.one(["b", "t", "k", "q", "d"])),), where)
    arguments = tuple(number(choose) for _ in range(2 if measure in PAIRS else 1))
    return Aggregate(name, measure, arguments, where, level=level(choose, measure))


def level(choose, measure):
    levels = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)]
    return choose.one(levels) if measure is AggregateFunction.QUANTILE else None


def number(choose):
    """A number that probably has bounds."""
    tame = [Column("p"), Column("q"), Column("m"), Call(Function.ABS, (Column("p"),))]
    tame.append(Call(Function.MULTIPLY, (Column("p"), Column("q"))))
    return choose.one([*tame, *tame, Column("r"), grow(choose, Kind.REAL, 2)])
