"""Questions in Python: the fluent way to the same plan that SQL leads to.

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

from discreet.argument_names import AGGREGATES
from discreet.errors import InputError
from discreet.plan import expressions as ex
from discreet.plan import relations as rel
from discreet.plan.constants import literal, member, number, odd
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import (
    Aggregate,
    AggregateFunction,
    Query,
    SortKey,
    level_name,
    of_possible_groups,
    summary_of,
)
from discreet.plan.row_counts import hold_counts, row_counts
from discreet.plan.schema import PublicTable
from discreet.plan.summaries import (
    PersonAggregate,
    RowOrder,
    Summary,
    WindowColumn,
    WindowFunction,
)
from discreet.plan.typing import check_listed, infer
from discreet.rationals import Real, positive, rational

if TYPE_CHECKING:
    from discreet.plan.answer_builder import Question

Operand: TypeAlias = "Value | Expr"


def _binary(function: ex.Function) -> "Callable[[Expr, Operand], Expr]":
    return lambda self, other: _call(function, self, other)


def _reversed(function: ex.Function) -> "Callable[[Expr, Operand], Expr]":
    return lambda self, other: _call(function, other, self)


def _unary(function: ex.Function) -> "Callable[[Expr], Expr]":
    return lambda self: _call(function, self)


_OTHERWISE = {ex.Function.REPLACE, ex.Function.MICROSECOND}
"""Functions whose names mean something else in other tables."""

_FUNCTIONS = {one.name.lower(): one for one in ex.Function if one not in _OTHERWISE} | {
    **dict.fromkeys(("isna", "isnull"), ex.Function.IS_NULL),
    **dict.fromkeys(("fill_null", "fillna"), ex.Function.COALESCE),
    **dict.fromkeys(("len", "len_chars"), ex.Function.LENGTH),
    **dict.fromkeys(("strip", "strip_chars"), ex.Function.TRIM),
    **dict.fromkeys(("to_lowercase", "casefold"), ex.Function.LOWER),
    "to_uppercase": ex.Function.UPPER,
    "log": ex.Function.LN,
    "startswith": ex.Function.STARTS_WITH,
    "endswith": ex.Function.ENDS_WITH,
}
"""Methods of expressions."""


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A row expression with Python's operators; compare with ==, combine with &, | and ~.

    As in SQL, and unlike in Python, // and % cut off towards 0. The functions of the
    plan and aggregates are methods: `col("day").dt.year()`, `col("age").mean()`.
    `name` is what `alias` gave.
    """

    expression: ex.Expression
    name: str | None = None

    __add__ = _binary(ex.Function.ADD)
    __radd__ = _reversed(ex.Function.ADD)
    __sub__ = _binary(ex.Function.SUBTRACT)
    __rsub__ = _reversed(ex.Function.SUBTRACT)
    __mul__ = _binary(ex.Function.MULTIPLY)
    __rmul__ = _reversed(ex.Function.MULTIPLY)
    __truediv__ = _binary(ex.Function.DIVIDE)
    __rtruediv__ = _reversed(ex.Function.DIVIDE)
    __floordiv__ = _binary(ex.Function.QUOTIENT)
    __mod__ = _binary(ex.Function.MODULO)
    __neg__ = _unary(ex.Function.NEGATE)
    __abs__ = _unary(ex.Function.ABS)
    __eq__ = _binary(ex.Function.EQUAL)  # type: ignore[assignment]
    __ne__ = _binary(ex.Function.NOT_EQUAL)  # type: ignore[assignment]
    __lt__ = _binary(ex.Function.LESS)
    __le__ = _binary(ex.Function.LESS_EQUAL)
    __gt__ = _binary(ex.Function.GREATER)
    __ge__ = _binary(ex.Function.GREATER_EQUAL)
    __and__ = _binary(ex.Function.AND)
    __or__ = _binary(ex.Function.OR)
    __invert__ = _unary(ex.Function.NOT)
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise InputError(
            "an expression is used as a truth value",
            why="it has a value for each row and none of its own",
            fix="combine conditions with & and |, not with and, or or a chained comparison",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in {"dt", "str"}:
            return self
        if name in _FUNCTIONS:
            return partial(_call, _FUNCTIONS[name], self)
        if made := _aggregates(name):
            return partial(made, self)
        told = HINTS.get(name) or f"it has {', '.join(_FUNCTIONS)}"
        raise AttributeError(f"an expression has no {name}: {told}", name=name)

    def alias(self, name: str) -> "Expr":
        """The same under a name, for lists of columns and keys."""
        return replace(self, name=name)

    def is_not_null(self) -> "Expr":
        """Whether it is not NULL."""
        return ~_call(ex.Function.IS_NULL, self)

    notnull = notna = is_not_null

    def is_in(self, values: Iterable[Value]) -> "Expr":
        """Whether it is one of some values."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise odd("a list of values", values, 'a list, as in is_in(["Austin", "Haifa"])')
        return Expr(ex.IsIn(self.expression, tuple(literal(value) for value in values)))

    isin = is_in

    def between(self, low: Operand, high: Operand) -> "Expr":
        """Whether it lies between two values, both included."""
        return (self >= low) & (self <= high)

    is_between = between

    def like(self, pattern: str, escape: str | None = None) -> "Expr":
        """Whether a text matches a pattern with % and _."""
        if not isinstance(pattern, str):
            raise odd("a pattern", pattern, 'a text, as in like("A%")')
        return Expr(ex.Like(self.expression, pattern, escape))

    def clamp(self, low: Real, high: Real) -> "Expr":
        """A number, no lower than `low` and no higher than `high`; NULL counts as `low`."""
        if rational(low, "a bound") > rational(high, "a bound"):
            raise InputError(
                f"a clamp from {low} to {high}",
                why="its lower end is above its upper end",
                fix="swap the ends",
            )
        # LEAST passes over NULL, which would make NULL the upper bound.
        inner = ex.Call(ex.Function.LEAST, (self.expression, number(high)))
        is_null = ex.Call(ex.Function.IS_NULL, (self.expression,))
        kept = ex.Case(((is_null, number(low)),), inner)
        return Expr(ex.Call(ex.Function.GREATEST, (kept, number(low))))

    def cast(self, kind: Kind | str) -> "Expr":
        """Convert to another kind; NULL where there is no such value."""
        return Expr(ex.Cast(self.expression, member(Kind, kind)))

    def truncate(self, unit: ex.Unit | str) -> "Expr":
        """A date or timestamp down to the beginning of its year, month, ..."""
        return Expr(ex.Truncate(self.expression, member(ex.Unit, unit)))

    def bucket(self, low: Real, high: Real, count: int) -> "Expr":
        """The number, from 1, of the equal bin between `low` and `high`."""
        limits = (number(low), number(high), ex.Literal(count, Kind.INTEGER))
        return Expr(ex.Call(ex.Function.BUCKET, (self.expression, *limits)))


def col(name: str) -> Expr:
    """A column by its name."""
    return Expr(ex.Column(name))


def case(*branches: tuple[Expr, Operand], otherwise: Operand) -> Expr:
    """A value by conditions, as when and then elsewhere.

    Example:
        >>> age = case((col("age") < 30, "young"), otherwise="older").alias("age")
    """
    pairs = tuple((condition_of(one), _operand(value)) for one, value in branches)
    return Expr(ex.Case(pairs, _operand(otherwise)))


def _call(function: ex.Function, *arguments: object) -> Expr:
    return Expr(ex.Call(function, tuple(map(_operand, arguments))))


def _operand(value: object) -> ex.Expression:
    """An expression, or a constant."""
    return value.expression if isinstance(value, Expr) else literal(value)


def condition_of(value: object) -> ex.Expression:
    """The expression of a condition."""
    if isinstance(value, Expr):
        return value.expression
    raise odd(
        "a condition",
        value,
        'one on columns, as in col("age") >= 18; in SQL, .query("age >= 18")',
    )


# --- aggregates ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agg:
    """An aggregate; `name` is what `alias` gave."""

    measure: AggregateFunction
    arguments: tuple[ex.Expression, ...] = ()
    where: ex.Expression | None = None
    level: Fraction | None = None
    sample: bool = True
    weight: Fraction = Fraction(1)
    interval: bool = True
    name: str | None = None

    def _apart(self, _other: object) -> Any:
        raise InputError(
            "an aggregate within arithmetic",
            why="each is measured as a column of its own",
            fix='name it first: agg(a=total("x"), n=count()).with_columns(r=col("a") / col("n"))',
        )

    __add__ = __sub__ = __mul__ = __truediv__ = __rtruediv__ = __rmul__ = _apart

    def alias(self, name: str) -> "Agg":
        """The same under a name."""
        return replace(self, name=name)

    def filter(self, condition: Expr) -> "Agg":
        """The same over the rows that satisfy a condition."""
        return replace(self, where=condition_of(condition))

    def weighted(self, weight: Real) -> "Agg":
        """The same with more (or less) of the budget: its error matters so much, others' 1."""
        return replace(self, weight=positive(weight, "weight"))

    def without_interval(self) -> "Agg":
        """The same; a quantile then spends nothing on an interval."""
        return replace(self, interval=False)

    def named(self, name: str) -> Aggregate:
        """The aggregate under a name."""
        interval = self.interval or self.measure is not AggregateFunction.QUANTILE
        given = (self.arguments, self.where, self.level, self.sample, self.weight, interval)
        return Aggregate(name, self.measure, *given)


def _agg(measure: AggregateFunction, *of: Expr | str, **how: Any) -> Agg:
    return Agg(measure, tuple(map(expression_of, of)), **how)


def count(of: Expr | str | None = None) -> Agg:
    """How many rows, or values that are not NULL."""
    return _agg(AggregateFunction.COUNT, *([] if of is None else [of]))


def count_people() -> Agg:
    """How many different people."""
    return _agg(AggregateFunction.COUNT_PEOPLE)


def count_distinct(of: Expr | str) -> Agg:
    """How many different values."""
    return _agg(AggregateFunction.COUNT_DISTINCT, of)


def total(of: Expr | str) -> Agg:
    """The sum of a bounded number."""
    return _agg(AggregateFunction.SUM, of)


def mean(of: Expr | str) -> Agg:
    """The mean of a bounded number."""
    return _agg(AggregateFunction.MEAN, of)


def variance(of: Expr | str, *, sample: bool = True) -> Agg:
    """The variance of a bounded number, of a sample or of the whole population."""
    return _agg(AggregateFunction.VARIANCE, of, sample=sample)


def stddev(of: Expr | str, *, sample: bool = True) -> Agg:
    """The standard deviation of a bounded number."""
    return _agg(AggregateFunction.STDDEV, of, sample=sample)


def covariance(x: Expr | str, y: Expr | str, *, sample: bool = True) -> Agg:
    """The covariance of two bounded numbers."""
    return _agg(AggregateFunction.COVARIANCE, x, y, sample=sample)


def correlation(x: Expr | str, y: Expr | str) -> Agg:
    """The correlation of two bounded numbers."""
    return _agg(AggregateFunction.CORRELATION, x, y)


def quantile(of: Expr | str, level: Real | Sequence[Real] = Fraction(1, 2)) -> Any:
    """A quantile of a bounded number, or a list of them: 0.5 is the median."""
    if isinstance(level, Sequence):
        return [quantile(of, one) for one in level]
    return _agg(AggregateFunction.QUANTILE, of, level=rational(level, "level"))


def median(of: Expr | str) -> Agg:
    """The median of a bounded number."""
    return _agg(AggregateFunction.QUANTILE, of, level=Fraction(1, 2))


def minimum(of: Expr | str) -> Agg:
    """The least of bounded numbers, as an extreme quantile."""
    return _agg(AggregateFunction.MIN, of)


def maximum(of: Expr | str) -> Agg:
    """The greatest of bounded numbers, as an extreme quantile."""
    return _agg(AggregateFunction.MAX, of)


_AGGREGATES = (
    *("count_people", "count_distinct", "total", "mean", "variance", "stddev", "covariance"),
    *("correlation", "quantile", "median", "minimum", "maximum"),
)


def expression_of(of: Expr | str) -> ex.Expression:
    """A column by its name, or any expression; a constant would not be what is meant."""
    if isinstance(of, str):
        return ex.Column(of)
    if isinstance(of, Expr):
        return of.expression
    raise odd("a column", of, 'its name, or an expression such as col("day").year()')


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


def flat(given: Iterable[Any]) -> list[Any]:
    """Arguments and lists of arguments in one list."""
    return [one for part in given for one in (part if isinstance(part, (list, tuple)) else [part])]


def first(of: Expr | str, *by: By) -> PersonAggregate:
    """The value of a person's first row in an order, for `per_person`."""
    return PersonAggregate("", Summary.FIRST, expression_of(of), by=_orders(by))


def row_number(*by: By) -> WindowColumn:
    """The place of a row among its owner's, from 1, for `with_windows`."""
    return WindowColumn("", WindowFunction.ROW_NUMBER, order=_orders(by))


def lag(of: Expr | str, *by: By, offset: int = 1) -> WindowColumn:
    """The value of the same person's row so many rows before; after, if it is negative."""
    function = WindowFunction.LAG if offset >= 0 else WindowFunction.LEAD
    return WindowColumn("", function, expression_of(of), order=_orders(by), offset=abs(offset))


def running(agg: "Agg", *by: By, rows: tuple[int | None, int | None] | None = None) -> WindowColumn:
    """An aggregate of the same person's rows up to each, or of `rows` around it."""
    one = _summary("", agg)
    return WindowColumn(
        "", one.summary, one.argument, order=_orders(by), where=one.where, frame=rows
    )


def _summary(name: str, of: "Agg | PersonAggregate") -> PersonAggregate:
    if isinstance(of, PersonAggregate):
        return replace(of, name=name)
    of = _aggregate(of)
    measure = _SQUARED.get(of.measure, of.measure)
    summary = summary_of(measure, sample=of.sample)
    if summary is None:
        raise InputError(
            f"{of.measure.value} of each person's rows",
            why="it is made for groups of many people",
            fix="use count, total, mean, median, quantile, variance, minimum, maximum or first",
        )
    level = None if of.level == Fraction(1, 2) else of.level
    argument = of.arguments[0] if of.arguments else None
    return PersonAggregate(name, summary, argument, of.where, level=level)


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


def _aggregate(of: object) -> Agg:
    """An aggregate, also as pandas writes one: `("age", "mean")`."""
    match of:
        case Agg():
            return of
        case (str() | Expr() as column, str() as function) if known := _aggregates(function):
            made: Agg = known(column)
            return made
    raise odd("an aggregate", of, 'one of those here, as in n=count() or age=mean("age")')


def _aggregates(name: str) -> Callable[..., Any] | None:
    """The function that makes an aggregate, by any of its names."""
    own = AGGREGATES.get(name, name)
    return globals()[own] if own in {"count", *_AGGREGATES} else None


def _of_columns(given: object) -> list[Any]:
    """Aggregates of columns, `{"age": ["mean", "max"]}`, as pairs; lists of aggregates as such."""
    if not isinstance(given, Mapping):
        return flat([given])
    return [(column, one) for column, functions in given.items() for one in flat([functions])]


def _name(agg: Agg) -> str:
    """The name of an aggregate: its own, or mean_age, or p90_age."""
    if agg.name is not None:
        return agg.name
    function = _NAMES.get(agg.measure, agg.measure.value)
    stem = function if agg.level is None else level_name(agg.level)
    return "_".join([stem, *(one.name for one in agg.arguments if isinstance(one, ex.Column))])


_ROWS = ("head", "tail", "sample", "collect", "to_pandas", "iloc", "loc", "shape", "fetchall")
HINTS = {
    **dict.fromkeys(("unique", "distinct", "value_counts"), 'call .group_by("x").count()'),
    **dict.fromkeys(("drop_nulls", "dropna"), 'call .where(col("x").is_not_null())'),
    **dict.fromkeys(_ROWS, "its rows are private; aggregate them, as in .count()"),
    **dict.fromkeys(
        ("hist", "cut", "qcut"), 'call .group_by(bin=col("x").bucket(0, 100, 10)).count()'
    ),
    **dict.fromkeys(
        ("sort_values", "nlargest", "top_k"), 'call .sort("n", descending=True).head(5)'
    ),
    **dict.fromkeys(("slice", "substr"), "call .substring(1, 3): the first place, and how many"),
    **dict.fromkeys(("map", "replace", "apply"), 'call case((col("x") == "M", "male"), ...)'),
    **dict.fromkeys(("select", "drop"), "leave it: only what is asked about is read"),
    **dict.fromkeys(
        ("pivot", "pivot_table", "crosstab", "unstack"),
        "group by both columns first:"
        ' .group_by("x", "y").count().release(epsilon=1).to_pandas().pivot(...)',
    ),
    **dict.fromkeys(("info", "columns", "dtypes", "schema"), "see curator.schema"),
    "rename": 'call .with_columns(new="old")',
    "mode": 'call .value_counts("x").head(1), or .sql("SELECT MODE(x) FROM self")',
    "contains": 'call .like("%text%")',
    "clip": "call .clamp(low, high), where NULL counts as low",
    "describe": "call curator.profile(table, epsilon=1)",
    "match": "call .sql(\"SELECT ... FROM self WHERE x ~ 'pattern'\")",
    "strftime": 'call .truncate("month"), .year() or .month()',
}
"""What to call instead of methods that other tables have."""


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

    rows: "From | None" = None
    names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        rows, made = self.rows, _aggregates(name)
        if rows is not None and name == "value_counts":
            return partial(rows.value_counts, *self.names)
        if rows is not None and name == "agg":
            return lambda *made, **named: rows.agg(
                dict.fromkeys(self.names, flat(made)),
                **{name: (self, one) for name, one in named.items()},
            )
        if rows is None or made is None:
            return Expr.__getattr__(self, name)
        of = [self.names] if made in {correlation, covariance} else [[one] for one in self.names]
        return lambda *how, **named: rows.agg(*(made(*one, *how, **named) for one in of))


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
            condition_of(one)
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
        return PickedColumns(ex.Column(", ".join(names)), rows=self, names=tuple(names))

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
        if made := _aggregates(name):
            return lambda *of, **how: self.agg(made(*of, **how))
        if not name.startswith("_") and name in rel.columns_of(self.relation):
            return self[name]
        known = "it has where, group_by, agg, count, sql, " + ", ".join(_AGGREGATES)
        raise AttributeError(f"a table has no {name}: {HINTS.get(name, known)}", name=name)

    def _over(self, of: Expr | str) -> ex.Expression:
        """An expression over these rows, once its literals are among the declared keys."""
        expression = expression_of(of)
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
        made = tuple(_summary(name, one) for name, one in summaries.items())
        people = replace(self, relation=rel.PerPerson(self.relation, keys, made))
        squared = [n for n, one in summaries.items() if getattr(one, "measure", None) in _SQUARED]
        roots = {name: _call(ex.Function.SQRT, col(name)) for name in squared}
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
        condition = None if where is None else condition_of(where)
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
        """Each row beside the same person's rows there; their columns are called "other.day".

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
        condition = None if where is None else condition_of(where)
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

    def agg(self, *unnamed: Any, **named: Any) -> "Question":
        """Aggregates of each group, called mean_age unless named; a true condition counts 1."""
        listed = (one for given in unnamed for one in _of_columns(given))
        plain = [(_name(agg), agg) for agg in map(_aggregate, listed)]
        pairs = [*plain, *((name, _aggregate(agg)) for name, agg in named.items())]
        if len(dict(pairs)) < len(pairs):
            raise InputError(
                "two aggregates have the same name",
                why="each is a column of the answer",
                fix='name them: agg(low=quantile("age", 0.1), high=quantile("age", 0.9))',
            )
        aggregates = [self._numeric(agg).named(name) for name, agg in pairs]
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
        """A question about these rows, with bounds that the curator knows of where it needs any."""
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
        for part in (*agg.arguments, *([] if agg.where is None else [agg.where])):
            self._over(Expr(part))
        if agg.measure not in {AggregateFunction.SUM, AggregateFunction.MEAN}:
            return agg
        of = agg.arguments[0]
        true = infer(of, rel.columns_of(self.relation)).kind is Kind.BOOLEAN
        return replace(agg, arguments=(ex.Cast(of, Kind.INTEGER),)) if true else agg


def label(of: Any) -> str:
    """The name of a column or key in a list."""
    name = of if isinstance(of, str) else getattr(of, "name", None)
    name = name or getattr(getattr(of, "expression", None), "name", None)  # col("age")
    if isinstance(name, str):
        return name
    fix = 'a name, or an expression with one: decade=col("age") // 10, or .alias("decade")'
    raise odd("a column or key", of, fix)


def asker_of(ask: Asker | None) -> Asker:
    """The curator that handed out a question's table."""
    if ask is None:
        raise InputError(
            "a question without a curator is asked",
            why="it was built from a plan alone",
            fix="start from curator.table(name)",
        )
    return ask
