"""The order in which the tables of one FROM are joined, where commas leave it open."""

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.sql.reader.constant_joins import join_constants
from discreet.sql.reader.joins import join
from discreet.sql.reader.laterals import Applied, apply
from discreet.sql.reader.refusals import said
from discreet.sql.reader.sources import Constants, Public, RowSource
from discreet.sql.reader.syntax import NamedRelation, Node, Syntax, names_one, where_parts

if TYPE_CHECKING:
    from discreet.sql.reader.from_clause import RelationReader

Waiting: TypeAlias = tuple[RowSource | Applied, Node]


def join_all(
    tables: "RelationReader",
    node: Node,
    source: RowSource,
    waiting: list[Waiting],
    names: list[str],
) -> tuple[RowSource, list[Node] | None]:
    """Private rows, joined with each other and with public tables."""
    syntax = tables.syntax
    joins = [one for right, one in waiting if isinstance(right, NamedRelation | Public)]
    where = where_parts(syntax, node) if any(map(_is_loose, joins)) else None
    if where is not None and any(one.text("side") in {"RIGHT", "FULL"} for one in joins):
        raise syntax.refuse(node, _COMMA_OUTER)
    while waiting:
        right, one = waiting.pop(_next(syntax, source, waiting, where))
        if isinstance(right, Applied):
            source = apply(tables, source, one, right.columns[0].source)
            continue
        used = _joining(syntax, source, right, where or []) if _is_loose(one) else []
        listed = isinstance(source, Constants) or isinstance(right, Constants)
        source = (join_constants if listed else join)(syntax, source, right, one, used)
        where = where if where is None else [c for c in where if c not in used]
    if not isinstance(source, NamedRelation):
        return source, where
    place = {name: at for at, name in enumerate(["(using)", *names])}
    ordered = sorted(source.columns, key=lambda column: place[column.source])
    return replace(source, columns=tuple(ordered)), where


def _next(
    syntax: Syntax, source: RowSource, waiting: list[Waiting], where: list[Node] | None
) -> int:
    """The first table that can be joined now; those of inner joins may come in any order."""
    for at, (right, one) in enumerate(waiting):
        if isinstance(right, Applied):  # which looks at all that stand before it
            return 0
        private = isinstance(source, NamedRelation) or isinstance(right, NamedRelation)
        met = not _is_loose(one) or isinstance(source, Constants) or isinstance(right, Constants)
        if private and (met or _joining(syntax, source, right, where or [])):
            return at
        if one.text("side") or one.text("kind") in {"SEMI", "ANTI"}:
            return 0
    return 0


def _joining(syntax: Syntax, left: RowSource, right: RowSource, where: list[Node]) -> list[Node]:
    """The conditions that name columns of both tables, and of no other."""
    found = []
    for condition in where:
        columns = list(condition.find_all(exp.Column))
        sides = [[names_one(syntax, c, s.columns) for s in (left, right)] for c in columns]
        nested = condition.find(exp.Query, exp.Window) is not None
        if nested or not all(map(any, sides)):
            continue
        if any(one and not other for one, other in sides) and any(o for _, o in sides):
            found.append(condition)
    return found


def _is_loose(node: Node) -> bool:
    """Whether tables stand side by side, and WHERE says which rows meet."""
    bare = not any(node.args.get(part) for part in ("on", "using", "method", "side"))
    return bare and node.text("kind").upper() in {"", "CROSS"}


_COMMA_OUTER = said("""join: a comma in FROM beside a RIGHT or FULL join
    engines join what is on the right of the comma first
    write JOIN ... ON for every table""")
