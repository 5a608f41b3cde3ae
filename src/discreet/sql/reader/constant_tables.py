"""Rows that a question writes out.

    VALUES ('a', 1), ('b', 2)      UNNEST(['a', 'b'])      GENERATE_SERIES(1, 9)
    SELECT 'a' AS x, 1 AS y UNION ALL SELECT 'b', 2

Beside private rows they are joined as `constant_joins` says, beside answers like public tables.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sqlglot import exp

from discreet.plan import relations as rel
from discreet.plan.calendar import as_time, months_later
from discreet.plan.expressions import Cast, Column, Expression, Literal, mapped
from discreet.plan.functions import common_kind
from discreet.plan.kinds import Kind, Type
from discreet.sql.reader.expressions import ExpressionReader, column_among
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import said
from discreet.sql.reader.select_list import Item, name_items, read_in_turn, read_items
from discreet.sql.reader.sources import Constants
from discreet.sql.reader.syntax import NamedRelation, Node, Syntax, Visible, fresh

MOST_LISTED = 1024
"""Rows of one list."""

Values: TypeAlias = Sequence[Node] | Sequence[Literal]
TypedColumn: TypeAlias = tuple[list[Expression], Type]


def is_listed(node: Node) -> bool:
    """Whether a source of rows is written out."""
    series = isinstance(node, exp.Table) and isinstance(node.this, exp.GenerateSeries)
    return series or isinstance(node, exp.Values | exp.Unnest)


class ConstantReader:
    """Reads lists of constants; `around` are columns that LATERAL lets them name."""

    def __init__(self, syntax: Syntax, around: NamedRelation | None = None) -> None:
        self.syntax = syntax
        columns = () if around is None else around.columns
        types = {} if around is None else dict(rel.columns_of(around.relation))
        meaning = column_among(columns, syntax) if around is not None else self._name
        self.reader = ExpressionReader(syntax, types, meaning, clause="a list of rows")

    def _name(self, node: exp.Column) -> Expression:
        raise self.syntax.refuse(node, _NAMED)

    def table(self, node: Node, name: str) -> Constants:
        """VALUES, UNNEST or GENERATE_SERIES in FROM."""
        names: list[str] | None = None
        columns: Sequence[Values]
        match node:
            case exp.Values():
                columns = self._rows(node, self.syntax.parts(node, "expressions"))
            case exp.Unnest():
                if self.syntax.part(node, "offset"):
                    raise self.syntax.refuse(node, _ORDINALITY)
                lists = self.syntax.parts(node, "expressions")
                if len(lists) != 1:
                    raise self.syntax.refuse(node, NOT_LISTED)
                columns, names = self._list(lists[0])
                names = names or [self._word("unnest", name)]
            case _:
                series = self.syntax.part(node, "this")
                word = "range" if series.args.get("is_end_exclusive") else "generate_series"
                columns, names = [self._series(series)], [self._word(word, name)]
        names = names or [f"col{at}" for at in range(len(columns))]
        return self._made(node, names, [self._column(node, one) for one in columns], name)

    def _word(self, function: str, name: str) -> str:
        """The one column: called by its table, or by the function where the question says so."""
        used = (one.name.lower() for one in self.syntax.tree.find_all(exp.Column))
        return function if name.startswith("(") or function in used else name

    def select(self, node: Node, *, filtered: bool = False) -> Constants:
        """SELECT without FROM: one row, or one for each value of a list in it.

        WHERE is left to who asks for it to be `filtered`.
        """
        for part in node.args:
            if part not in {"expressions", "kind", "where" if filtered else ""} and node.args[part]:
                raise self.syntax.refuse_clause(node, part)
        items = read_items(self.syntax, node, ())
        lists = [item for item in items if isinstance(item.node, exp.Explode)]
        if len(lists) > 1:
            raise self.syntax.refuse(lists[1].node, NOT_LISTED)
        found: dict[int, Values] = {}
        for item in lists:
            columns, _ = self._list(self.syntax.part(item.node, "this"))
            if len(columns) != 1:
                raise self.syntax.refuse(item.node, NOT_LISTED)
            found[id(item)] = columns[0]
        many = max([1, *map(len, found.values())])
        typed = [
            self._column(node, found[id(one)]) if id(one) in found else self._same(one, many)
            for one in items
        ]
        names = name_items(
            self.syntax, items, ["unnest" if id(i) in found else None for i in items]
        )
        return self._made(node, names, typed, "")

    def _same(self, item: Item, many: int) -> TypedColumn:
        (value,) = [self.reader.checked(item.node)]
        return [value] * many, self.reader.check(value, item.node)

    def _made(
        self, node: Node, names: Sequence[str], columns: Sequence[TypedColumn], source: str
    ) -> Constants:
        if len(names) != len(columns) or not columns or not columns[0][0]:
            raise self.syntax.refuse(node, NOT_LISTED)
        taken = set[str]()
        visible = tuple(Visible(name, fresh(name, taken), source) for name in names)
        rows = tuple(zip(*(values for values, _ in columns), strict=True))
        if len(rows) > MOST_LISTED:
            raise self.syntax.refuse(node, _MANY)
        return Constants(visible, rows, tuple(of for _, of in columns))

    def _rows(self, node: Node, rows: Sequence[Node]) -> list[list[Node]]:
        """The columns of rows in parentheses."""
        cells = [
            self.syntax.parts(row, "expressions")
            if isinstance(row, exp.Tuple | exp.Struct)
            else [row]
            for row in rows
        ]
        if len({len(row) for row in cells}) != 1:
            raise self.syntax.refuse(node, NOT_LISTED)
        return [list(column) for column in zip(*cells, strict=True)]

    def _list(self, node: Node) -> tuple[Sequence[Values], list[str] | None]:
        """The columns of a list: one, or one for each field of its structs, with their names."""
        if isinstance(node, exp.GenerateSeries):
            return [self._series(node)], None
        if not isinstance(node, exp.Array):
            raise self.syntax.refuse(node, NOT_LISTED)
        self.syntax.part(node, "value_constructor")
        values = self.syntax.parts(node, "expressions")
        columns = self._rows(node, values)
        first = values[0] if values else None
        if not isinstance(first, exp.Struct):
            return columns, None
        fields = [column[0] for column in columns]
        if not all(isinstance(one, exp.PropertyEQ) for one in fields):
            raise self.syntax.refuse(first, NOT_LISTED)
        names = [self.syntax.word(self.syntax.part(one, "this")).text for one in fields]
        inner = [self.syntax.part(one, "expression") for one in fields]
        rest = [[value, *column[1:]] for value, column in zip(inner, columns, strict=True)]
        return rest, names

    def _column(self, node: Node, values: Values) -> TypedColumn:
        """Values of one kind, and their type."""
        if values and isinstance(values[0], Literal):
            return list(values), Type(values[0].kind, nullable=False)  # type: ignore[arg-type]
        nodes = list[Node](values)  # type: ignore[arg-type]
        if not nodes:
            raise self.syntax.refuse(node, _EMPTY)
        found = self.reader.alike(nodes)
        types = [self.reader.check(one, at) for one, at in zip(found, nodes, strict=True)]
        kind = self.syntax.build(node, common_kind, types, "a column of VALUES")
        nullable = any(of.nullable for of in types)
        return [_as(one, of, kind) for one, of in zip(found, types, strict=True)], Type(
            kind, nullable
        )

    def _series(self, node: Node) -> list[Literal]:
        """GENERATE_SERIES(a, b, step), and RANGE, which leaves the end out."""
        syntax, reader = self.syntax, self.reader
        ends = [reader.read(syntax.part(node, one)) for one in ("start", "end")]
        shut = not syntax.part(node, "is_end_exclusive")
        step = syntax.part(node, "step")
        first, last = (one.value if isinstance(one, Literal) else None for one in ends)
        if isinstance(first, int) and isinstance(last, int):
            by = 1 if step is None else read_whole(syntax, step, "the step", at_least=1)
            numbers = range(first, last + shut, by)
            if numbers[MOST_LISTED:]:  # len() of a range has a limit
                raise syntax.refuse(node, _MANY)
            return [Literal(one, Kind.INTEGER) for one in numbers]
        if not isinstance(first, dt.date) or not isinstance(last, dt.date):
            raise syntax.refuse(node, NOT_LISTED)
        begin, end = as_time(first), as_time(last)
        amount, unit = self._step(node, step)
        if unit in _MONTHS and begin.day > 28:
            raise syntax.refuse(node, _MONTH_END)
        moments = list[dt.datetime]()
        at: dt.datetime | None = begin
        while at is not None and (at < end or (shut and at == end)):
            moments.append(at)
            if len(moments) > MOST_LISTED:
                raise syntax.refuse(node, _MANY)
            at = _later(begin, amount * len(moments), unit)
        return [Literal(one, Kind.TIMESTAMP) for one in moments]

    def _step(self, node: Node, step: Node | None) -> tuple[int, str]:
        unit = (
            None if not isinstance(step, exp.Interval) else self.syntax.part(step, "unit", "this")
        )
        name = str(unit).upper().removesuffix("S")
        amount = None if step is None else self.syntax.part(step, "this")
        text = amount.name if isinstance(amount, exp.Literal) else ""
        if name not in _MONTHS | _LENGTHS or not text.isdecimal() or not 0 < int(text) < 1 << 31:
            raise self.syntax.refuse(node, NOT_LISTED)
        if amount is not None:
            for part in amount.args:
                self.syntax.part(amount, part)
        return int(text), name


_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_LENGTHS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800}


def _later(moment: dt.datetime, amount: int, unit: str) -> dt.datetime | None:
    if unit in _MONTHS:
        found = months_later(moment, amount * _MONTHS[unit])
        return None if found is None else as_time(found)
    try:
        return moment + dt.timedelta(seconds=amount * _LENGTHS[unit])
    except OverflowError:
        return None


def _as(value: Expression, of: Type, kind: Kind) -> Expression:
    if of.kind is kind:
        return value
    whole = isinstance(value, Literal) and isinstance(value.value, int) and kind is Kind.REAL
    return Literal(float(value.value), kind) if whole else Cast(value, kind)  # type: ignore[union-attr, arg-type]


# --- SELECT from them, and UNION ALL --------------------------------------------------------------


def select_listed(syntax: Syntax, node: Node, source: Constants) -> Constants | None:
    """SELECT of values of each row; None where it does more than that."""
    more = (name for name, part in node.args.items() if part and name not in _READ)
    plain = not any(more) and not any(
        one.find(exp.Query, exp.AggFunc, exp.Window) for one in node.expressions
    )
    if not plain:
        return None
    items = read_items(syntax, node, source.columns)
    types = dict(zip((one.column for one in source.columns), source.types, strict=True))
    reader = ExpressionReader(syntax, types, column_among(source.columns, syntax))
    values = read_in_turn(reader, source.columns, items)
    names = name_items(syntax, items, [None] * len(items))
    found = [
        tuple(put(one, dict(zip(types, row, strict=True))) for one in values) for row in source.rows
    ]
    kinds = tuple(reader.check(one, item.node) for one, item in zip(values, items, strict=True))
    return Constants(tuple(Visible(one, one, "") for one in names), tuple(found), kinds)


_READ = {"expressions", "from_", "kind", "with_"}


def stack_listed(syntax: Syntax, node: Node, above: Constants, below: Constants) -> Constants:
    """UNION ALL of written rows; columns are matched by position."""
    if len(above.columns) != len(below.columns):
        raise syntax.refuse(node, NOT_LISTED)
    pairs = list(zip(above.types, below.types, strict=True))
    kinds = [syntax.build(node, common_kind, pair, "UNION ALL") for pair in pairs]
    rows = [
        tuple(_as(one, of, kind) for one, of, kind in zip(row, side.types, kinds, strict=True))
        for side in (above, below)
        for row in side.rows
    ]
    if len(rows) > MOST_LISTED:
        raise syntax.refuse(node, _MANY)
    nullable = (any(of.nullable for of in pair) for pair in pairs)
    return Constants(above.columns, tuple(rows), tuple(map(Type, kinds, nullable)))


def put(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """An expression with values in the place of names."""
    if isinstance(expression, Column):
        return values.get(expression.name, expression)
    return mapped(expression, lambda part: put(part, values))


_NAMED = said("""constants: a list of rows names a column
    its rows are known before the question is priced
    write constants; for values of the row before it, FROM t CROSS JOIN LATERAL (VALUES (...))""")
NOT_LISTED = said("""constants: a list of rows that is not written out
    its rows are known before the question is priced, and have as many values each
    write VALUES ('a', 1), ('b', 2), UNNEST(['a', 'b']), or GENERATE_SERIES(1, 9) with constants""")
_EMPTY = said("""constants: a list without rows, or a series that ends before it begins
    no row meets it
    begin with the least value, as in GENERATE_SERIES(1, 9)""")
_ORDINALITY = said("""constants: UNNEST WITH ORDINALITY or WITH OFFSET
    engines count from 1 or from 0
    write the places: VALUES ('a', 1), ('b', 2)""")
_MONTH_END = said("""constants: a series of months that begins after the 28th
    engines disagree on what follows a month that is too short
    begin on the first of the month""")
_MANY = said(f"""too_large: a list has more than {MOST_LISTED:,} rows
    it would take too long to read
    put it in a public table""")
