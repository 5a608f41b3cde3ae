"""Lists written into an expression, as what has the same meaning without them.

    x = ANY(ARRAY['a', 'b']), LIST_CONTAINS(['a', 'b'], x)      x IN ('a', 'b')
    x IN UNNEST(['a', 'b']), x IN (VALUES ('a'), ('b'))         x IN ('a', 'b')
    x LIKE ANY (ARRAY['a%', '%b'])                              x LIKE 'a%' OR x LIKE '%b'
    SPLIT(x, '/')[OFFSET(0)], (STRING_SPLIT(x, '/'))[1]         SPLIT_PART(x, '/', 1)
    ARRAY_AGG(x ORDER BY y LIMIT 1)[OFFSET(0)]                  FIRST(x ORDER BY y)
    APPROX_QUANTILES(x, 4)[OFFSET(3)]                           QUANTILE_CONT(x, 0.75)

Lists are no values here, so any other use of one is refused. Trees are changed before they are
read; words that stand in none afterwards are told, since they have been read.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial, reduce

from sqlglot import exp

from discreet.sql.reader.syntax import Node


def without_lists(node: Node) -> Iterator[Node]:
    """Change a node in its place; the parts of it that are gone."""
    rule = _RULES.get(type(node))
    found = None if rule is None else rule(node)
    if found is not None:
        yield from node.find_all(exp.Literal, exp.Anonymous, exp.Var)
        node.replace(found)


def copied(node: Node) -> int:
    """How many parts a change would write again: one in another would double each time."""
    match node:
        case exp.Like() | exp.ILike():
            many = len(_items(node.expression) or ())
        case exp.Bracket():
            many = 1
        case exp.Anonymous() if str(node.this).upper() == "RATIO_TO_REPORT":
            many = 1
        case _:
            return 0
    return many and many * sum(1 for _ in node.walk())


def _items(node: Node | None) -> list[Node] | None:
    """The items of a list that is written out, in parentheses or not."""
    while isinstance(node, exp.Paren | exp.Any | exp.All):
        node = node.this
    match node:
        case exp.Array() | exp.Tuple():
            return list(node.expressions)
        case exp.Anonymous() if str(node.this).upper() in _SOME and len(node.expressions) == 1:
            return _items(node.expressions[0])
        case exp.Cast() if node.to.this is exp.DType.ARRAY and isinstance(node.this, exp.Literal):
            return _braced(node.this, node.to)
    return None


_SOME = {"ALL", "ANY", "SOME"}


def _braced(text: exp.Literal, to: Node) -> list[Node] | None:
    """'{a,b}'::text[] of Postgres, without quotes or escapes."""
    body = text.name.removeprefix("{").removesuffix("}")
    plain = len(body) == len(text.name) - 2 and not set(body) & set('{}"\\') and body.strip()
    kind = to.expressions[0].this if to.expressions else None
    known = kind in exp.DataType.TEXT_TYPES or kind in exp.DataType.INTEGER_TYPES
    if not plain or not known:
        return None
    parts = [part.strip() for part in body.split(",")]
    if any(not part or part.upper() == "NULL" for part in parts):
        return None
    texts = kind in exp.DataType.TEXT_TYPES
    if not texts and not all(part.isdecimal() for part in parts):
        return None
    return [(exp.Literal.string if texts else exp.Literal.number)(part) for part in parts]


def _is_all(node: Node) -> bool:
    return isinstance(node, exp.All) or (
        isinstance(node, exp.Anonymous) and str(node.this).upper() == "ALL"
    )


def _some(node: Node) -> bool:
    named = isinstance(node, exp.Anonymous) and str(node.this).upper() in _SOME
    return isinstance(node, exp.Any) or (named and not _is_all(node))


def _member(of: Node, items: list[Node]) -> Node:
    listed = exp.In(this=of.copy(), expressions=[one.copy() for one in items])
    return exp.Paren(this=listed)


def _equal(node: Node) -> Node | None:
    """X = ANY(list) and x = ANY (SELECT ...)."""
    side = node.expression
    if not _some(side):
        return None
    query = side.this
    if isinstance(query, exp.Query):
        inner = query if isinstance(query, exp.Subquery) else exp.Subquery(this=query.copy())
        return exp.In(this=node.this.copy(), query=inner.copy())
    items = _items(side)
    return None if not items else _member(node.this, items)


def _unequal(node: Node) -> Node | None:
    """X <> ALL(list)."""
    items = _items(node.expression) if _is_all(node.expression) else None
    return None if not items else exp.Not(this=_member(node.this, items))


def _contained(node: Node) -> Node | None:
    """LIST_CONTAINS(list, x)."""
    items = _items(node.this)
    return None if not items else _member(node.expression, items)


def _listed(node: Node) -> Node | None:
    """X IN UNNEST(list), and x IN (VALUES ...)."""
    unnest, (first, *rest) = node.args.get("unnest"), [*node.expressions, None]
    if unnest is not None and len(unnest.expressions) == 1 and not unnest.args.get("offset"):
        items = _items(unnest.expressions[0])
        return None if not items else _member(node.this, items)
    if not isinstance(first, exp.Values) or rest != [None]:
        return None
    rows = first.expressions
    single = not isinstance(node.this, exp.Tuple)
    if single and not all(isinstance(one, exp.Tuple) and len(one.expressions) == 1 for one in rows):
        return None
    return _member(node.this, [one.expressions[0] if single else one for one in rows])


def _like(node: Node) -> Node | None:
    """X LIKE ANY (list), x LIKE ALL (list)."""
    every, items = _is_all(node.expression), _items(node.expression)
    if not items or not (every or _some(node.expression)) or node.args.get("negate"):
        return None
    kind = exp.And if every else exp.Or
    one = [type(node)(this=node.this.copy(), expression=item.copy()) for item in items]
    return exp.Paren(this=reduce(lambda a, b: kind(this=a, expression=b), one))


def _place(node: Node) -> int | None:
    """The place in a list, from 0: list[1] of DuckDB and Postgres, list[OFFSET(0)] of BigQuery."""
    (place, *more) = node.expressions or [None]
    begins = 1
    if isinstance(place, exp.Anonymous) and len(place.expressions) == 1:
        name = str(place.this).upper().removeprefix("SAFE_")
        begins = {"OFFSET": 0, "ORDINAL": 1}.get(name, -1)
        place = place.expressions[0]
    number = isinstance(place, exp.Literal) and place.is_int and begins >= 0 and not more
    return int(place.name) - begins if number and int(place.name) >= begins else None


def _element(node: Node) -> Node | None:
    """One item of a list that is computed."""
    of, place = node.this.unnest(), _place(node)
    if place is None:
        return None
    match of:
        case exp.Split() if isinstance(of.expression, exp.Literal) and not of.args.get("limit"):
            return _part(of, place + 1)
        case exp.ArrayAgg() if place == 0:
            cut = isinstance(of.this, exp.Limit)
            first = of.this.this if cut else of.this
            if cut and of.this.expression in {None, exp.Literal.number(0)}:
                return None
            return exp.First(this=first.copy()) if isinstance(first, exp.Order) else None
        case exp.ApproxQuantiles() if isinstance(of.expression, exp.Literal):
            many = int(of.expression.name) if of.expression.is_int else 0
            if not 0 < many <= _MOST_QUANTILES or place > many:
                return None
            level = exp.Literal.number(f"{Decimal(place) / Decimal(many):f}")
            return exp.PercentileCont(this=of.this.copy(), expression=level)
    return None


_MOST_QUANTILES = 1000


def _part(split: Node, place: int) -> Node:
    """A part of a text; NULL where it has fewer."""
    number = exp.Literal.number(place)
    found = exp.SplitPart(
        this=split.this.copy(), delimiter=split.expression.copy(), part_index=number
    )
    if place == 1:
        return found
    enough = exp.GTE(this=exp.ArraySize(this=split.copy()), expression=number.copy())
    return exp.Case(ifs=[exp.If(this=enough, true=found)])


def _size(node: Node) -> Node | None:
    """ARRAY_LENGTH(list, 1) of Postgres: its first dimension."""
    flat = node.expression == exp.Literal.number(1)
    return exp.ArraySize(this=node.this.copy()) if flat else None


def _quoted(part: str, node: Node) -> Node | None:
    """DATE_BIN('6 hours', ...), GENERATE_SERIES(..., '1 day'): an interval in quotes."""
    text = node.args.get(part)
    amount, _, unit = text.name.partition(" ") if isinstance(text, exp.Literal) else ("", "", "")
    if not amount.isdecimal() or not unit.isalpha():
        return None
    found = node.copy()
    found.set(part, exp.Interval(this=exp.Literal.string(amount), unit=exp.var(unit.upper())))
    return found


_RULES: dict[type[Node], Callable[[Node], Node | None]] = {
    exp.EQ: _equal,
    exp.NEQ: _unequal,
    exp.ArrayContains: _contained,
    exp.In: _listed,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Bracket: _element,
    exp.ArraySize: _size,
    exp.DateBin: partial(_quoted, "this"),
    exp.GenerateSeries: partial(_quoted, "step"),
}

REWRITTEN = (*_RULES, exp.Anonymous)
"""Nodes that may be written otherwise."""
