"""Questions in Python: the fluent way to the same plan that SQL leads to.

>>> from discreet.plan.kinds import Kind, Type
>>> from discreet.plan.relations import Scan
>>> from discreet.plan.schema import Person, Table
>>> visits = Table("visits", {"id": Type(Kind.TEXT), "age": Type(Kind.INTEGER)}, Person("id"))
>>> adults = From(Scan(visits)).where(col("age") >= 18).agg(n=count())
>>> adults.query().aggregates[0].measure
<AggregateFunction.COUNT: 'count'>
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.argument_names import AGGREGATES
from discreet.errors import InputError
from discreet.html_view import framed, note, table
from discreet.plan import expressions as ex
from discreet.plan import relations as rel
from discreet.plan.constants import literal, member, number, odd
from discreet.plan.kinds import Kind, Value
from discreet.plan.listed_literals import check_listed
from discreet.plan.query import (
    Aggregate,
    AggregateFunction,
    Query,
    SortKey,
    questions_in,
    summary_of,
)
from discreet.plan.reads import mentions
from discreet.plan.row_counts import hold_counts, row_counts
from discreet.plan.schema import Limits, PublicTable
from discreet.plan.summaries import (
    PersonAggregate,
    RowOrder,
    Summary,
    WindowColumn,
    WindowFunction,
)
from discreet.plan.typing import infer
from discreet.rationals import Real, positive, rational, whole

if TYPE_CHECKING:
    from discreet.plan.answer_builder import AnswerFrame

Operand: TypeAlias = "Value | Expr"


def _binary(function: ex.Function) -> "Callable[[Expr, Operand], Expr]":
    return lambda self, other: (
        NotImplemented if isinstance(other, _Released) else _call(function, self, other)
    )


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
    `name` is what `alias` gave; `rows` is the table of `table["age"]`.
    """

    expression: ex.Expression
    name: str | None = None
    rows: "From | None" = None

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
        own = AGGREGATES.get(name, name)
        if own == "count" or own in _AGGREGATES:
            return partial(globals()[own], self)
        told = _HINTS.get(name) or f"it has {', '.join(_FUNCTIONS)}"
        raise AttributeError(f"an expression has no {name}: {told}", name=name)

    def alias(self, name: str) -> "Expr":
        """The same under a name, for lists of columns and keys."""
        return replace(self, name=name)

    def _made(self, expression: ex.Expression) -> "Expr":
        return Expr(expression, rows=self.rows)

    def is_not_null(self) -> "Expr":
        """Whether it is not NULL."""
        return ~_call(ex.Function.IS_NULL, self)

    notnull = notna = is_not_null

    def is_in(self, values: Iterable[Value]) -> "Expr":
        """Whether it is one of some values."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise odd("a list of values", values, 'a list, as in is_in(["Austin", "Haifa"])')
        return self._made(ex.IsIn(self.expression, tuple(literal(value) for value in values)))

    isin = is_in

    def between(self, low: Operand, high: Operand) -> "Expr":
        """Whether it lies between two values, both included."""
        return (self >= low) & (self <= high)

    is_between = between

    def like(self, pattern: str, escape: str | None = None) -> "Expr":
        """Whether a text matches a pattern with % and _."""
        if not isinstance(pattern, str):
            raise odd("a pattern", pattern, 'a text, as in like("A%")')
        return self._made(ex.Like(self.expression, pattern, escape))

    def contains(self, text: str) -> "Expr":
        """Whether a text stands in it; one that would be a regular expression is refused."""
        if not isinstance(text, str) or set(text) & set(r"\.^$*+?{}[]|()"):
            raise odd("a plain text to look for", text, 'one to .like("%text%")')
        return _call(ex.Function.POSITION, self, text) > 0

    def value_counts(self) -> "Question | AnswerFrame":
        """How many rows have each value, the most frequent first; of `table["age"]`."""
        if self.rows is None:
            raise odd("a column of a table", self, 'one, as in table["age"].value_counts()')
        groups = self.rows.group_by(self if self.name else self.alias("value"))
        return groups.count().order_by("count", descending=True)

    def replace(self, values: Mapping[Value, Value]) -> "Expr":
        """Other values in the place of some: `replace({"M": "male", "F": "female"})`."""
        pairs = [(self == old, literal(new)) for old, new in values.items()]
        return self._made(ex.Case(tuple((c.expression, v) for c, v in pairs), self.expression))

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
        return self._made(ex.Call(ex.Function.GREATEST, (kept, number(low))))

    def clip(self, lower: Real, upper: Real) -> "Expr":
        """A number, no lower than `lower` and no higher than `upper`; NULL stays NULL."""
        held = self.clamp(lower, upper)
        null = ex.Literal(None, literal(number(lower).value).kind)
        return self._made(ex.Case(((self.is_null().expression, null),), held.expression))

    def round(self, decimals: int = 0) -> "Expr":
        """To the nearest number of so many decimals, halves away from 0."""
        scale = 10 ** whole(decimals, "decimals", at_least=0)
        near = _call(ex.Function.ROUND, self if scale == 1 else self * scale)
        return near if scale == 1 else near / scale

    def cast(self, kind: Kind | str) -> "Expr":
        """Convert to another kind; NULL where there is no such value."""
        return self._made(ex.Cast(self.expression, member(Kind, kind)))

    def truncate(self, unit: ex.Unit | str) -> "Expr":
        """A date or timestamp down to the beginning of its year, month, ..."""
        return self._made(ex.Truncate(self.expression, member(ex.Unit, unit)))

    def bucket(self, low: Real, high: Real, count: int) -> "Expr":
        """The number, from 1, of the equal bin between `low` and `high`."""
        limits = (number(low), number(high), ex.Literal(count, Kind.INTEGER))
        return self._made(ex.Call(ex.Function.BUCKET, (self.expression, *limits)))


def col(name: str) -> Expr:
    """A column by its name."""
    return Expr(ex.Column(name))


def lit(value: Value) -> Expr:
    """A constant as a column."""
    return Expr(literal(value))


def case(*branches: tuple[Expr, Operand], otherwise: Operand) -> Expr:
    """A value by conditions: `case((col("age") < 30, "young"), otherwise="older")`."""
    pairs = tuple((condition_of(one), _operand(value)) for one, value in branches)
    rows = _rows_of([*(part for pair in branches for part in pair), otherwise])
    return Expr(ex.Case(pairs, _operand(otherwise)), rows=rows)


@dataclass(frozen=True, slots=True)
class When:
    """`when(a).then(x).when(b).then(y).otherwise(z)`, which is `case((a, x), (b, y), ...)`."""

    branches: tuple[Any, ...]

    def then(self, value: Operand) -> "When":
        """The value where the newest condition is the first that is true."""
        *earlier, condition = self.branches
        return When((*earlier, (condition, value)))

    def when(self, condition: Expr) -> "When":
        """A further condition."""
        return When((*self.branches, condition))

    def otherwise(self, value: Operand) -> Expr:
        """The value where no condition is true."""
        return case(*self.branches, otherwise=value)


def when(condition: Expr) -> When:
    """The first condition of a value by conditions; `then` and `otherwise` follow."""
    return When((condition,))


def _call(function: ex.Function, *arguments: object) -> Expr:
    return Expr(ex.Call(function, tuple(map(_operand, arguments))), rows=_rows_of(arguments))


def _operand(value: object) -> ex.Expression:
    """An expression, or a constant."""
    return value.expression if isinstance(value, Expr) else literal(value)


def _rows_of(parts: Iterable[object]) -> "From | None":
    """The rows that parts are bound to, as in `table["age"]`; those of two tables are refused."""
    bound = [one.rows for one in parts if isinstance(one, (Expr, Agg)) and one.rows is not None]
    if any(one != bound[0] for one in bound):
        raise _other_rows()
    return bound[0] if bound else None


def _other_rows() -> InputError:
    return InputError(
        "a column or an aggregate of other rows",
        why="it was taken from a table before or after a step that may change what it means",
        fix='name the column: col("age"); for fewer rows mean("age").filter(col("age") > 18)',
    )


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


def _computed(function: Callable[..., Expr]) -> "Callable[..., Computed]":
    """A function of expressions, as one of what is released."""

    def later(*parts: Any) -> "Computed":
        def build(name: Callable[[Agg], Expr]) -> Expr:
            made = (one.build(name) if isinstance(one, _Released) else one for one in parts)
            return function(*made)

        return Computed(build, _name(parts[0]))

    return later


class _Released:
    """Arithmetic with released numbers: `100 * total("paid") / count()`."""

    __slots__ = ()
    build: Any
    __add__ = __radd__ = _computed(lambda a, b: a + b)
    __mul__ = __rmul__ = _computed(lambda a, b: a * b)
    __sub__ = _computed(lambda a, b: a - b)
    __rsub__ = _computed(lambda a, b: b - a)
    __truediv__ = _computed(lambda a, b: a / b)
    __rtruediv__ = _computed(lambda a, b: b / a)
    round = _computed(lambda a, decimals=0: a.round(decimals))


@dataclass(frozen=True, slots=True)
class Computed(_Released):
    """What is computed from aggregates of one question, each of which is measured once."""

    build: Callable[[Callable[[Any], Expr]], Expr]
    """The expression, once each aggregate or window has a name."""
    name: str

    def alias(self, name: str) -> "Computed":
        """The same under a name."""
        return replace(self, name=name)


@dataclass(frozen=True, slots=True)
class Agg(_Released):
    """An aggregate; `name` is what `alias` gave, `rows` the table of `table["age"].mean()`."""

    measure: AggregateFunction
    arguments: tuple[ex.Expression, ...] = ()
    where: ex.Expression | None = None
    level: Fraction | None = None
    sample: bool = True
    weight: Fraction = Fraction(1)
    interval: bool = True
    name: str | None = None
    rows: "From | None" = None

    def __getattr__(self, name: str) -> Any:
        """What can be done with the question that a table's column asks."""
        if name.startswith("_") or name == "rows" or self.rows is None:
            told = "put it into .agg(...) of a table first"
            raise AttributeError(f"an aggregate has no {name}: {told}", name=name)
        return getattr(self.rows.agg(self), name)

    def build(self, name: Callable[["Agg"], Expr]) -> Expr:
        """Itself, as a released column."""
        return name(self)

    def alias(self, name: str) -> "Agg":
        """The same under a name."""
        return replace(self, name=name)

    def filter(self, condition: Expr) -> "Agg":
        """The same over the rows that satisfy a condition."""
        return replace(self, where=condition_of(condition), rows=_rows_of([self, condition]))

    def over(self, *partition_by: Expr | str, **how: Any) -> Any:
        """The same over windows of released rows: see `over`."""
        from discreet.plan.answer_builder import over  # noqa: PLC0415 - it builds on this

        window = over(self, partition_by=partition_by, **how)
        return Computed(lambda name: name(window), _name(self))

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
    arguments = tuple(one.expression if isinstance(one, Expr) else expression_of(one) for one in of)
    return Agg(measure, arguments, rows=_rows_of(of), **how)


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


def quantile(of: Expr | str, level: Real) -> Agg:
    """A quantile of a bounded number: 0.5 is the median."""
    return _agg(AggregateFunction.QUANTILE, of, level=rational(level, "level"))


def median(of: Expr | str) -> Agg:
    """The median of a bounded number."""
    return quantile(of, Fraction(1, 2))


def minimum(of: Expr | str) -> Agg:
    """The least of bounded numbers, as an extreme quantile."""
    return _agg(AggregateFunction.MIN, of)


def maximum(of: Expr | str) -> Agg:
    """The greatest of bounded numbers, as an extreme quantile."""
    return _agg(AggregateFunction.MAX, of)


def mode(of: Expr | str) -> Agg:
    """The most frequent of whole numbers within narrow bounds, by the exponential mechanism."""
    return _agg(AggregateFunction.MODE, of)


_AGGREGATES = (
    *("count_people", "count_distinct", "total", "mean", "variance", "stddev", "covariance"),
    *("correlation", "quantile", "median", "minimum", "maximum", "mode"),
)


def expression_of(of: Expr | str) -> ex.Expression:
    """A column by its name, or any expression; a constant would not be what is meant."""
    if isinstance(of, str):
        return ex.Column(of)
    if isinstance(of, Expr) and of.rows is None:
        return of.expression
    if isinstance(of, Expr):
        raise _other_rows()
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


_NUMERIC = {AggregateFunction.SUM, AggregateFunction.MEAN, AggregateFunction.MODE}
_NAMES = {
    AggregateFunction.COUNT_PEOPLE: "people",
    AggregateFunction.COUNT_DISTINCT: "distinct",
    AggregateFunction.SUM: "total",
    AggregateFunction.MEAN: "mean",
}


def _aggregate(of: object) -> Agg:
    if isinstance(of, Agg):
        return of
    raise odd("an aggregate", of, 'one of those here, as in n=count() or age=mean("age")')


def _asked(of: object) -> Agg | Computed:
    """An aggregate, or what is computed from some; pandas' pair ("age", "mean") too."""
    match of:
        case (str() as name, str() as how):
            return _aggregate(getattr(col(name), how)())
        case Computed():
            return of
        case _:
            return _aggregate(of)


def _name(agg: Any) -> str:
    """The name of an aggregate: its own, or mean_age; what is computed has that of its first."""
    if agg.name is not None:
        return str(agg.name)
    function = _NAMES.get(agg.measure, agg.measure.value)
    return "_".join([function, *(one.name for one in agg.arguments if isinstance(one, ex.Column))])


_ROWS = ("head", "tail", "sample", "collect", "to_pandas", "iloc", "loc", "shape", "fetchall")
_HINTS = {
    **dict.fromkeys(("unique", "distinct", "value_counts"), 'call .group_by("x").count()'),
    **dict.fromkeys(_ROWS, "its rows are private; aggregate them, as in .count()"),
    **dict.fromkeys(
        ("hist", "cut", "qcut"), 'call .group_by(bin=col("x").bucket(0, 100, 10)).count()'
    ),
    **dict.fromkeys(("nlargest", "top_k"), 'call .sort("n", descending=True).head(5)'),
    **dict.fromkeys(("slice", "substr"), "call .substring(1, 3): the first place, and how many"),
    **dict.fromkeys(("map", "apply", "map_elements"), "call .replace({...}), or when(...)"),
    **dict.fromkeys(
        ("pivot", "pivot_table", "crosstab", "unstack"),
        "group by both columns first:"
        ' .group_by("x", "y").count().release(epsilon=1).to_pandas().pivot(...)',
    ),
    **dict.fromkeys(("info", "columns", "dtypes", "schema"), "see curator.schema"),
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


@dataclass(frozen=True, slots=True)
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
        """`table["age"]` is a column, `table[["age", "sex"]]` are some, `table[condition]` rows."""
        if isinstance(of, Expr):
            return self.where(of)
        if isinstance(of, list):
            return self.select(*of)
        if of not in (known := rel.columns_of(self.relation)):
            raise InputError(
                f"there is no column {of}", why=f"columns are {', '.join(known)}", fix="name one"
            )
        return Expr(ex.Column(of), of, self)

    def __getattr__(self, name: str) -> Any:
        """A column, or an aggregate by itself: `.mean("age")` is `.agg(mean("age"))`."""
        own = AGGREGATES.get(name, name)
        if own in _AGGREGATES:
            return lambda *of, **how: self.agg(globals()[own](*of, **how))
        if not name.startswith("_") and name in rel.columns_of(self.relation):
            return self[name]
        known = "it has where, group_by, agg, count, sql, " + ", ".join(_AGGREGATES)
        raise AttributeError(f"a table has no {name}: {_HINTS.get(name, known)}", name=name)

    def _over(self, of: Expr | str) -> ex.Expression:
        """An expression over these rows, once its literals are among the declared keys."""
        if isinstance(of, Expr) and of.rows is not None:
            if _unfiltered(of.rows.relation) != _unfiltered(self.relation):
                raise _other_rows()
            of = replace(of, rows=None)
        expression = expression_of(of)
        check_listed(expression, rel.columns_of(self.relation))
        return expression

    def sql(self, text: str) -> "Question":
        """A question in SQL about these rows, which are the table `self`."""

        def make(rows: rel.Relation) -> Query:
            plan = asker_of(self.ask).read(text, rows)
            if all(rows not in rel.nodes_of(one.relation)[0] for one in questions_in(plan)):
                raise InputError(
                    "a question in SQL about other rows",
                    why="the rows of these steps are the table self, which it does not read",
                    fix="write FROM self",
                )
            return plan

        if self.keys:
            raise odd("a question in SQL", self, "the keys in its GROUP BY, to .sql of the rows")
        return Question(self._held(make), self.ask)

    def query(self, condition: str) -> "From":
        """Only rows for which a condition in SQL is true: `query("age > 30 AND sex = 'F'")`."""
        text = f"SELECT COUNT(*) FROM self WHERE ({condition})"  # noqa: S608 - a question, read
        found = asker_of(self.ask).read(text, self.relation)
        if found.keys or not isinstance(found.relation, rel.FilterRows):
            raise odd("a condition", condition, 'one in SQL, as in query("age > 30")')
        return replace(self, relation=found.relation)

    def with_columns(self, *columns: Expr, **named: Expr | str) -> "From":
        """Further columns, or new meanings of old ones."""
        made = self._named(columns, named)
        kept = [n for n in rel.columns_of(self.relation) if n not in made]
        return self._of_columns({**{n: ex.Column(n) for n in kept}, **made})

    assign = with_columns

    def select(self, *columns: Any, **named: Any) -> "From | Question | AnswerFrame":
        """These columns alone; where they are aggregates, the question that asks for them."""
        if any(isinstance(one, _Released) for one in (*flat(columns), *named.values())):
            return self.agg(*columns, **named)
        return self._of_columns(self._named(columns, named))

    def drop(self, *names: str | list[str]) -> "From":
        """All columns but these."""
        gone = {self[name].name for name in flat(names)}
        return self._of_columns(
            {n: ex.Column(n) for n in rel.columns_of(self.relation) if n not in gone}
        )

    def rename(self, names: Mapping[str, str]) -> "From":
        """The same columns, some under other names: `rename({"old": "new"})`."""
        for name in names:
            self[name]
        kept = rel.columns_of(self.relation)
        return self._of_columns({names.get(n, n): ex.Column(n) for n in kept})

    def drop_nulls(self, *subset: str | list[str]) -> "From":
        """Only rows in which these columns, or all, are not NULL."""
        names = flat(subset) or list(rel.columns_of(self.relation))
        return self.where(*(col(name).is_not_null() for name in names))

    def dropna(self, subset: str | list[str] | None = None) -> "From":
        """The same, as pandas spells it."""
        return self.drop_nulls(*([] if subset is None else [subset]))

    def _named(
        self, columns: Iterable[Any], named: Mapping[str, Expr | str]
    ) -> dict[str, ex.Expression]:
        """Columns and expressions by their names."""
        pairs = [*((label(one), one) for one in flat(columns)), *named.items()]
        return {name: self._over(of) for name, of in pairs}

    def _of_columns(self, columns: Mapping[str, ex.Expression]) -> "From":
        named = tuple(rel.Named(name, of) for name, of in columns.items())
        return replace(self, relation=rel.Project(self.relation, named))

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
        return self._grouped(
            columns, keys, lambda places: [places[:n] for n in range(len(places), -1, -1)]
        )

    def cube(self, *columns: Any, **keys: Expr | str) -> "From":
        """Groups by each combination of some keys, down to a total."""
        return self._grouped(
            columns,
            keys,
            lambda places: [c for n in range(len(places), -1, -1) for c in combinations(places, n)],
        )

    def grouping_sets(self, *sets: str | Sequence[str], **keys: Expr | str) -> "From":
        """Groups by each of several lists of keys: `grouping_sets(["city", "sex"], [])`."""
        listed = [[one] if isinstance(one, str) else list(one) for one in sets]
        names = list(dict.fromkeys(n for one in listed for n in one if n not in keys)) + list(keys)
        return self._grouped(
            [n for n in names if n not in keys],
            keys,
            lambda places: [tuple(places[names.index(n)] for n in one) for one in listed],
        )

    def _grouped(
        self,
        columns: Iterable[Any],
        keys: Mapping[str, Expr | str],
        sets: Callable[[tuple[int, ...]], Iterable[tuple[int, ...]]],
    ) -> "From":
        """Further keys; every earlier grouping set together with each of their own."""
        named = tuple(rel.Named(n, of) for n, of in self._named(columns, keys).items())
        places = tuple(range(len(self.keys), len(self.keys) + len(named)))
        both = tuple((*old, *new) for old in self.sets for new in sets(places))
        return replace(self, keys=(*self.keys, *named), sets=both)

    def count(self, of: Expr | str | None = None) -> "Question":
        """How many rows there are, in each group or in all."""
        return self._asking([("count", count())] if of is None else [(_name(count(of)), count(of))])

    len = size = count

    def value_counts(self, *columns: str) -> "Question | AnswerFrame":
        """How many rows have each value, the most frequent first."""
        return self.group_by(*columns).count().order_by("count", descending=True)

    def agg(self, *unnamed: Any, **named: Any) -> "Question | AnswerFrame":
        """Aggregates of each group, called mean_age unless named; a true condition counts 1.

        What is computed from aggregates, as in `total("x") / count()`, measures each once.
        """
        listed = [
            one
            for part in flat(unnamed)
            for one in (part.items() if isinstance(part, Mapping) else [part])
        ]
        plain = [(_name(agg), agg) for agg in map(_asked, listed)]
        pairs = [*plain, *((name, _asked(agg)) for name, agg in named.items())]
        if len(dict(pairs)) < len(pairs):
            raise InputError(
                "two aggregates have the same name",
                why="each is a column of the answer",
                fix='name them: agg(low=quantile("age", 0.1), high=quantile("age", 0.9))',
            )
        asked = [(name, agg) for name, agg in pairs if isinstance(agg, Agg)]
        if len(asked) == len(pairs):
            return self._asking(asked)
        parts = {agg: name for name, agg in asked}

        def released(agg: Agg) -> Expr:
            return col(parts.setdefault(_aggregate(agg), f"part_{len(parts) + 1}"))

        shown = {name: one.build(released) for name, one in pairs}
        question = self._asking([(name, agg) for agg, name in parts.items()])
        return question.table().select(*(key.name for key in self.keys), **shown)

    def _asking(self, pairs: Iterable[tuple[str, Agg]]) -> "Question":
        """The question for some aggregates, with bounds that conditions prove or profiles tell."""
        aggregates = [self._numeric(agg).named(name) for name, agg in pairs]
        if not aggregates and not self.keys:
            raise InputError(
                "a question that asks for nothing",
                why="it has no aggregates and no groups",
                fix="ask for something, such as n=count()",
            )

        def make(relation: rel.Relation) -> Query:
            counts, columns = row_counts(relation), rel.columns_of(relation)
            all_ = tuple(hold_counts(one, counts, columns) for one in aggregates)
            return Query(relation, self.keys, all_, self.sets)

        return Question(self._held(make), self.ask)

    def _held(self, make: Callable[[rel.Relation], Query]) -> Query:
        """A question about these rows, with bounds that the curator knows of where it needs any."""
        try:
            return make(self.relation)
        except InputError:
            held = None if self.ask is None else self.ask.hold(self.relation, make)
            if held is None:
                raise
            return held

    def _numeric(self, agg: Agg) -> Agg:
        """An aggregate over these rows; conditions count 1 where they are true."""
        if agg.rows is not None and (agg.rows.relation, agg.rows.keys or self.keys) != (
            self.relation,
            self.keys,
        ):
            raise _other_rows()
        for part in (*agg.arguments, *([] if agg.where is None else [agg.where])):
            self._over(Expr(part))
        if agg.measure not in _NUMERIC:
            return agg
        of = agg.arguments[0]
        kind = infer(of, rel.columns_of(self.relation)).kind
        if kind is not Kind.INTEGER and agg.measure is AggregateFunction.MODE:
            raise InputError(
                f"mode of a {kind.value} value",
                why="it chooses among whole numbers",
                fix='call .value_counts("x").head(1), or .sql("SELECT MODE(x) FROM self")',
            )
        true = kind is Kind.BOOLEAN
        return replace(agg, arguments=(ex.Cast(of, Kind.INTEGER),)) if true else agg


def _unfiltered(relation: rel.Relation) -> rel.Relation:
    """The relation below conditions, in whose rows columns mean the same."""
    while isinstance(relation, rel.FilterRows):
        relation = relation.input
    return relation


def label(of: Any) -> str:
    """The name of a column or key in a list."""
    name = of if isinstance(of, str) else getattr(of, "name", None)
    if name is None and isinstance(of, Expr) and isinstance(of.expression, ex.Column):
        name = of.expression.name
    if isinstance(name, str):
        return name
    fix = 'a name, or an expression with one: decade=col("age") // 10, or .alias("decade")'
    raise odd("a column or key", of, fix)


@dataclass(frozen=True, slots=True)
class Question:
    """A whole question; what follows works on released numbers."""

    plan: Query
    ask: Asker | None = None

    def query(self) -> Query:
        """The plan."""
        return self.plan

    def _repr_html_(self) -> str:
        asked = [(one.name, one.measure.value, _read_by(one)) for one in self.plan.aggregates]
        by = ", ".join(key.name for key in self.plan.keys) or "all rows"
        of = ", ".join(table.name for table in self.plan.relation.facts.tables)
        told = "not asked yet: .explain(epsilon=...) is free, .release(epsilon=...) is charged"
        return framed(note(f"of {of}, by {by}"), table(["column", "what", "of"], asked), note(told))

    def having(self, condition: Expr) -> "Question | AnswerFrame":
        """Show only groups for which a condition on released numbers is true too."""
        if self._is_shown:  # of the rows that are left
            return self.table().where(condition)
        both = condition if self.plan.having is None else Expr(self.plan.having) & condition
        return replace(self, plan=replace(self.plan, having=condition_of(both)))

    where = filter = having

    def order_by(
        self, *by: Any, descending: bool | Sequence[bool] = False
    ) -> "Question | AnswerFrame":
        """Sort by released columns; an earlier order decides where they are equal."""
        if self._is_shown:
            return self.table().order_by(*by, descending=descending)
        orders = sort_keys(by, descending=descending)
        return replace(self, plan=replace(self.plan, order=orders + self.plan.order))

    sort = order_by

    def sort_values(self, by: Any, *, ascending: bool = True) -> "Question | AnswerFrame":
        """The same, as pandas spells it."""
        return self.order_by(by, descending=not ascending)

    @property
    def _is_shown(self) -> bool:
        """Whether its columns or rows are more or fewer than the groups that are measured."""
        plan = self.plan
        return bool(plan.limit is not None or plan.outputs or plan.then)

    def __getattr__(self, name: str) -> Any:
        """What can be computed from the answer, as `table` has it."""
        if name in {"with_columns", "assign", "select", "group_by", "join", "stack"}:
            return getattr(self.table(), name)
        told = _HINTS.get(name, "ask it first, with .release(epsilon=...)")
        raise AttributeError(f"a question has no {name}: {told}", name=name, obj=self)

    def limit(self, rows: int) -> "Question":
        """Show the first rows only."""
        most = whole(rows, "limit", at_least=1)  # nothing would be shown, and paid for
        return replace(self, plan=replace(self.plan, limit=min(most, self.plan.limit or most)))

    head = limit

    def at_most(self, *, max_groups: int | None = None, max_rows: int | None = None) -> "Question":
        """State how much of one person the answer may hold, instead of having it chosen."""
        return replace(self, plan=replace(self.plan, limits=Limits(max_groups, max_rows)))

    def release(self, **price: Any) -> Any:
        """Ask it; what `price` takes is up to the curator that handed out the table."""
        return asker_of(self.ask).release(self.plan, **price)

    def explain(self, **price: Any) -> Any:
        """Cost and expected error; touches no data."""
        return asker_of(self.ask).explain(self.plan, **price)

    def table(self) -> "AnswerFrame":
        """Its answer as a table to compute with: windows, groups and joins of answers are free."""
        from discreet.plan.answer_builder import AnswerFrame  # noqa: PLC0415 - it builds on this
        from discreet.plan.answer_program import Program  # noqa: PLC0415

        return AnswerFrame(Program.of(self.plan), self.ask)


def _read_by(aggregate: Aggregate) -> str:
    """The columns that an aggregate is computed from."""
    parts = [*aggregate.arguments, *([] if aggregate.where is None else [aggregate.where])]
    return ", ".join(sorted(set().union(*map(mentions, parts)))) or "rows"


def asker_of(ask: Asker | None) -> Asker:
    """The curator that handed out a question's table."""
    if ask is None:
        raise InputError(
            "a question without a curator is asked",
            why="it was built from a plan alone",
            fix="start from curator.table(name)",
        )
    return ask
