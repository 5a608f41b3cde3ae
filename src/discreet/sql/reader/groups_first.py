"""SELECTs whose groups are made first, and ranked or joined with answers once they are there.

    SELECT id, city, ROW_NUMBER() OVER (PARTITION BY id ORDER BY COUNT(*)) ... GROUP BY id, city
        a window over rows of people is one of a SELECT from these rows
    FROM visits v JOIN (SELECT city, COUNT(*) AS n ... GROUP BY city) t USING (city) GROUP BY city
        all rows of a group meet the same row of the answer, so the group meets it

Both are written as a SELECT from groups, which is read in their place. Private rows meet private
and public ones alone; what is joined with answers are groups that have been released.
"""

from collections.abc import Sequence

from sqlglot import exp

from discreet.plan.expressions import Column
from discreet.plan.query import Query
from discreet.plan.released_tables import is_single
from discreet.sql.reader.beside_rows import ROWS, SelectParts, aliased, copied_parts
from discreet.sql.reader.select_list import Answer
from discreet.sql.reader.sources import Public, Rows
from discreet.sql.reader.syntax import Node, Syntax, conjuncts, has_aggregate, lookup


def windows_after_groups(syntax: Syntax, node: Node) -> tuple[exp.Select, exp.Select]:
    """A SELECT of groups, and one over them with the windows and values that were asked."""
    parts, groups = SelectParts(syntax, node), exp.Select(**copied_parts(node, "having"))
    found = parts.measure(groups, parts.keys, parts.asked, ROWS)
    outer = parts.over(exp.Select(), found)
    outer.set("where", None)  # HAVING is said of the groups
    return groups, outer


def is_plain_grouping(node: Node) -> bool:
    """Whether a SELECT has one set of keys, and a name or an expression for each value."""
    group = node.args.get("group")
    sets = group is not None and any(group.args.get(one) for one in _SETS)
    stars = any(one.is_star and not has_aggregate(one) for one in node.expressions)
    return not (sets or stars or node.args.get("distinct"))


def join_after_groups(
    syntax: Syntax, node: Node, found: Sequence[object]
) -> tuple[exp.Select, dict[str, Rows]] | None:
    """A SELECT from groups of private rows joined with answers, and the sources that it names.

    `found` are the sources of FROM. None where rows of one group could meet different rows of an
    answer, or several.
    """
    known = all(isinstance(one, Rows | Public) for one in found)
    if not known or isinstance(found[0], Answer) or not is_plain_grouping(node):
        return None
    meeting = _Meeting(syntax, node, found)
    if not meeting.parts.keys and not meeting.parts.asked:
        return None
    joins: list[Node] = node.args["joins"]
    sources: dict[str, Rows] = {}

    def copied(clause: Node, of: object) -> Node:
        """A join or FROM of a source that has been read."""
        copy = clause.copy()
        if not isinstance(of, Public):
            assert isinstance(of, Rows)  # noqa: S101 - narrowing: see above
            name = f"\0source {len(sources)}"
            sources[name] = of
            alias = exp.TableAlias(this=exp.to_identifier(of.columns[0].source, quoted=True))
            copy.set("this", exp.Table(this=exp.to_identifier(name, quoted=True), alias=alias))
        return copy

    inner, outer = exp.Select(from_=copied(node.args["from_"], found[0])), exp.Select(joins=[])
    for join, of in zip(joins, found[1:], strict=True):
        copy = copied(join, of)
        if isinstance(of, Answer):
            on = meeting.conditions(join, of)
            if on is None:
                return None
            copy.set("using", None)
            copy.set("on", exp.and_(*on, copy=False) if on else None)
            copy.set("kind", copy.args.get("kind") if on else "CROSS")
        (outer if isinstance(of, Answer) else inner).append("joins", copy)
    written = meeting.select(inner, outer)
    return None if written is None else (written, sources)


class _Meeting:
    """A SELECT whose FROM has answers beside private rows."""

    def __init__(self, syntax: Syntax, node: Node, found: Sequence[object]) -> None:
        self.syntax = syntax
        self.parts = SelectParts(syntax, node)
        kept = [one for one in found if isinstance(one, Rows | Public)]
        answers = [one for one in kept if isinstance(one, Answer)]
        self.rows = [c for one in kept if not isinstance(one, Answer) for c in one.columns]
        self.answers = [c for one in answers for c in one.columns]
        where = node.args.get("where")
        self.where = [] if where is None else list(conjuncts(syntax, where.this, exp.And))
        self.met: list[Node] = []
        self.keys = [key for key in self.parts.keys if self._is_ours(key)]
        self.others = [key for key in self.parts.keys if key not in self.keys]
        self.parts.keys = self.keys

    def _is_theirs(self, node: Node) -> bool:
        """Whether a part names columns of answers alone."""
        names = list(node.find_all(exp.Column))
        known = (lookup(self.syntax, c, self.answers)[0] for c in names)
        return bool(names) and not self._ours(names) and all(known) and not node.find(exp.Query)

    def _is_ours(self, node: Node) -> bool:
        """Whether a part names no column of an answer."""
        names = list(node.find_all(exp.Column))
        return len(self._ours(names)) == len(names)

    def _ours(self, names: Sequence[exp.Column]) -> list[exp.Column]:
        return [c for c in names if lookup(self.syntax, c, self.rows)[0]]

    def conditions(self, join: Node, answer: Answer) -> list[Node] | None:
        """When a group meets a row of an answer; None where it may meet several."""
        if join.args.get("method") or join.text("side").upper() not in {"", "LEFT"}:
            return None
        if join.text("kind").upper() not in {"", "INNER", "CROSS", "OUTER"}:
            return None
        on, equal = list[Node](), set[str]()
        stated = join.args.get("on")
        written = [] if stated is None else list(conjuncts(self.syntax, stated, exp.And))
        if not join.args.get("side"):
            keys = ((one, self._key(one)) for one in self.where)
            equals = [one for one, key in keys if key and self._named(key[1], answer)]
            self.met += equals
            written += equals
        for one in written:
            key = self._key(one)
            if key is None and not self._is_theirs(one):
                return None
            on.append(one.copy() if key is None else self.parts.replaced(one, {}))
            equal |= set() if key is None else self._named(key[1], answer)
        for name in join.args.get("using") or ():
            ours = next((k for k in self.keys if k.name.lower() == name.name.lower()), None)
            if ours is None:
                return None
            theirs = exp.column(name.copy(), exp.to_identifier(answer.columns[0].source))
            on.append(exp.EQ(this=self.parts.replaced(ours, {}), expression=theirs))
            equal |= self._named(theirs, answer)
        return on if _is_told(answer, equal) else None

    def _key(self, one: Node) -> tuple[Node, Node] | None:
        """The key of a group and the column of an answer that a condition finds equal."""
        sides = (one.this, one.expression) if isinstance(one, exp.EQ) else ()
        for key, other in (sides, sides[::-1]) if sides else ():
            if key in self.keys and isinstance(other, exp.Column) and self._is_theirs(other):
                return key, other
        return None

    def _named(self, node: Node, answer: Answer) -> set[str]:
        assert isinstance(node, exp.Column)  # noqa: S101 - narrowing: see `_key`
        return {one.column for one in lookup(self.syntax, node, answer.columns)[0]}

    def select(self, inner: exp.Select, outer: exp.Select) -> exp.Select | None:
        """The SELECT over groups and answers; None where a group may tell several values."""
        asked = [call for call in self.parts.asked if self._is_ours(call)]
        others = [call for call in self.parts.asked if call not in asked]
        equal = [one for one in others if isinstance(one, _OF_EQUAL) and self._is_theirs(one.this)]
        if equal != others:
            return None
        own = [one for one in self.where if self._is_ours(one)]
        rest = [one for one in self.where if one not in own and one not in self.met]
        if not all(map(self._is_theirs, [*rest, *self.others])):
            return None
        measured = asked or [exp.Count(this=exp.Star(), big_int=True)]
        found = self.parts.measure(inner, self.keys, measured, ROWS)
        found |= {id(call): call.this for call in others}
        if own:
            inner.set("where", exp.Where(this=exp.and_(*own)))
        outer.set("from_", exp.From(this=aliased(inner, ROWS)))
        self.parts.over(outer, found)
        having = outer.args.get("where")
        conditions = [*rest, *([having.this] if having else [])]
        if conditions:
            outer.set("where", exp.Where(this=exp.and_(*conditions)))
        return outer


def _is_told(answer: Answer, equal: set[str]) -> bool:
    """Whether an answer has at most one row with these values."""
    query = answer.query
    if not isinstance(query, Query):
        return is_single(query.table, query.queries, surely=False)
    shown = {output.expression for output in query.outputs if output.name in equal}
    return len(query.sets) == 1 and all(Column(key.name) in shown for key in query.keys)


_SETS = ("rollup", "cube", "grouping_sets")
_OF_EQUAL = (exp.Max, exp.Min, exp.Avg, exp.AnyValue)
"""Aggregates of equal values, which are that value."""
