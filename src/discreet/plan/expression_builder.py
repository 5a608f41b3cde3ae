"""Columns, conditions and aggregates in Python, with the operators that one expects of them.

>>> (col("age") >= 18).expression.function
<Function.GREATER_EQUAL: '>='>
>>> mean("age").made.measure
<AggregateFunction.MEAN: 'avg'>
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from discreet.argument_names import AGGREGATES
from discreet.errors import InputError
from discreet.plan import expressions as ex
from discreet.plan import relations as rel
from discreet.plan.expressions import all_mentioned
from discreet.plan.kinds import PYTHON_KINDS, Kind, Value
from discreet.plan.query import Aggregate, AggregateFunction, counted_from_end
from discreet.rationals import Real, positive, rational

Operand: TypeAlias = "Value | Expr"


def _binary(function: ex.Function) -> "Callable[[Expr, Operand], Expr]":
    return lambda self, other: call(function, self, other)


def _reversed(function: ex.Function) -> "Callable[[Expr, Operand], Expr]":
    return lambda self, other: call(function, other, self)


def _unary(function: ex.Function) -> "Callable[[Expr], Expr]":
    return lambda self: call(function, self)


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
    `name` is what `alias` gave. `rows` are those that it was taken from, as in `table["age"]`.
    """

    expression: ex.Expression
    name: str | None = None
    rows: rel.Relation | None = None

    @property
    def reads(self) -> tuple[ex.Expression, ...]:
        """All expressions in it."""
        return (self.expression,)

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
            return partial(call, _FUNCTIONS[name], self)
        if made := aggregate_named(name):
            return partial(made, self)
        told = HINTS.get(name) or f"it has {', '.join(_FUNCTIONS)}"
        raise AttributeError(f"an expression has no {name}: {told}", name=name)

    def alias(self, name: str) -> "Expr":
        """The same under a name, for lists of columns and keys."""
        return replace(self, name=name)

    def is_not_null(self) -> "Expr":
        """Whether it is not NULL."""
        return ~call(ex.Function.IS_NULL, self)

    notnull = notna = is_not_null

    def is_in(self, values: Iterable[Value]) -> "Expr":
        """Whether it is one of some values."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise odd("a list of values", values, 'a list, as in is_in(["Austin", "Haifa"])')
        return self._same_rows(ex.IsIn(self.expression, tuple(map(literal, values))))

    isin = is_in

    def between(self, low: Operand, high: Operand) -> "Expr":
        """Whether it lies between two values, both included."""
        return (self >= low) & (self <= high)

    is_between = between

    def like(self, pattern: str, escape: str | None = None) -> "Expr":
        """Whether a text matches a pattern with % and _."""
        if not isinstance(pattern, str):
            raise odd("a pattern", pattern, 'a text, as in like("A%")')
        return self._same_rows(ex.Like(self.expression, pattern, escape))

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
        return self._same_rows(ex.Call(ex.Function.GREATEST, (kept, number(low))))

    def cast(self, kind: Kind | str) -> "Expr":
        """Convert to another kind; NULL where there is no such value."""
        return self._same_rows(ex.Cast(self.expression, member(Kind, kind)))

    def truncate(self, unit: ex.Unit | str) -> "Expr":
        """A date or timestamp down to the beginning of its year, month, ..."""
        return self._same_rows(ex.Truncate(self.expression, member(ex.Unit, unit)))

    def bucket(self, low: Real, high: Real, count: int) -> "Expr":
        """The number, from 1, of the equal bin between `low` and `high`."""
        limits = (number(low), number(high), ex.Literal(count, Kind.INTEGER))
        return self._same_rows(ex.Call(ex.Function.BUCKET, (self.expression, *limits)))

    def _same_rows(self, expression: ex.Expression) -> "Expr":
        return Expr(expression, rows=self.rows)


def col(name: str) -> Expr:
    """A column by its name."""
    return Expr(ex.Column(name))


def case(*branches: tuple[Expr, Operand], otherwise: Operand) -> Expr:
    """A value that depends on conditions, like when and then elsewhere.

    Example:
        >>> age = case((col("age") < 30, "young"), otherwise="older").alias("age")
    """
    pairs = tuple((condition_of(one, _taken(one)), _operand(value)) for one, value in branches)
    rows = _rows_of(otherwise, *(part for branch in branches for part in branch))
    return Expr(ex.Case(pairs, _operand(otherwise)), rows=rows)


def call(function: ex.Function, *arguments: object) -> Expr:
    """A function of expressions and constants."""
    return Expr(ex.Call(function, tuple(map(_operand, arguments))), rows=_rows_of(*arguments))


def _operand(value: object) -> ex.Expression:
    """An expression, or a constant."""
    return value.expression if isinstance(value, Expr) else literal(value)


def condition_of(value: object, rows: rel.Relation | None = None) -> ex.Expression:
    """The expression of a condition on rows."""
    if isinstance(value, Expr):
        return expression_of(value, rows)
    raise odd(
        "a condition", value, 'one on columns, as in col("age") >= 18; in SQL, .query("age >= 18")'
    )


def expression_of(of: "Expr | str", rows: rel.Relation | None = None) -> ex.Expression:
    """A column of rows by its name, or any expression; a constant would not be what is meant."""
    if isinstance(of, str):
        return ex.Column(of)
    if isinstance(of, Expr):
        check_rows(of, rows)
        return of.expression
    raise odd("a column", of, 'its name, or an expression such as col("day").year()')


# --- the rows that an expression was taken from -------------------------------------------------


def check_rows(of: "Expr | Agg", rows: rel.Relation | None) -> None:
    """Refuse what was taken from other rows, whose filter it would lose; None has no filter."""
    plain = of.rows is None or (rows is None and isinstance(of.rows, rel.Scan))
    if not plain and (rows is None or not _are_of(rows, of)):
        raise InputError(
            "an expression of one table is used on the rows of another",
            why="what was done to its own table, such as a filter, would be lost",
            fix='name the column alone, col("age") > 0, or use the table that it was taken from',
        )


def by_name(of: Any) -> Any:
    """An expression for an answer, whose columns are referred to by name alone."""
    return replace(of, rows=None) if isinstance(of, Expr) else of


def _are_of(rows: rel.Relation, of: "Expr | Agg") -> bool:
    """Whether rows are some or all of those that something was taken from, as far as it reads."""
    names = all_mentioned(of.reads)
    while rows != of.rows:
        match rows:
            case rel.Scan() | rel.PerPerson() | rel.Union():
                return False
            case rel.Project(_, columns):
                same = {one.name for one in columns if one.expression == ex.Column(one.name)}
                if not names <= same:
                    return False
        rows = rel.inputs_of(rows)[0]
    return True


def _taken(of: object) -> rel.Relation | None:
    return of.rows if isinstance(of, Expr | Agg) else None


def _rows_of(*parts: object) -> rel.Relation | None:
    """The rows that all parts of an expression are of."""
    taken = [one for one in parts if isinstance(one, Expr | Agg) and one.rows is not None]
    every = (one.rows for one in taken if one.rows and all(_are_of(one.rows, of) for of in taken))
    rows = next(every, None)
    for one in taken:
        check_rows(one, rows)
    return rows


# --- aggregates ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agg:
    """What `made` says, under the name that `alias` gave; its columns were taken from `rows`."""

    made: Aggregate
    rows: rel.Relation | None = None

    @property
    def reads(self) -> tuple[ex.Expression, ...]:
        """All row expressions."""
        return self.made.reads

    def _apart(self, _other: object) -> Any:
        raise InputError(
            "an aggregate within arithmetic",
            why="each is measured as a column of its own",
            fix='name it first: agg(a=total("x"), n=count()).with_columns(r=col("a") / col("n"))',
        )

    __add__ = __sub__ = __mul__ = __truediv__ = __rtruediv__ = __rmul__ = _apart

    def alias(self, name: str) -> "Agg":
        """The same under a name."""
        return self._with(name=name)

    def where(self, *conditions: Expr, **equal: Value) -> "Agg":
        """The same over the rows that satisfy all conditions, and those said before."""
        agg = self
        for one in (*conditions, *(col(name) == value for name, value in equal.items())):
            said = condition_of(one, _taken(one))
            every = (*ex.conjuncts(agg.made.where), *ex.conjuncts(said))
            both = ex.Call(ex.Function.AND, every) if len(every) > 1 else said
            agg = replace(agg._with(where=both), rows=_rows_of(agg, one))
        return agg

    filter = where

    def weighted(self, weight: Real) -> "Agg":
        """The same with more (or less) of the budget: its error matters so much, others' 1."""
        return self._with(weight=positive(weight, "weight"))

    def without_interval(self) -> "Agg":
        """The same; a quantile is then chosen without an interval."""
        return self._with(interval=False)

    def named(self, name: str, rows: rel.Relation | None = None) -> Aggregate:
        """The aggregate of rows under a name."""
        check_rows(self, rows)
        interval = self.made.interval or self.made.measure is not AggregateFunction.QUANTILE
        made = replace(self.made, name=name, interval=interval)
        return made if rows is None else counted_from_end(made)

    def _with(self, **facts: Any) -> "Agg":
        return replace(self, made=replace(self.made, **facts))


def _agg(measure: AggregateFunction, *of: Expr | str, **how: Any) -> Agg:
    parts = tuple(expression_of(one, _taken(one)) for one in of)
    return Agg(Aggregate("", measure, parts, **how), _rows_of(*of))


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
    """The least of bounded numbers, except some rows that hide each person."""
    return _agg(AggregateFunction.MIN, of)


def maximum(of: Expr | str) -> Agg:
    """The greatest of bounded numbers, except some rows that hide each person."""
    return _agg(AggregateFunction.MAX, of)


AGGREGATE_NAMES = (
    *("count_people", "count_distinct", "total", "mean", "variance", "stddev", "covariance"),
    *("correlation", "quantile", "median", "minimum", "maximum"),
)


def flat(given: Iterable[Any]) -> list[Any]:
    """Arguments and lists of arguments in one list."""
    return [one for part in given for one in (part if isinstance(part, (list, tuple)) else [part])]


def aggregate(of: object) -> Agg:
    """An aggregate, also as pandas writes one: `("age", "mean")`."""
    match of:
        case Agg():
            return of
        case (str() | Expr() as column, str() as function) if known := aggregate_named(function):
            made: Agg = known(column)
            return made
    raise odd("an aggregate", of, 'one of those here, as in n=count() or age=mean("age")')


def aggregate_named(name: str) -> Callable[..., Any] | None:
    """The function that makes an aggregate, by any of its names."""
    own = AGGREGATES.get(name, name)
    return globals()[own] if own in {"count", *AGGREGATE_NAMES} else None


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
    "mode": 'call .mode("x") of a table, or .group_by("y").agg(...) and .value_counts("x")',
    "contains": 'call .like("%text%")',
    "clip": "call .clamp(low, high), where NULL counts as low",
    "describe": "call curator.profile(table, epsilon=1)",
    "match": "call .sql(\"SELECT ... FROM self WHERE x ~ 'pattern'\")",
    "strftime": 'call .truncate("month"), .year() or .month()',
}
"""What to call instead of methods that other tables have."""


def label(of: Any) -> str:
    """The name of a column or key in a list."""
    name = of if isinstance(of, str) else getattr(of, "name", None)
    name = name or getattr(getattr(of, "expression", None), "name", None)  # col("age")
    if isinstance(name, str):
        return name
    fix = 'a name, or an expression with one: decade=col("age") // 10, or .alias("decade")'
    raise odd("a column or key", of, fix)


# --- constants, and names from closed lists

_Name = TypeVar("_Name", bound=Enum)


def literal(constant: object) -> ex.Literal:
    """A constant of Python or numpy; np.float32(0.1) is 0.1."""
    value = constant.item() if isinstance(constant, np.generic) else constant
    if isinstance(constant, np.floating):
        value = float(rational(constant, "a constant"))
    kind = PYTHON_KINDS.get(type(value))
    if kind is None:
        raise InputError(
            f"a constant is of type {type(value).__name__}",
            why="rows hold truth values, numbers, texts, dates and timestamps",
            fix="pass one of these; for NULL use is_null()",
        )
    return ex.Literal(value, kind)  # type: ignore[arg-type]


def number(value: Real) -> ex.Literal:
    """A bound: INTEGER where it is whole, so that whole numbers stay whole."""
    exact = rational(value, "a bound")
    if exact.denominator == 1:
        return ex.Literal(int(exact), Kind.INTEGER)
    return ex.Literal(float(exact), Kind.REAL)


def member(names: type[_Name], name: object) -> _Name:
    """One of a closed list of names."""
    try:
        return names(name)
    except ValueError:
        raise InputError(
            f"there is no {names.__name__.lower()} {name!r}",
            why=f"there are {', '.join(str(one.value) for one in names)}",
            fix="name one of them",
        ) from None


def odd(what: str, value: object, fix: str) -> InputError:
    """The error for a value of another type."""
    why = f"a {type(value).__name__} cannot be read as one"
    return InputError(f"{what} is of another kind", why=why, fix=f"pass {fix}")
