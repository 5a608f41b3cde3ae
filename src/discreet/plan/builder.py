"""Questions in Python: the fluent way to the same plan that SQL leads to.

>>> from discreet.plan.expression_builder import col, count
>>> from discreet.plan.kinds import Kind, Type
>>> from discreet.plan.relations import Scan
>>> from discreet.plan.schema import Person, Table
>>> visits = Table("visits", {"id": Type(Kind.TEXT), "age": Type(Kind.INTEGER)}, Person("id"))
>>> adults = From(Scan(visits)).where(col("age") >= 18).agg(n=count())
>>> adults.query().aggregates[0].measure
<AggregateFunction.COUNT: 'count'>
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.errors import InputError
from discreet.plan import expressions as ex
from discreet.plan import relations as rel
from discreet.plan.expression_builder import (
    AGGREGATE_NAMES,
    HINTS,
    Agg,
    Expr,
    aggregate,
    aggregate_named,
    call,
    check_rows,
    col,
    condition_of,
    correlation,
    count,
    covariance,
    expression_of,
    flat,
    label,
    member,
    odd,
)
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import (
    AggregateFunction,
    Query,
    SortKey,
    level_name,
    of_possible_groups,
    summary_of,
)
from discreet.plan.row_counts import hold_counts, row_counts
from discreet.plan.schema import PublicTable
from discreet.plan.summaries import PersonAggregate, RowOrder, Summary, WindowColumn, WindowFunction
from discreet.plan.typing import check_listed, infer

if TYPE_CHECKING:
    from discreet.plan.answer_builder import Question

# --- one person's rows --------------------------------------------------------------------------

By: TypeAlias = "Expr | str | RowOrder"
_SQUARED = {AggregateFunction.STDDEV: AggregateFunction.VARIANCE}


def descending(of: Expr | str) -> RowOrder:
    """Sort in descending order."""
    return RowOrder(expression_of(of), descending=True)


def _orders(by: Iterable[By]) -> tuple[RowOrder, ...]:
    return tuple(one if isinstance(one, RowOrder) else RowOrder(expression_of(one)) for one in by)


def sort_keys(by: Iterable[Any], *, descending: bool | Sequence[bool]) -> tuple[SortKey, ...]:
    """The order of released rows: columns or lists of them, one direction or one for each."""
    orders = _orders(flat(by))
    each = [descending] * len(orders) if isinstance(descending, bool) else descending
    if len(each) != len(orders):
        raise odd("descending", descending, "True, False, or one of them for each column")
    pairs = zip(orders, each, strict=True)
    return tuple(SortKey(one.expression, one.descending or down) for one, down in pairs)


def first(of: Expr | str, *by: By) -> PersonAggregate:
    """The value of a person's first row in an order, for `per_person`."""
    return PersonAggregate("", Summary.FIRST, expression_of(of), by=_orders(by))


def row_number(*by: By) -> WindowColumn:
    """The position of a row among its owner's rows, from 1, for `with_windows`."""
    return WindowColumn("", WindowFunction.ROW_NUMBER, order=_orders(by))


def lag(of: Expr | str, *by: By, offset: int = 1) -> WindowColumn:
    """The value of the same person's row that many rows before, or after if it is negative."""
    function = WindowFunction.LAG if offset >= 0 else WindowFunction.LEAD
    return WindowColumn("", function, expression_of(of), order=_orders(by), offset=abs(offset))


def running(agg: "Agg", *by: By, rows: tuple[int | None, int | None] | None = None) -> WindowColumn:
    """An aggregate of the same person's rows up to each row, or of `rows` around it."""
    one = _summary("", agg)
    return WindowColumn(
        "", one.summary, one.argument, order=_orders(by), where=one.where, frame=rows
    )


def _summary(
    name: str, of: "Agg | PersonAggregate", rows: rel.Relation | None = None
) -> PersonAggregate:
    """A summary of a person's rows, under a name."""
    if isinstance(of, PersonAggregate):
        return replace(of, name=name)
    agg = aggregate(of)
    check_rows(agg, rows)
    made = agg.made
    measure = _SQUARED.get(made.measure, made.measure)
    found = summary_of(measure, sample=made.sample)
    if found is None:
        raise InputError(
            f"{made.measure.value} of each person's rows",
            why="it is made for groups of many people",
            fix="use count, total, mean, median, quantile, variance, minimum, maximum or first",
        )
    level = None if made.level == Fraction(1, 2) else made.level
    argument = made.arguments[0] if made.arguments else None
    return PersonAggregate(name, found, argument, made.where, level=level)


# --- questions ----------------------------------------------------------------------------------

MOST_SETS = 256
"""Grouping sets of one question."""

OTHER = "other."
"""Prefix of the columns of a second table, so that all names differ."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The curator's side of a question: answer it for a price, or explain it.

    `hold` makes a question that lacks bounds, if the curator knows of any; `read` reads SQL in
    which rows of a relation are the table `self`.
    """

    release: Callable[..., Any]
    explain: Callable[..., Any]
    hold: Callable[[rel.Relation, Callable[[rel.Relation], Query]], Query | None]
    read: Callable[[str, rel.Relation], Query]


_NAMES = {
    AggregateFunction.COUNT_PEOPLE: "people",
    AggregateFunction.COUNT_DISTINCT: "distinct",
    AggregateFunction.SUM: "total",
    AggregateFunction.MEAN: "mean",
}


def _of_columns(given: object) -> list[Any]:
    """Aggregates of columns, `{"age": ["mean", "max"]}`, as pairs; lists of aggregates as such."""
    if not isinstance(given, Mapping):
        return flat([given])
    return [(column, one) for column, functions in given.items() for one in flat([functions])]


def _name(agg: Agg) -> str:
    """The name of an aggregate: its own, or mean_age, or p90_age."""
    made = agg.made
    if made.name:
        return made.name
    function = _NAMES.get(made.measure, made.measure.value)
    stem = function if made.level is None else level_name(made.level)
    return "_".join([stem, *(one.name for one in made.arguments if isinstance(one, ex.Column))])


def _as_other(
    relation: rel.Relation, on: Iterable[str]
) -> tuple[rel.Relation, tuple[tuple[ex.Expression, ex.Expression], ...]]:
    """The rows under other names, and the pairs of columns that have to be equal."""
    renamed = (rel.Named(OTHER + name, ex.Column(name)) for name in rel.columns_of(relation))
    return rel.Project(relation, tuple(renamed)), tuple(
        (ex.Column(name), ex.Column(OTHER + name)) for name in on
    )


@dataclass(frozen=True, slots=True, eq=False)
class PickedColumns(Expr):
    """Columns of some rows, as in `table["age"]`: what aggregates of the rows are asked about."""

    table: "From | None" = None
    names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        table, made = self.table, aggregate_named(name)
        if table is not None and name == "value_counts":
            return partial(table.value_counts, *self.names)
        if table is not None and name == "agg":
            return lambda *made, **named: table.agg(
                dict.fromkeys(self.names, flat(made)),
                **{name: (self, one) for name, one in named.items()},
            )
        if table is None or made is None:
            return Expr.__getattr__(self, name)
        of = [self.names] if made in {correlation, covariance} else [[one] for one in self.names]
        return lambda *how, **named: table.agg(*(made(*one, *how, **named) for one in of))


@dataclass(frozen=True, slots=True, repr=False)
class From:
    """Private rows, on the way to a question; every step is a new one.

    `sets` are the grouping sets, as places in `keys`.
    """

    relation: rel.Relation
    keys: tuple[rel.Named, ...] = ()
    ask: Asker | None = None
    sets: tuple[tuple[int, ...], ...] = ((),)

    def where(self, *conditions: Expr, **equal: Value) -> "From":
        """Only rows for which all conditions are true; `sex="F"` is `col("sex") == "F"`."""
        rows = self
        for one in (*conditions, *(col(name) == value for name, value in equal.items())):
            condition_of(one, rows.relation)
            rows = replace(rows, relation=rel.FilterRows(rows.relation, rows._over(one)))
        return rows

    filter = where

    def __getitem__(self, of: Any) -> Any:
        """Only rows for which a condition is true; by name, columns: `table["age"].mean()`."""
        names = flat([of])
        if not names or not all(isinstance(one, str) for one in names):
            return self.where(of)
        for one in names:
            infer(ex.Column(one), rel.columns_of(self.relation))
        # Several are no expression: there is no column of that name.
        column, rows = ex.Column(", ".join(names)), self.relation
        return PickedColumns(column, rows=rows, table=self, names=tuple(names))

    def __iter__(self) -> Iterator[str]:
        return iter(rel.columns_of(self.relation))

    def __repr__(self) -> str:
        columns = ", ".join(rel.columns_of(self.relation))
        return f"<private rows with {columns}; aggregate them, as in .count()>"

    def __len__(self) -> int:
        raise TypeError("a table has no len(): its rows are private; call .count()")

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        """Any aggregate by itself: `.mean("age")` is `.agg(mean("age"))`."""
        if made := aggregate_named(name):
            return lambda *of, **how: self.agg(made(*of, **how))
        if not name.startswith("_") and name in rel.columns_of(self.relation):
            return self[name]
        known = "it has where, group_by, agg, count, sql, " + ", ".join(AGGREGATE_NAMES)
        raise AttributeError(f"a table has no {name}: {HINTS.get(name, known)}", name=name)

    def _over(self, of: Expr | str) -> ex.Expression:
        """An expression over these rows, once its literals are among the declared keys."""
        expression = expression_of(of, self.relation)
        check_listed(expression, rel.columns_of(self.relation))
        return expression

    def sql(self, text: str) -> "Question":
        """A question in SQL about these rows, which are the table `self`."""
        if self.keys:
            raise odd("a question in SQL", self, "the keys in its GROUP BY, to .sql of the rows")
        return self._asked_as(partial(asker_of(self.ask).read, text))

    def query(self, condition: str) -> "From":
        """Only rows for which a condition in SQL is true: `query("age > 30 AND sex = 'F'")`."""
        text, read = "SELECT COUNT(*) FROM self", asker_of(self.ask).read
        found = read(f"{text} WHERE ({condition})", self.relation)
        alone = replace(read(text, self.relation), relation=found.relation)  # no HAVING, UNION, ...
        if found != alone or not isinstance(found.relation, rel.FilterRows):
            raise InputError(
                "a text in SQL that is not one condition",
                why="this step only leaves rows out, and something else would be forgotten",
                fix='pass a condition, as in query("age > 30"), or a whole question to .sql',
            )
        return replace(self, relation=found.relation)

    def with_columns(self, *columns: Expr, **named: Expr | str) -> "From":
        """Further columns, or new meanings of old ones."""
        new = self._named(columns, named)
        kept = rel.columns_of(self.relation).keys() - {one.name for one in new}
        old = [rel.Named(n, ex.Column(n)) for n in rel.columns_of(self.relation) if n in kept]
        return replace(self, relation=rel.Project(self.relation, (*old, *new)))

    assign = with_columns

    def _named(
        self, columns: Iterable[Any], named: Mapping[str, Expr | str]
    ) -> tuple[rel.Named, ...]:
        """Columns and expressions under their names."""
        pairs = [*((label(one), one) for one in flat(columns)), *named.items()]
        return tuple(rel.Named(name, self._over(of)) for name, of in pairs)

    def per_person(self, *names: str, **summaries: Agg | PersonAggregate) -> "From":
        """One row a person (and a value of some columns), with summaries of that person's rows."""
        keys = tuple(rel.Named(name, ex.Column(name)) for name in names)
        others = {n: of for n, of in summaries.items() if not isinstance(of, PersonAggregate)}
        given = {name: aggregate(of) for name, of in others.items()}
        made = tuple(_summary(n, given.get(n, one), self.relation) for n, one in summaries.items())
        people = replace(self, relation=rel.PerPerson(self.relation, keys, made))
        squared = [name for name, agg in given.items() if agg.made.measure in _SQUARED]
        roots = {name: call(ex.Function.SQRT, col(name)) for name in squared}
        return people.with_columns(**roots) if roots else people

    def with_windows(self, **windows: WindowColumn) -> "From":
        """Further columns, of the same person's rows before, after and around each."""
        named = tuple(replace(column, name=name) for name, column in windows.items())
        return replace(self, relation=rel.PersonWindow(self.relation, named))

    def matching(
        self, other: "From", *on: str, where: Expr | None = None, some: bool = True
    ) -> "From":
        """Only rows whose owner has a row there (or none) that is equal in some columns.

        `where` is a condition on both rows; columns there are called `col("other.day")`.
        """
        there, pairs = _as_other(other.relation, on)
        condition = None if where is None else condition_of(where, self.relation)
        wide = rel.MatchPerson(self.relation, there, pairs, OTHER, condition)
        mark = ex.Column(OTHER) if some else ex.Call(ex.Function.NOT, (ex.Column(OTHER),))
        kept = tuple(rel.Named(name, ex.Column(name)) for name in rel.columns_of(self.relation))
        return replace(self, relation=rel.Project(rel.FilterRows(wide, mark), kept))

    def join(
        self,
        other: "From | PublicTable",
        *on: str,
        where: Expr | None = None,
        keep: rel.Keep | str = rel.Keep.MATCHED,
    ) -> "From":
        """Each row joined to the same person's rows there; their columns are called "other.day".

        Of a public table, `curator.schema.tables["cities"]`, the row whose key is equal to `on`.
        """
        if isinstance(other, PublicTable):
            taken = rel.columns_of(self.relation)
            names = tuple((OTHER + name if name in taken else name, name) for name in other.columns)
            if where is not None or len(on) != len(other.key):
                raise odd("a join", where or on, f"the columns here that equal {other.key} there")
            by = tuple(ex.Column(name) for name in on)
            joined = rel.JoinPublic(self.relation, other, by, member(rel.Keep, keep), names)
            return replace(self, relation=joined)
        there, pairs = _as_other(other.relation, on)
        condition = None if where is None else condition_of(where, self.relation)
        fields = (pairs, member(rel.Keep, keep), condition)
        return replace(self, relation=rel.join_person(self.relation, there, *fields))

    def union(self, other: "From") -> "From":
        """The rows of both, columns by position."""
        return replace(self, relation=rel.Union(self.relation, other.relation))

    def group_by(self, *columns: Any, **keys: Expr | str) -> "From":
        """One answer for each value of some columns or expressions."""
        return self._grouped(columns, keys, lambda places: [places])

    groupby = group_by

    def rollup(self, *columns: Any, **keys: Expr | str) -> "From":
        """Groups by all of some keys, by all but the last, and so on to a total."""
        return self._grouped(columns, keys, lambda at: [at[:n] for n in range(len(at), -1, -1)])

    def cube(self, *columns: Any, **keys: Expr | str) -> "From":
        """Groups by each combination of some keys, down to a total."""
        return self._grouped(
            columns,
            keys,
            lambda at: (c for n in range(len(at), -1, -1) for c in combinations(at, n)),
        )

    def _grouped(
        self,
        columns: Iterable[Any],
        keys: Mapping[str, Expr | str],
        sets: Callable[[tuple[int, ...]], Iterable[tuple[int, ...]]],
    ) -> "From":
        """Further keys; every earlier grouping set together with each of their own."""
        named = self._named(columns, keys)
        places = tuple(range(len(self.keys), len(self.keys) + len(named)))
        made = ((*old, *new) for old in self.sets for new in sets(places))
        both = tuple(islice(made, MOST_SETS + 1))
        if len(both) > MOST_SETS:
            raise InputError(
                f"more than {MOST_SETS} grouping sets",
                why="each is measured with noise of its own",
                fix="group by fewer keys",
            )
        return replace(self, keys=(*self.keys, *named), sets=both)

    def count(self, of: Expr | str | None = None) -> "Question":
        """How many rows there are, in each group or in all."""
        return self.agg(count(of))

    len = size = count

    def value_counts(self, *columns: str) -> "Question":
        """How many rows have each value, the most frequent first."""
        return self.group_by(*columns).count().order_by("count", descending=True)

    def mode(self, column: str) -> "Question":
        """The most frequent value of all rows, as `mode_column`; of groups, ask in SQL."""
        if self.keys:
            raise InputError(
                "the mode of each group",
                why="this step asks about all rows",
                fix='ask .sql("SELECT y, MODE(x) FROM self GROUP BY y") of the rows',
            )
        infer(ex.Column(column), rel.columns_of(self.relation))
        of, name = ('"' + text.replace('"', '""') + '"' for text in (column, f"mode_{column}"))
        return self.sql(f"SELECT MODE({of}) AS {name} FROM self")  # noqa: S608 - quoted

    def agg(self, *unnamed: Any, **named: Any) -> "Question":
        """Aggregates of each group, called mean_age unless named; a true condition counts 1."""
        listed = (one for given in unnamed for one in _of_columns(given))
        plain = [(_name(agg), agg) for agg in map(aggregate, listed)]
        pairs = [*plain, *((name, aggregate(agg)) for name, agg in named.items())]
        if len(dict(pairs)) < len(pairs):
            raise InputError(
                "two aggregates have the same name",
                why="each is a column of the answer",
                fix='name them: agg(low=quantile("age", 0.1), high=quantile("age", 0.9))',
            )
        aggregates = [self._numeric(agg).named(name, self.relation) for name, agg in pairs]
        if not aggregates and not self.keys:
            raise InputError(
                "a question that asks for nothing",
                why="it has no aggregates and no groups",
                fix="ask for something, such as n=count()",
            )

        def make(relation: rel.Relation) -> Query:
            counts, columns = row_counts(relation), rel.columns_of(relation)
            held = tuple(hold_counts(one, counts, columns) for one in aggregates)
            return Query(relation, self.keys, held, self.sets)

        return self._asked_as(make)

    def _asked_as(self, make: Callable[[rel.Relation], Query]) -> "Question":
        """A question about these rows, with bounds that the curator knows where it needs any."""
        from discreet.plan.answer_builder import Question  # noqa: PLC0415 - it builds on this

        try:
            plan = make(self.relation)
        except InputError:
            held = None if self.ask is None else self.ask.hold(self.relation, make)
            if held is None:
                raise
            plan = held
        return Question(of_possible_groups(plan), self.ask)

    def _numeric(self, agg: Agg) -> Agg:
        """An aggregate over these rows; conditions count 1 where they are true."""
        for part in agg.reads:
            self._over(Expr(part, rows=agg.rows))
        if agg.made.measure not in {AggregateFunction.SUM, AggregateFunction.MEAN}:
            return agg
        of = agg.made.arguments[0]
        true = infer(of, rel.columns_of(self.relation)).kind is Kind.BOOLEAN
        counted = replace(agg.made, arguments=(ex.Cast(of, Kind.INTEGER),))
        return replace(agg, made=counted) if true else agg


def asker_of(ask: Asker | None) -> Asker:
    """The curator that handed out a question's table."""
    if ask is None:
        raise InputError(
            "a question without a curator is asked",
            why="it was built from a plan alone",
            fix="start from curator.table(name)",
        )
    return ask
