"""How much work a question can be, from public facts alone: before data is read, for any data.

A step is about a nanosecond of one core. The work that one row can cause is bounded by the longest
texts that its columns can hold and by what engines take for each of their characters; the rows of
one person are bounded by the joins and unions of the question. So the question alone gives an upper
bound on what the rows of one person cost.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from discreet.errors import InputError
from discreet.plan import relations as rel
from discreet.plan.expression_steps import longest, weigh
from discreet.plan.expressions import (
    SIZE,
    Expression,
    mentions,
    remember,
)
from discreet.plan.kinds import Kind, Type
from discreet.plan.public_facts import fetched
from discreet.plan.query import Query, measured_in
from discreet.plan.statistics import Distinct, Ranks, needed
from discreet.plan.summaries import Summary, WindowColumn
from discreet.plan.texts import (
    longest_stored,
)

MOST_STEPS: Final = 1 << 20
"""Steps that one row may cause, about a millisecond; questions that could take more are refused."""

MOST_ROWS_EACH: Final = 1 << 16
"""The most rows of one table that estimates of time assume a person to have."""

_TYPICAL_ROWS_EACH: Final = 8
_TYPICAL_TEXT: Final = 32


@dataclass(frozen=True, slots=True)
class Work:
    """Upper bound on the work of a question.

    `steps` is what one row of every relation of the question can cause at most, and `rows_each` how
    many rows one person can have where they are counted. `seconds` is an estimate of everything:
    all rows with texts of ordinary length, and one person's rows at their worst. `costliest` names
    the most expensive part.
    """

    steps: int
    rows_each: int
    seconds: float
    costliest: str


@remember(512, SIZE)
def bound_work(query: Query, rows: int) -> Work:
    """The work of a question over tables of at most that many rows.

    Bound: if the question's relations have one row each, whatever it holds, they cause at most
    `steps` steps besides reading its texts (`seconds` has that too); unions and joins make several
    rows of one, which `rows_each` bounds for a person with at most `MOST_ROWS_EACH` rows of each
    table. Steps for each character are measured on DuckDB and doubled, not proved.

    Example:
        >>> from discreet.plan.builder import From
        >>> from discreet.plan.expression_builder import col, count
        >>> from discreet.plan.relations import Scan
        >>> from discreet.plan.schema import Person, Table
        >>> columns = {"who": Type(Kind.INTEGER), "note": Type(Kind.TEXT)}
        >>> notes = Table("notes", columns, Person("who"))
        >>> short, long = (
        ...     From(Scan(notes)).where(col("note").like(pattern)).agg(n=count()).query()
        ...     for pattern in ("a%", "%a" + "_" * 200 + "b")
        ... )
        >>> bound_work(short, 10_000).steps < 20_000 < bound_work(long, 10_000).steps
        True
        >>> bound_work(long, 10_000).costliest
        'LIKE'
    """
    if query.also:
        parts = [_bound_one(query, rows), *(bound_work(one, rows) for one in query.also)]
        most = max(parts, key=lambda part: part.steps)
        each = max(part.rows_each for part in parts)
        return Work(most.steps, each, sum(part.seconds for part in parts), most.costliest)
    return _bound_one(query, rows)


def _bound_one(query: Query, rows: int) -> Work:
    """The work of a question, without those that are measured with it."""
    plan = _Plan(query, rows)
    costs = list(plan.costs())
    steps = sum(cost.steps for cost in costs)
    costliest = max(costs, key=lambda cost: cost.steps)
    seconds = plan.fixed() + sum(cost.ordinary * cost.rows for cost in costs) / 1e9
    for cost in costs:
        seconds += (cost.steps + cost.reading) * min(cost.rows, cost.rows_each) / 1e9
    return Work(steps, plan.sizes[id(query.relation)].each, seconds, costliest.what)


def check_work(work: Work) -> None:
    """Refuse a question if one row could take too long."""
    if work.steps > MOST_STEPS:
        raise InputError(
            f"{work.costliest} could take too long on one row",
            why="the response time would reveal whether such a row exists",
            fix="join subqueries that keep only the columns you need: JOIN (SELECT id, ...) AS b"
            if work.costliest == "a join"
            else "cut the texts with LEFT(text, 100), or use shorter patterns and fewer of them",
        )


@dataclass(frozen=True, slots=True)
class _Size:
    """Rows of a relation: in all, of an ordinary person, and of one person at most."""

    rows: float
    usual: float
    each: int


@dataclass(frozen=True, slots=True)
class _Cost:
    """One part of a question: steps of one row at worst and ordinarily, and over how many rows.

    `reading` is the work of reading long texts of the table, for any question.
    """

    what: str
    steps: int
    ordinary: float
    rows: float
    rows_each: int
    reading: int = 0


class _Plan:
    """The relations of a question, with the sizes of their rows and texts."""

    def __init__(self, query: Query, rows: int) -> None:
        self.query = query
        self.rows = rows
        self.order, _ = rel.nodes_of(query.relation)
        self.sizes: dict[int, _Size] = {}
        self.texts: dict[int, dict[str, int]] = {}
        for node in self.order:
            self.sizes[id(node)] = self._size(node)
            self.texts[id(node)] = self._texts(node)
        self.statistics = needed(query)
        self.read = {(table.name, name) for table, name in fetched(query)}

    def fixed(self) -> float:
        """Seconds that do not depend on rows: statements, and noise for every group."""
        statements = 0.05 + 0.01 * len(self.statistics) + self._passes() * self._planning()
        return len(self.query.sets) * (statements + self._groups() * len(self.statistics) * 8e-6)

    def _planning(self) -> float:
        """Seconds in which an engine plans the relations once: by their parts and columns."""
        joins = [node for node in self.order if isinstance(node, rel.JoinPerson)]
        parts = sum(e.size for node in self.order for e in rel.expressions_of(node))
        return 2e-4 * parts + 2e-3 * sum(len(rel.columns_of(join)) for join in joins)

    def _groups(self) -> float:
        if self.query.has_known_keys:
            return float(min(self.query.group_count or 1, 1 << 40))
        return min(self.sizes[id(self.query.relation)].rows / 8, 1e7)

    # --- rows and texts ---------------------------------------------------------------------------

    def _size(self, node: rel.Relation) -> _Size:
        below = [self.sizes[id(one)] for one in rel.inputs_of(node)]
        match node:
            case rel.Scan():
                return _Size(self.rows, _TYPICAL_ROWS_EACH, min(self.rows, MOST_ROWS_EACH))
            case rel.Union():
                first, second = below
                usual, each = first.usual + second.usual, first.each + second.each
                return _Size(first.rows + second.rows, usual, each)
            case rel.JoinPerson():
                return self._joined(node, *below)
            case rel.MatchPerson(left, _, _, _, condition) if condition is not None:
                # The work is that of a join, and the rows are no more than on the left.
                pairs = self._joined(node, *below)
                return _Size(self.sizes[id(left)].rows, below[0].usual, pairs.each)
            case rel.PerPerson():
                (one,) = below
                if node.facts.one_row_each:
                    return _Size(one.rows / one.usual, 1, 1)
                return one
            case _:
                return below[0]

    def _joined(self, join: rel.JoinPerson | rel.MatchPerson, left: _Size, right: _Size) -> _Size:
        caps = [cap or 1 for cap in rel.join_caps(join)]
        people = max(left.rows / left.usual, right.rows / right.usual)
        usual = min(left.usual, caps[0]) * min(right.usual, caps[1])
        each = min(left.each, caps[0]) * min(right.each, caps[1])
        return _Size(people * usual, usual, max(1, min(each, rel.MOST_JOINED)))

    def _texts(self, node: rel.Relation) -> dict[str, int]:
        """The longest text that each column can hold."""
        below = [self.texts[id(one)] for one in rel.inputs_of(node)]
        match node:
            case rel.Scan(table):
                return _stored(table.columns)
            case rel.Project(_, columns):
                found = {c.name: longest(c.expression, below[0]) for c in columns}
            case rel.JoinPublic(_, table, _, _, columns):
                there = _stored(table.columns)
                found = {**below[0], **{here: there.get(name, 0) for here, name in columns}}
            case rel.JoinPerson():
                found = {**below[0], **below[1]}
            case rel.PersonWindow(_, windows):
                texts = {w.name: longest(w.argument, below[0]) for w in windows if w.argument}
                defaults = {w.name: longest(w.default, {}) for w in windows if w.default}
                found = below[0] | {n: max(t, defaults.get(n, 0)) for n, t in texts.items()}
            case rel.PerPerson(_, keys, aggregates):
                found = {key.name: longest(key.expression, below[0]) for key in keys}
                for one in aggregates:
                    if one.summary in _CHOSEN and one.argument is not None:
                        found[one.name] = longest(one.argument, below[0])
            case rel.Union():
                pairs = zip(rel.columns_of(node), rel.columns_of(node.right), strict=True)
                found = {
                    name: max(below[0].get(name, 0), below[1].get(other, 0))
                    for name, other in pairs
                }
            case rel.FilterRows() | rel.MatchPerson() | rel.MatchPublic():
                return below[0]
        return found

    # --- costs ------------------------------------------------------------------------------------

    def costs(self) -> Iterator[_Cost]:
        """The cost of each relation, key and aggregate of the question."""
        passes = self._passes() * len(self.query.sets)
        for node in self.order:
            yield from self._of_relation(node, passes)
        size, texts = self.sizes[id(self.query.relation)], self.texts[id(self.query.relation)]
        for key in self.query.keys:
            yield from _priced(key.expression, texts, size, passes)
        for expression in measured_in(self.query):
            yield from _priced(expression, texts, size, 2 * len(self.query.sets))
        yield from self._grouping(size)

    def _passes(self) -> int:
        """How often the rows are read: once for all sums, and once for each rank or distinct."""
        return 1 + sum(isinstance(one, Ranks | Distinct) for one in self.statistics)

    def _of_relation(self, node: rel.Relation, passes: int) -> Iterator[_Cost]:
        inputs = rel.inputs_of(node)
        for below in inputs:
            size, texts = self.sizes[id(below)], self.texts[id(below)]
            for expression in rel.expressions_of(node):
                sided = isinstance(node, rel.JoinPerson | rel.MatchPerson)
                if not sided or mentions(expression) <= rel.columns_of(below).keys():
                    yield from _priced(expression, texts, size, passes)
        ordinary, what = _BULK[type(node).__name__]
        size = self.sizes[id(node)]
        rows = max([size.rows, *(self.sizes[id(one)].rows for one in inputs)])
        each = max([size.each, *(self.sizes[id(one)].each for one in inputs)])
        wide = len(rel.columns_of(node)) if isinstance(node, rel.Scan) else 1
        steps = passes * (ordinary * min(wide, 16) + self._carried(node))
        reading = passes * self._reading(node) if isinstance(node, rel.Scan) else 0
        yield _Cost(what, steps, passes * ordinary * min(wide, 8), rows, each, reading)

    def _reading(self, scan: rel.Scan) -> int:
        """Steps for the texts of a stored row, whose characters are counted."""
        texts = self.texts[id(scan)].items()
        return sum(_CUT * n for name, n in texts if (scan.table.name, name) in self.read)

    def _carried(self, node: rel.Relation) -> int:
        """Steps for what a row carries, and before a join is hashed and sorted by."""
        texts = sum(self.texts[id(node)].values())
        match node:
            case rel.JoinPerson() | rel.MatchPerson():
                hashed = sum(_HASHED.get(of.kind, 200) for of in rel.columns_of(node).values())
                return 1000 + hashed + 8 * texts
            case rel.PersonWindow(below, windows):  # sorted by, 16 comparisons a row
                each = 500 + 100 * len(rel.columns_of(below)) + 8 * texts
                return len(windows) * each + sum(2 * _looked_at(one) for one in windows)
            case rel.PerPerson(_, _, aggregates):
                return texts + sum(_SUMMARY.get(one.summary, 30) for one in aggregates)
        return 0

    def _grouping(self, size: _Size) -> Iterator[_Cost]:
        """Rows into people and groups, and from there into answers."""
        sets, texts = len(self.query.sets), self.texts[id(self.query.relation)]
        keys = [longest(key.expression, texts) for key in self.query.keys]
        found = 0 if self.query.has_known_keys else 700
        ordinary = 150 + 60 * len(keys) + found + 80 * (len(self.statistics) - 1)
        yield _Cost(
            "grouping", sets * (ordinary + sum(keys)), sets * ordinary, size.rows, size.each
        )
        for statistic in self.statistics:
            match statistic:
                case Ranks():
                    yield _Cost("a quantile", sets * 300, sets * 200, size.rows, size.each)
                case Distinct(value):
                    steps = sets * (3000 + 4 * longest(value, texts))
                    yield _Cost("COUNT(DISTINCT ...)", steps, sets * 2000, size.rows, size.each)


_CUT: Final = 2
"""Steps for a character of a stored text, the first of which are counted."""

_HASHED: Final = {Kind.REAL: 1000}
"""Steps to write a value of one column as a text, and hash it; others take 200."""

_CHOSEN: Final = {Summary.MIN, Summary.MAX, Summary.FIRST}
_SORTED: Final = (Summary.MEDIAN, Summary.FIRST, Summary.VARIANCE, Summary.VARIANCE_POP)
_SUMMARY: Final = {
    Summary.COUNT_DISTINCT: 200,
    Summary.MIN: 60,
    Summary.MAX: 60,
    **dict.fromkeys(_SORTED, 1500),
}
"""Steps of a row for one summary of a person; others take 30."""

_BULK: Final = {
    "Scan": (12, "reading a table"),
    "FilterRows": (5, "a condition"),
    "Project": (5, "a subquery"),
    "Union": (20, "UNION ALL"),
    "JoinPublic": (80, "a join"),
    "JoinPerson": (120, "a join"),
    "MatchPublic": (100, "a subquery in a condition"),
    "MatchPerson": (150, "a subquery in a condition"),
    "PersonWindow": (400, "a window"),
    "PerPerson": (200, "a subquery per person"),
}
"""Steps that each row of a relation takes, besides its expressions; measured, twice over."""


def _looked_at(window: WindowColumn) -> int:
    """Rows that an engine may look at again for each row: those of a frame whose start moves."""
    low, high = window.frame or (None, None)
    if low is None:
        return 0
    return MOST_ROWS_EACH if high is None else high - low + 1


def _stored(columns: Mapping[str, Type]) -> dict[str, int]:
    texts = {name: of for name, of in columns.items() if of.kind is Kind.TEXT}
    return {name: longest_stored(of) for name, of in texts.items()}


def _priced(
    expression: Expression, texts: Mapping[str, int], size: _Size, passes: int
) -> Iterator[_Cost]:
    """Every part of an expression, each with what it costs."""
    worst: list[tuple[str, int]] = []
    usual: list[tuple[str, int]] = []
    weigh(expression, texts, worst)
    weigh(expression, {name: min(n, _TYPICAL_TEXT) for name, n in texts.items()}, usual)
    for (what, most), (_, ordinary) in zip(worst, usual, strict=True):
        if most:
            yield _Cost(what, passes * most, passes * ordinary / 2, size.rows, size.each)
