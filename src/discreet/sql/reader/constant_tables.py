"""Rows that a question writes out, and joins with them.

    VALUES ('a', 1), ('b', 2)      UNNEST(['a', 'b'])      GENERATE_SERIES(1, 9)
    SELECT 'a' AS x, 1 AS y UNION ALL SELECT 'b', 2

Every value is a constant, so a join needs nothing new of the plan: a private row meets the rows
whose condition holds once their constants are written in the place of names. Where the conditions
show that a row meets at most one of them (another constant is equal, or ranges do not overlap), the
join is a CASE beside each row; else it is the UNION ALL of the rows that meet each, in which one
person may have that many times as many rows. Beside answers they are rows like those of a public
table.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from sqlglot import exp

from discreet.plan import relations as rel
from discreet.plan.calendar import as_time, months_later
from discreet.plan.expressions import (
    MIRRORED,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Function,
    IsIn,
    Literal,
    call,
    chain,
    conjuncts,
    mapped,
)
from discreet.plan.functions import common_kind
from discreet.plan.kinds import Kind, Type
from discreet.sql.reader.expressions import ExpressionReader, column_among
from discreet.sql.reader.joins import KEEP, Constants, RowJoin, RowSource, join_kind
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import said
from discreet.sql.reader.select_list import Item, name_items, read_in_turn, read_items
from discreet.sql.reader.syntax import NamedRelation, Node, Syntax, Visible, fresh

MOST_LISTED = 1024
"""Rows of one list."""
MOST_UNITED = 64
"""Rows of a list of which a private row may meet several."""

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
                    raise self.syntax.refuse(node, _NOT_LISTED)
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
            raise self.syntax.refuse(lists[1].node, _NOT_LISTED)
        found: dict[int, Values] = {}
        for item in lists:
            columns, _ = self._list(self.syntax.part(item.node, "this"))
            if len(columns) != 1:
                raise self.syntax.refuse(item.node, _NOT_LISTED)
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
        self,
        node: Node,
        names: Sequence[str],
        columns: Sequence[TypedColumn],
        source: str,
    ) -> Constants:
        if len(names) != len(columns) or not columns or not columns[0][0]:
            raise self.syntax.refuse(node, _NOT_LISTED)
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
            raise self.syntax.refuse(node, _NOT_LISTED)
        return [list(column) for column in zip(*cells, strict=True)]

    def _list(self, node: Node) -> tuple[Sequence[Values], list[str] | None]:
        """The columns of a list: one, or one for each field of its structs, with their names."""
        if isinstance(node, exp.GenerateSeries):
            return [self._series(node)], None
        if not isinstance(node, exp.Array):
            raise self.syntax.refuse(node, _NOT_LISTED)
        self.syntax.part(node, "value_constructor")
        values = self.syntax.parts(node, "expressions")
        columns = self._rows(node, values)
        first = values[0] if values else None
        if not isinstance(first, exp.Struct):
            return columns, None
        fields = [column[0] for column in columns]
        if not all(isinstance(one, exp.PropertyEQ) for one in fields):
            raise self.syntax.refuse(first, _NOT_LISTED)
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
            raise self.syntax.refuse(node, _NOT_LISTED)
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
            if len(numbers) > MOST_LISTED:
                raise syntax.refuse(node, _MANY)
            return [Literal(one, Kind.INTEGER) for one in numbers]
        if not isinstance(first, dt.date) or not isinstance(last, dt.date):
            raise syntax.refuse(node, _NOT_LISTED)
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
            raise self.syntax.refuse(node, _NOT_LISTED)
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
        tuple(_put(one, dict(zip(types, row, strict=True))) for one in values)
        for row in source.rows
    ]
    kinds = tuple(reader.check(one, item.node) for one, item in zip(values, items, strict=True))
    return Constants(tuple(Visible(one, one, "") for one in names), tuple(found), kinds)


_READ = {"expressions", "from_", "kind", "with_"}


def stack_listed(syntax: Syntax, node: Node, above: Constants, below: Constants) -> Constants:
    """UNION ALL of written rows; columns are matched by position."""
    if len(above.columns) != len(below.columns):
        raise syntax.refuse(node, _NOT_LISTED)
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


# --- joins ----------------------------------------------------------------------------------------


def join_constants(
    syntax: Syntax,
    left: RowSource,
    right: RowSource,
    node: Node,
    where: Sequence[Node] = (),
) -> NamedRelation:
    """Private rows beside the written rows that they meet."""
    kind = join_kind(syntax, node, loose=True)
    swapped = isinstance(left, Constants)
    kind = {"LEFT": "RIGHT", "RIGHT": "LEFT"}.get(kind, kind) if swapped else kind
    rows, listed = (right, left) if isinstance(left, Constants) else (left, right)
    some = kind in {"SEMI", "ANTI"} and not swapped
    if not isinstance(rows, NamedRelation) or not isinstance(listed, Constants):
        raise syntax.refuse(node, _KEPT)
    if kind not in KEEP and not some:
        raise syntax.refuse(node, _KEPT)
    found = RowJoin(syntax, rows, listed, node, KEEP.get(kind, rel.Keep.MATCHED), where)
    if some:
        met = meets_some(syntax, found, node)
        kept = syntax.build(node, rel.FilterRows, rows.relation, met if kind == "SEMI" else ~met)
        return NamedRelation(kept, rows.columns)
    return beside_constants(syntax, found, node)


def beside_constants(syntax: Syntax, join: RowJoin, node: Node) -> NamedRelation:
    """The private rows of a join beside the written rows that they meet."""
    return _Meeting(syntax, join, node).read()


def meets_some(syntax: Syntax, join: RowJoin, node: Node) -> Expression:
    """Whether a private row meets some written row; false where that is unknown."""
    return _Meeting(syntax, join, node).any


class _Meeting:
    """A join: for each written row, the condition on which a private row meets it."""

    def __init__(self, syntax: Syntax, join: RowJoin, node: Node) -> None:
        assert isinstance(join.right, Constants)  # noqa: S101 - narrowing: see `join_constants`
        self.syntax, self.join, self.node = syntax, join, node
        self.names = [one.column for one in join.right.columns]
        self.kinds = [of.kind for of in join.right.types]
        parts = [one.expression for one in join.conditions if one.expression != _YES]
        whole = chain(Function.AND, parts) if parts else _YES
        self.rows = list[tuple[Expression, tuple[Expression, ...]]]()
        for row in join.right.rows:
            syntax.look_at(whole.size, node)
            condition = _put(whole, dict(zip(self.names, row, strict=True)))
            self.rows.append((condition, row))

    @property
    def any(self) -> Expression:
        """See `meets_some`."""
        return call(Function.COALESCE, _either([one for one, _ in self.rows]), _NO)

    def read(self) -> NamedRelation:
        """The rows beside those that they meet."""
        outer = self.join.keep is rel.Keep.ALL
        if _are_apart([one for one, _ in self.rows]):
            joined = self._looked_up(outer=outer)
        elif len(self.rows) <= MOST_UNITED:
            joined = self._united(outer=outer)
        else:
            raise self.syntax.refuse(self.node, _SEVERAL)
        return self.join.above(joined)

    def _looked_up(self, *, outer: bool) -> rel.Relation:
        """Each row meets at most one: its values are a CASE."""
        relation = self.join.left.relation
        met = [condition for condition, _ in self.rows]
        if not outer and met != [_YES]:
            relation = self._build(rel.FilterRows, relation, _either(met))
        values = list[Expression]()
        for at, kind in enumerate(self.kinds):
            branches = [(condition, row[at]) for condition, row in self.rows]
            if outer and met != [_YES]:
                values.append(Case(tuple(branches), Literal(None, kind)))
            else:
                *others, (_, last) = branches
                values.append(Case(tuple(others), last) if others else last)
        return self._beside(relation, values)

    def _united(self, *, outer: bool) -> rel.Relation:
        """Each row as often as it meets one."""
        left = self.join.left.relation
        found = [
            self._beside(left if one == _YES else self._build(rel.FilterRows, left, one), row)
            for one, row in self.rows
        ]
        if outer:
            alone = self._build(rel.FilterRows, left, ~self.any)
            found.append(self._beside(alone, [Literal(None, kind) for kind in self.kinds]))
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=False)
            rest = found[-1:] if len(found) % 2 else []
            found = [*(self._build(rel.Union, a, b) for a, b in pairs), *rest]
        return found[0]

    def _beside(self, relation: rel.Relation, values: Sequence[Expression]) -> rel.Relation:
        own = tuple(rel.Named(one, Column(one)) for one in rel.columns_of(relation))
        new = tuple(map(rel.Named, self.names, values))
        return self._build(rel.Project, relation, (*own, *new))

    def _build(self, kind: Callable[..., rel.Relation], *fields: object) -> rel.Relation:
        return self.syntax.build(self.node, kind, *fields)


def equal_to_some(
    syntax: Syntax, node: Node, values: Sequence[Expression], listed: Constants
) -> Expression:
    """(a, b) IN (SELECT ... of written rows)."""
    if len(values) != len(listed.columns):
        raise syntax.refuse(node, _NOT_LISTED)
    rows = [
        chain(Function.AND, [a.equals(b) for a, b in zip(values, row, strict=True)])
        for row in listed.rows
    ]
    return _either(rows)


def _put(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """An expression with values in the place of names."""
    if isinstance(expression, Column):
        return values.get(expression.name, expression)
    return mapped(expression, lambda part: _put(part, values))


def _either(conditions: Sequence[Expression]) -> Expression:
    """Any of them; as a list where all compare one value with constants."""
    points = [_point(one) for one in conditions]
    known = [one for one in points if one is not None]
    if len(known) == len(conditions) and len({value for value, _ in known}) == 1:
        return IsIn(known[0][0], tuple(dict.fromkeys(constant for _, constant in known)))
    return chain(Function.OR, list(conditions))


def _point(condition: Expression) -> tuple[Expression, Literal] | None:
    """The value and the constant of an equality."""
    match condition:
        case Call(Function.EQUAL, (value, Literal() as constant)) if constant.value is not None:
            return value, constant
        case Call(Function.EQUAL, (Literal() as constant, value)) if constant.value is not None:
            return value, constant
    return None


def _are_apart(conditions: Sequence[Expression]) -> bool:
    """Whether no row can fulfil two of the conditions, as far as their constants show."""
    facts = [_Ranges(one) for one in conditions]
    for value in facts[0].ends:
        ends = [one.ends.get(value) for one in facts]
        points = {one[0] for one in ends if one is not None and one[0] == one[2]}
        if len(points) == len(ends):
            return True
    pairs = list(combinations(facts, 2)) if len(facts) <= MOST_UNITED else None
    return pairs is not None and all(one.is_apart(other) for one, other in pairs)


class _Ranges:
    """The ranges in which a condition holds some of its values.

    Of each value: the least, whether it is left out, the largest, and whether that is left out.
    """

    def __init__(self, condition: Expression) -> None:
        self.ends: dict[tuple[Expression, type], tuple[object, bool, object, bool]] = {}
        for one in conjuncts(condition):
            match one:
                case Call(function, (value, Literal() as constant)) if function in _COMPARED:
                    self._narrow(function, value, constant)
                case Call(function, (Literal() as constant, value)) if function in _COMPARED:
                    self._narrow(MIRRORED[function], value, constant)

    def _narrow(self, function: Function, value: Expression, constant: Literal) -> None:
        at = constant.value
        if at is None or isinstance(value, Literal):
            return
        kind: type = float if isinstance(at, int | float) else type(at)
        if kind is str and function is not Function.EQUAL:
            return  # the order of texts is each engine's own
        low, above, high, below = self.ends.get((value, kind), (None, False, None, False))
        if function in _FROM and (low is None or at >= low):  # type: ignore[operator]
            low, above = at, function is Function.GREATER
        if function in _UP_TO and (high is None or at <= high):  # type: ignore[operator]
            high, below = at, function is Function.LESS
        self.ends[value, kind] = low, above, high, below

    def is_apart(self, other: "_Ranges") -> bool:
        """Whether some value is in no range of both."""
        return any(
            _before(self.ends[one], other.ends[one]) or _before(other.ends[one], self.ends[one])
            for one in self.ends.keys() & other.ends.keys()
        )


def _before(
    first: tuple[object, bool, object, bool], second: tuple[object, bool, object, bool]
) -> bool:
    """Whether a range ends before another begins."""
    (_, _, high, below), (low, above, _, _) = first, second
    if high is None or low is None:
        return False
    return high < low or (high == low and (below or above))  # type: ignore[operator]


_FROM = {Function.EQUAL, Function.GREATER, Function.GREATER_EQUAL}
_UP_TO = {Function.EQUAL, Function.LESS, Function.LESS_EQUAL}
_COMPARED = _FROM | _UP_TO
_YES, _NO = (Literal(one, Kind.BOOLEAN) for one in (True, False))

_NAMED = said("""constants: a list of rows names a column
    its rows are known before the question is priced
    write constants; for values of the row before it, FROM t CROSS JOIN LATERAL (VALUES (...))""")
_NOT_LISTED = said("""constants: a list of rows that is not written out
    its rows are known before the question is priced, and have as many values each
    write VALUES ('a', 1), ('b', 2), UNNEST(['a', 'b']), or GENERATE_SERIES(1, 9) with constants""")
_ORDINALITY = said("""constants: UNNEST WITH ORDINALITY or WITH OFFSET
    engines count from 1 or from 0
    write the places: VALUES ('a', 1), ('b', 2)""")
_MONTH_END = said("""constants: a series of months that begins after the 28th
    engines disagree on what follows a month that is too short
    begin on the first of the month""")
_MANY = said(f"""too_large: a list has more than {MOST_LISTED:,} rows
    it would take too long to read
    put it in a public table""")
_SEVERAL = said(f"""join: a row may meet several of more than {MOST_UNITED} written rows
    one person could have that many times as many rows
    compare with = a column in which no value stands twice, or with ranges that do not overlap""")
_KEPT = said("""join: a join that keeps all written rows beside private ones
    rows that belong to nobody would be counted among people's
    begin FROM with the private table; or keep all of them beside groups, as in FROM (VALUES ...) \
    v(x) LEFT JOIN t ON t.x = v.x GROUP BY v.x, or beside an answer: LEFT JOIN (SELECT x, COUNT(*) \
    AS n FROM t GROUP BY x) a ON a.x = v.x""")
