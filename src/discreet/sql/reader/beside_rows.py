"""Aggregates of private rows beside all rows of a public table.

    FROM cities c LEFT JOIN visits v ON v.city = c.name GROUP BY c.name
        keeps all public rows: private rows are joined and grouped by themselves, and the answer
        stands beside the public rows. What was not measured (a group that was not found, a key that
        is not among those declared) is NULL.

It is written as a SELECT over answers, which is read in its place; all of its private rows are
those of an ordinary join and GROUP BY. Each part of the text stands in it, or is refused.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql.reader.constant_tables import is_listed
from discreet.sql.reader.refusals import said
from discreet.sql.reader.select_list import Item
from discreet.sql.reader.sources import Constants, Public
from discreet.sql.reader.syntax import (
    AGGREGATES,
    NamedRelation,
    Node,
    Syntax,
    Visible,
    has_aggregate,
    is_windowed,
    lookup,
)

if TYPE_CHECKING:
    from discreet.sql.reader.from_clause import RelationReader

ROWS, _BESIDE = "\0rows", "\0beside"
"""Names that nobody can type."""


def keep_public_rows(tables: "RelationReader", node: Node) -> exp.Select | None:
    """A SELECT that keeps all rows of a public table beside private ones; None where it is none."""
    joins, first = node.args.get("joins") or [], node.args.get("from_")
    side = joins[0].text("side").upper() if len(joins) == 1 else ""
    picks = side and joins[0].args.get("kind") in {"SEMI", "ANTI"}
    if first is None or side not in {"LEFT", "RIGHT"} or picks or node.args.get("distinct"):
        return None
    kept, met = (first.this, joins[0].this)[:: 1 if side == "LEFT" else -1]
    # Names alone: a subquery would be read here and again in its place, twice as often per level.
    named = [isinstance(one, exp.Table) and not one.args.get("pivots") for one in (kept, met)]
    if not named[1] or not (named[0] or is_listed(kept)):
        return None
    public, private = tables.source(kept, 1), tables.source(met, 2)
    if not isinstance(private, NamedRelation) or not isinstance(public, Public | Constants):
        return None
    beside = SelectParts(tables.syntax, node)
    if not beside.keys or not all(beside.is_of(key, public.columns) for key in beside.keys):
        raise tables.syntax.refuse(joins[0], _GROUPED)
    where = node.args.get("where")
    if where is not None and not beside.is_of(where, public.columns):
        raise tables.syntax.refuse(where, _FILTERED)
    known = {key.name.lower(): key for key in beside.keys if isinstance(key, exp.Column)}
    renamed = kept.alias_column_names
    key = public.table.key if isinstance(public, Public) and not renamed else ()
    whole = key and {name.lower() for name in key} <= known.keys()
    by = [known[name.lower()] for name in key] if whole else beside.keys

    for call in beside.asked:
        if not _ignores_nulls(call, lambda part: beside.is_of(part, private.columns)):
            raise tables.syntax.refuse(call, _COUNTED)
    join = exp.Join(this=kept.copy(), **copied_parts(joins[0], "on", "using"))
    inner = exp.Select(from_=exp.From(this=met.copy()), joins=[join], **copied_parts(node, "where"))
    rows = exp.Select(from_=exp.From(this=kept.copy()), **copied_parts(node, "where"))
    rows.set("distinct", exp.Distinct())
    rows.set("expressions", beside.named_keys(beside.keys))
    return beside.select(rows, inner, by)


class SelectParts:
    """One SELECT: its keys, its aggregates, and the SELECT over answers that stands for it."""

    def __init__(self, syntax: Syntax, node: Node) -> None:
        self.syntax = syntax
        self.node = node
        self.items = [
            Item(one.this, one.alias) if isinstance(one, exp.Alias) else Item(one)
            for one in node.expressions
        ]
        after = [node.args[part] for part in ("having", "order", "qualify") if node.args.get(part)]
        self.asked = [call for one in (*node.expressions, *after) for call in _aggregates(one)]
        self.keys = self._keys()

    def is_of(self, node: Node, columns: Sequence[Visible]) -> bool:
        """Whether a part names columns, and all of them are among these."""
        names = list(node.find_all(exp.Column))
        nested = node.find(exp.Query) is not None
        return bool(names) and not nested and all(lookup(self.syntax, c, columns)[0] for c in names)

    def named_keys(self, keys: Sequence[Node]) -> list[Node]:
        """Keys under names of their own."""
        return [named(key.copy(), self._name(key)) for key in keys]

    def _name(self, key: Node) -> str:
        at = self.keys.index(key)
        taken = [one.name.lower() for one in self.keys[:at]]
        return key.name if key.name and key.name.lower() not in taken else f"key {at}"

    def select(self, rows: exp.Select, inner: exp.Select, by: Sequence[Node]) -> exp.Select:
        """The SELECT over `rows` and, beside them, `inner` grouped by some of the keys."""
        found = self.measure(inner, by, self.asked, _BESIDE)
        same = [
            exp.NullSafeEQ(
                this=column(ROWS, self._name(key)), expression=column(_BESIDE, self._name(key))
            )
            for key in by
        ]
        join = exp.Join(this=aliased(inner, _BESIDE), side="LEFT" if by else None)
        join.set("on", exp.and_(*same, copy=False) if by else None)
        join.set("kind", None if by else "CROSS")
        return self.over(exp.Select(from_=exp.From(this=aliased(rows, ROWS)), joins=[join]), found)

    def measure(
        self, inner: exp.Select, by: Sequence[Node], calls: Sequence[Node], source: str
    ) -> dict[int, Node]:
        """Give a SELECT some of the keys, and aggregates; and the column of each."""
        values = [named(call.copy(), f"value {at}") for at, call in enumerate(calls)]
        inner.set("expressions", [*self.named_keys(by), *values])
        if by:
            inner.set("group", exp.Group(expressions=[key.copy() for key in by]))
        return {id(call): column(source, f"value {at}") for at, call in enumerate(calls)}

    def over(self, outer: exp.Select, found: dict[int, Node]) -> exp.Select:
        """Give a SELECT over answers what is asked of them."""
        for i, item in enumerate(self.items, start=1):
            name = item.given_name or item.default_name(self.syntax, i)
            outer.append("expressions", named(self.replaced(item.node, found), name))
        for part in ("order", "limit", "offset", "qualify", "windows"):
            if self.node.args.get(part):
                outer.set(part, self.replaced(self.node.args[part], found))
        if self.node.args.get("having"):
            outer.set("where", exp.Where(this=self.replaced(self.node.args["having"].this, found)))
        return outer

    def _keys(self) -> list[Node]:
        if self.node.args.get("kind"):
            raise self.syntax.refuse_clause(self.node, "kind")
        group = self.node.args.get("group")
        if group is None:
            return []
        for part, value in group.args.items():
            if (value and part not in {"expressions", "all"}) or (part == "all" and value is False):
                raise self.syntax.refuse_clause(group, part)
        if group.args.get("all"):
            return [one.node for one in self.items if not one.aggregates]
        named = {one.alias.lower(): one.node for one in self.items if one.alias}
        return [self._key(one.unnest(), named) for one in group.expressions]

    def _key(self, node: Node, named: dict[str, Node]) -> Node:
        if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(self.items):
            return self.items[int(node.name) - 1].node
        bare = isinstance(node, exp.Column) and not node.table
        return named.get(node.name.lower(), node) if bare else node

    def replaced(self, part: object, found: dict[int, Node]) -> Node:
        """A copy in which released values stand for keys and aggregates."""
        if isinstance(part, list):
            return [self.replaced(one, found) for one in part]  # type: ignore[return-value]
        if not isinstance(part, Node):
            return part  # type: ignore[return-value]
        if id(part) in found:
            return found[id(part)].copy()
        if part in self.keys:
            return column(ROWS, self._name(self.keys[self.keys.index(part)]))
        copy = type(part)(**{name: self.replaced(one, found) for name, one in part.args.items()})
        copy.meta.update(part.meta)
        return copy


def _aggregates(node: Node) -> list[Node]:
    """The outermost aggregates of an expression; a window's own function is none."""
    if isinstance(node, AGGREGATES) and not is_windowed(node):
        return [node]
    if isinstance(node, exp.Query) or not has_aggregate(node):
        return []
    return [call for part in node.iter_expressions() for call in _aggregates(part)]


_MERGES = (
    *(exp.Coalesce, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Concat, exp.Greatest, exp.Least),
    *(exp.If, exp.Or, exp.Case, exp.Query),
)
"""What may be more than NULL where a part of it is."""


def _ignores_nulls(call: Node, own: Callable[[Node], bool]) -> bool:
    """Whether an aggregate is the same with one more row whose private columns are NULL."""
    if isinstance(call, exp.Filter):
        return _is_strict(call.expression, own)
    argument = call.this.expressions[0] if isinstance(call.this, exp.Distinct) else call.this
    if not isinstance(argument, Node) or isinstance(argument, exp.Star):
        return False
    if _is_strict(argument, own):
        return True
    zero = argument.args.get("default") if isinstance(argument, exp.Case) else None
    if isinstance(argument, exp.Coalesce) and len(argument.expressions) == 1:
        zero, tested = argument.expressions[0], [argument.this]
    else:
        tested = [one.this for one in argument.args.get("ifs") or ()]
    kept = isinstance(call, exp.Sum) and zero == exp.Literal.number(0)
    return kept and bool(tested) and all(_is_strict(one, own) for one in tested)


def _is_strict(node: Node, own: Callable[[Node], bool]) -> bool:
    """Whether an expression of private columns is NULL, or false, where all of them are."""
    if isinstance(node, exp.Case) and node.args.get("default") is None:
        return all(_is_strict(one.this, own) for one in node.args["ifs"])
    return own(node) and node.find(*_MERGES) is None


def copied_parts(node: Node, *parts: str) -> dict[str, object]:
    """Copies of some parts of a node."""
    found = {part: node.args.get(part) for part in parts}
    return {
        name: [part.copy() for part in one] if isinstance(one, list) else one.copy()
        for name, one in found.items()
        if one
    }


def column(table: str, name: str) -> exp.Column:
    """A column of a table."""
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True))


def named(node: Node, name: str) -> Node:
    """A value under a name."""
    return exp.alias_(node, name, quoted=True)


def aliased(select: exp.Select, name: str) -> exp.Subquery:
    """A SELECT in FROM."""
    return exp.Subquery(
        this=select, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True))
    )


_GROUPED = said("""join: a join that keeps all rows of a public table, without GROUP BY of its \
    columns
    rows that belong to nobody would be counted among people's
    group by columns of the public table; or begin FROM with the private table""")
_FILTERED = said("""join: WHERE with private columns after a join that keeps all rows of a public \
    table
    it drops the rows that were kept, since their private columns are NULL
    put the condition in ON, or write JOIN in place of LEFT JOIN""")
_COUNTED = said("""join: an aggregate that also counts public rows which nobody meets
    they belong to nobody, and how many there are depends on who is in the data
    aggregate private columns alone, without COALESCE or IS NULL: COUNT(v.id), SUM(v.cost)""")
