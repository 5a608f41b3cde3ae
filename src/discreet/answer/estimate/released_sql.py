"""Tables of answers as SQL: many draws of all released tables at once, each separately.

Every select here has the table's columns under their `own_name`s and `_draw` (0 is the release, the
others are simulated), `_at` (the row's position in its draw) and `_id` (the same for the same row
in all draws). Nothing looks across draws: windows, groups and joins are within one.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from discreet.engines.default import DefaultEngine
from discreet.plan import released_tables as released
from discreet.plan.expressions import Expression
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Aggregate, AggregateFunction, SortKey
from discreet.sql.writer.dialect import Dialect


def own_name(name: str) -> str:
    """The name of a table's column here, which no column that is added can have."""
    return f"={name}"


class _ReleasedDialect(type(DefaultEngine.dialect)):  # type: ignore[misc]  # whichever the default is
    def identifier(self, name: str) -> str:
        return str(super().identifier(own_name(name)))


_DIALECT: Dialect = _ReleasedDialect()
DRAWS = "draws"
"""The table of all draws, in its column `_draw`."""

_ROW = "_draw, _at, _id"
_LARGEST = "1e100"
"""Numbers beyond this have no variance here: their squares might not be finite."""

_TIED = {released.AnswerWindowFunction.RANK, released.AnswerWindowFunction.DENSE_RANK}
_TIED |= {released.AnswerWindowFunction.PERCENT_RANK, released.AnswerWindowFunction.CUME_DIST}


def answer_name(place: int) -> str:
    """The name of the table of a question's released rows."""
    return f"answer_{place}"


def public_name(table: str) -> str:
    """The name of the table of a public table's rows."""
    return f"public {table}"


def render_table(table: released.ReleasedTable, *, top: bool = True) -> str:
    """The SELECT of a table.

    What picks rows at the `top`, where nothing is computed over the rows it leaves, picks those of
    what was released alone: their simulated counterparts are all there, also where they would not
    be shown.
    """
    match table:
        case released.AnswerTable(place):
            return f"SELECT _draw, _at, _at AS _id, {_names(table)} FROM {answer_name(place)}"
        case released.PublicRows(of):
            return (
                f"SELECT d._draw, _at, _at AS _id, {_names(table)}"
                f" FROM {DefaultEngine.dialect.identifier(public_name(of.name))}"
                f" CROSS JOIN {DRAWS} AS d"
            )
        case released.ConstantRows(_, rows):
            return (
                f"SELECT d._draw, _at, _at AS _id, {_names(table)} FROM (VALUES {_listed(rows)})"
                f" AS v(_at, {_names(table)}) CROSS JOIN {DRAWS} AS d"
            )
        case released.ComputedTable(source, outputs):
            parts = [_named(_text(one.expression, source), one.name) for one in outputs]
            return f"SELECT {', '.join([_ROW, *parts])} FROM ({render_table(source, top=top)})"
        case released.FilteredTable(source, condition):
            always = "_draw > 0 OR " if top else ""
            kept = f"{always}({_text(condition, source)})"
            return f"SELECT * FROM ({render_table(source, top=top)}) WHERE {kept}"
        case released.SortedTable(source):
            return _sorted(table, render_table(source, top=top), top=top)
        case released.WindowedTable(source, windows):
            parts = [_named(_window(one, source), one.name) for one in windows]
            return f"SELECT *, {', '.join(parts)} FROM ({render_table(source, top=False)})"
        case released.RegroupedTable():
            return _regrouped(table)
        case released.JoinedTables():
            return _joined(table)
        case released.StackedTables(above, below):
            return _stacked(table, above, below)
        case _:
            assert_never(table)


def _text(expression: Expression, source: released.ReleasedTable) -> str:
    return _DIALECT.render(expression, source.columns)


def _listed(rows: Sequence[Sequence[Expression]]) -> str:
    """Rows of constants, after their places."""
    texts = ([_DIALECT.render(one, {}) for one in row] for row in rows)
    return ", ".join(f"({at}, {', '.join(row)})" for at, row in enumerate(texts))


def _named(text: str, name: str) -> str:
    return f"{text} AS {_DIALECT.identifier(name)}"


def _names(table: released.ReleasedTable) -> str:
    return ", ".join(map(_DIALECT.identifier, table.columns))


def _order(keys: Sequence[SortKey], source: released.ReleasedTable) -> list[str]:
    return [
        f"{_text(one.expression, source)} {'DESC' if one.descending else 'ASC'} NULLS LAST"
        for one in keys
    ]


def _sorted(table: released.SortedTable, below: str, *, top: bool) -> str:
    order = ", ".join([*_order(table.order, table.source), "_at"])
    placed = f"row_number() OVER (PARTITION BY _draw ORDER BY {order}) AS _at"
    select = f"SELECT * REPLACE ({placed}) FROM ({below})"
    if not table.cuts:
        return select
    last = "" if table.limit is None else f" AND _at <= {table.offset + table.limit}"
    always = "_draw > 0 OR " if top else ""
    return f"SELECT * FROM ({select}) WHERE {always}(_at > {table.offset}{last})"


# --- windows and groups ---------------------------------------------------------------------------


def _window(window: released.AnswerWindow, source: released.ReleasedTable) -> str:
    """One window function; rows that tie keep their order."""
    function, order = window.function, _order(window.order, source)
    is_aggregate = isinstance(function, AggregateFunction)
    if function not in _TIED and (not is_aggregate or window.frame is not None):
        order.append("_at")
    partition = ", ".join(["_draw", *(_text(one, source) for one in window.partition)])
    over = f"PARTITION BY {partition}" + (f" ORDER BY {', '.join(order)}" if order else "")
    if window.frame is not None:
        first, last = window.frame
        over += f" ROWS BETWEEN {_end(first, 'PRECEDING')} AND {_end(last, 'FOLLOWING')}"
    if isinstance(function, AggregateFunction):
        asked = Aggregate(window.name, function, window.arguments)
        return _finite(asked, source, f"OVER ({over})")
    arguments = [_text(one, source) for one in window.arguments]
    if window.number is not None:
        arguments.insert(1, str(window.number))
    return f"{function.value}({', '.join(arguments)}) OVER ({over})"


def _end(rows: int | None, unbounded: str) -> str:
    if rows is None:
        return f"UNBOUNDED {unbounded}"
    return "CURRENT ROW" if not rows else f"{abs(rows)} {'PRECEDING' if rows < 0 else 'FOLLOWING'}"


def _regrouped(table: released.RegroupedTable) -> str:
    """Groups of each draw; without keys a draw that has no rows has a group, too."""
    source = table.source
    below = render_table(source, top=False)
    keys = [_named(_text(one.expression, source), one.name) for one in table.keys]
    present = "" if keys else "_at IS NOT NULL"
    asked = [_named(_finite(one, source, "", present), one.name) for one in table.aggregates]
    if not keys:
        parts = ", ".join(["_draw", "1 AS _at", "1 AS _id", *asked])
        return f"SELECT {parts} FROM {DRAWS} LEFT JOIN ({below}) USING (_draw) GROUP BY _draw"
    places = ", ".join(f"{at + 2}" for at in range(len(keys)))
    grouped = (
        f"SELECT {', '.join(['_draw', *keys, *asked])} FROM ({below}) GROUP BY _draw, {places}"
    )
    order = ", ".join(f"{_DIALECT.identifier(one.name)} NULLS LAST" for one in table.keys)
    return (
        f"SELECT _draw, row_number() OVER (PARTITION BY _draw ORDER BY {order}) AS _at,"
        f" dense_rank() OVER (ORDER BY {order}) AS _id, * EXCLUDE (_draw) FROM ({grouped})"
    )


def _finite(
    aggregate: Aggregate, source: released.ReleasedTable, over: str, present: str = ""
) -> str:
    """An aggregate of rows in a fixed order, as a value of its kind: NULL where it has none."""
    kind = released.aggregate_type(aggregate, source.columns).kind
    text = f"{_aggregate(aggregate, source, ordered=not over)}{_where(aggregate, source, present)}"
    text = f"{text} {over}" if over else text
    if kind is Kind.REAL:
        text = f"CAST({text} AS DOUBLE)"
        return f"CASE WHEN isfinite({text}) THEN {text} END"
    return f"TRY_CAST({text} AS {_DIALECT.types[kind]})" if kind is Kind.INTEGER else text


def _where(aggregate: Aggregate, source: released.ReleasedTable, present: str) -> str:
    conditions = [present] if present else []
    if aggregate.where is not None:
        conditions.append(f"({_text(aggregate.where, source)})")
    return f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""


def _aggregate(aggregate: Aggregate, source: released.ReleasedTable, *, ordered: bool) -> str:
    measure = aggregate.measure
    texts = [_text(one, source) for one in aggregate.arguments]
    first = texts[0] if texts else "*"
    order = " ORDER BY _at" if ordered else ""  # sums of doubles depend on it
    kind = "samp" if aggregate.sample else "pop"
    held = ", ".join(_held(one) for one in texts)
    match measure:
        case AggregateFunction.COUNT:
            return f"count({first})"
        case AggregateFunction.COUNT_DISTINCT:
            return f"count(DISTINCT {first})"
        case AggregateFunction.SUM_DISTINCT:
            return f"sum(DISTINCT {first} ORDER BY {first})"
        case AggregateFunction.SUM | AggregateFunction.MEAN:
            return f"{measure.value}({first}{order})"
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return f"{measure.value}({first})"
        case AggregateFunction.QUANTILE:
            return f"quantile_cont({first}, {float(aggregate.level or 0)!r})"
        case AggregateFunction.VARIANCE:
            return f"var_{kind}({held}{order})"
        case AggregateFunction.STDDEV:
            return f"stddev_{kind}({held}{order})"
        case AggregateFunction.COVARIANCE:
            return f"covar_{kind}({held}{order})"
        case AggregateFunction.CORRELATION:
            return f"corr({held}{order})"
        case AggregateFunction.COUNT_PEOPLE | AggregateFunction.MODE:
            raise TypeError(measure)  # the reader asks it of people alone
        case _:
            assert_never(measure)


def _held(text: str) -> str:
    return f"CASE WHEN abs(CAST({text} AS DOUBLE)) < {_LARGEST} THEN CAST({text} AS DOUBLE) END"


# --- several tables -------------------------------------------------------------------------------


def _joined(table: released.JoinedTables) -> str:
    """Rows of one draw side by side."""
    left, right = (render_table(one, top=False) for one in (table.left, table.right))
    on = "" if table.on is None else f" AND ({_DIALECT.render(table.on, table.columns)})"
    names = f"{_names(table.left)}, {_names(table.right)}"
    joined = (
        f"SELECT coalesce(l._draw, r._draw) AS _draw, l._at AS _l, r._at AS _r, l._id AS _i,"
        f" r._id AS _j, {names} FROM ({left}) AS l {table.kind.value.upper()} JOIN ({right}) AS r"
        f" ON l._draw = r._draw{on}"
    )
    return (
        "SELECT _draw, row_number() OVER (PARTITION BY _draw ORDER BY _l, _r) AS _at,"
        f" dense_rank() OVER (ORDER BY _i, _j) AS _id, {names} FROM ({joined})"
    )


def _stacked(
    table: released.StackedTables, above: released.ReleasedTable, below: released.ReleasedTable
) -> str:
    sides = [
        f"SELECT _draw, {half} AS _half, _at, 2 * _id + {half} AS _id, {_as(one, table.columns)}"
        f" FROM ({render_table(one, top=False)})"
        for half, one in enumerate((above, below))
    ]
    placed = "row_number() OVER (PARTITION BY _draw ORDER BY _half, _at) AS _at"
    return f"SELECT _draw, {placed}, _id, {_names(table)} FROM ({' UNION ALL '.join(sides)})"


def _as(table: released.ReleasedTable, wanted: Mapping[str, Type]) -> str:
    """The columns of one side, under the names and in the kinds of both."""
    pairs = zip(table.columns.items(), wanted.items(), strict=True)
    return ", ".join(
        _named(_DIALECT.cast(_DIALECT.identifier(name), both.kind, of.kind), wanted_name)
        if of.kind is not both.kind
        else _named(_DIALECT.identifier(name), wanted_name)
        for (name, of), (wanted_name, both) in pairs
    )
