"""A query as an engine's SQL: exact integers for each group, with bounded weights for every person.

The steps, each one SELECT; the rows of those with a name in brackets are kept by the session:

    [pairs]  one row for each person and group: rows, and the person's part in each statistic
    [norms]  one row for each person: what their rows and groups add up to
    spread   how many people have which norm (for choosing limits)
    [heavy]  the few people above a limit on rows, with a weight below the full one;
    [roaming]  the same for a limit on groups
    totals   the weighted sums of all people, group by group
    ranks    the same for the cells of a quantile

A person's weight is an integer from 0 to `FULL`; parts are integers; so are the sums. Nothing is
rounded after the rows, and nothing depends on the order of rows. Sums are wide (128 bits or more),
where n rows add up to less than n * 2^32.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind, largest_weight
from discreet.plan.expressions import Expression, Function
from discreet.plan.kinds import INT64, Kind, Value
from discreet.plan.query import Query
from discreet.plan.relations import columns_of
from discreet.plan.schema import PERSON
from discreet.plan.statistics import Distinct, DistinctTotal, People, Ranks, Rows, Statistic, Total
from discreet.plan.typing import infer
from discreet.sql.writer.dialect import Dialect, saturated
from discreet.sql.writer.individual import WEIGHTS
from discreet.sql.writer.integers import cell, on_grid
from discreet.sql.writer.relations import first_rows, render_relation

SECRET = "<secret>"  # noqa: S105 - stands for the salt, which is drawn when the question is asked

WRITTEN_KEYS = 1000
"""The longest list of keys that is written out; longer ones are tables of the session."""

FEW_KEYS = 32
"""The longest list of keys in which a group's place is written out, not joined."""

_BY_ROWS = (Rows, Total, Ranks)
"""Statistics that a limit on rows weighs; one on groups weighs people."""


class Kept(NamedTuple):
    """A SELECT whose rows a session keeps under a name, in place of what had that name."""

    name: str
    select: str

    def __str__(self) -> str:
        return f"WITH {self.name} AS ({self.select})"


@dataclass(frozen=True)
class CompiledQuery:
    """The statements that answer one query on one engine.

    `salt` is the question's secret: it chooses which rows and groups of a person count. With
    `participants` people weigh what the session's table `weights` says. `scanned` is read in place
    of the private table of a query that scans only one.
    """

    query: Query
    statistics: tuple[Statistic, ...]
    dialect: Dialect
    salt: str = SECRET
    participants: bool = False
    scanned: str | None = None

    @property
    def keys(self) -> list[str]:
        """The names of the key columns in every statement."""
        return [f"k{i}" for i in range(len(self.query.keys))]

    # --- rows -----------------------------------------------------------------------------------

    def rows(self, columns: Sequence[str]) -> str:
        """The private rows that are in a group, with their keys and these columns."""
        scope = columns_of(self.query.relation)
        parts = self._owner
        for name, key in zip(self.keys, self.query.keys, strict=True):
            parts.append(f"{self.dialect.render(key.expression, scope)} AS {name}")
        text = f"SELECT {', '.join([*parts, *columns]) or '1'} FROM ({self._relation}) AS r"
        if self.query.is_by_row and self.query.has_known_keys:
            return text  # what is no known key finds no place later, at no cost a row
        known = [
            self._listed(i, of.keys, of.kind)
            for i, of in enumerate(self.query.key_types)
            if of.keys is not None
        ]
        return f"SELECT * FROM ({text}) AS r WHERE {' AND '.join(known)}" if known else text

    def parts(self, **columns: str) -> str:
        """The rows with each one's part in each statistic that is a sum, and further `columns`.

        v is a value on its grid, NULL where the row does not count; p says whether it counts.
        """
        found, shown = [f"{text} AS {name}" for name, text in columns.items()], [*columns]
        for i, statistic in enumerate(self.statistics):
            match statistic:
                case Total(value, where, grid):
                    found.append(f"{self._counted(value, where)} AS v{i}")
                    shown.append(f"{on_grid(f'v{i}', grid, self.dialect)} AS v{i}")
                case Rows(where) | People(where):
                    found.append(f"{self._holds(where)} AS p{i}")
                    shown.append(f"p{i}")
                case _:
                    pass
        # A value is named before it is put on its grid, where it is read more than once.
        rows = self.rows(found)
        names = ", ".join([*self._owner, *self.keys, *shown])
        return f"SELECT {names} FROM ({rows}) AS r" if self._of(Total) else rows

    @property
    def sums(self) -> list[str]:
        """The sum over rows of each statistic that is one: s0, s1, ..."""
        return [f"{self._sum(i)} AS s{i}" for i in self._of(Rows, Total)]

    @cached_property
    def pairs(self) -> Kept:
        """One row for each person and group."""
        return self.pairs_of(self.parts())

    def pairs_of(self, parts: str) -> Kept:
        """The same of rows that are given, with the columns of `parts`."""
        sums = self.sums
        flags = [f"BOOL_OR(p{i}) AS q{i}" for i in self._of(People)]
        columns = ", ".join([self._person, *self.keys, "COUNT(*) AS n", *sums, *flags])
        places = _places(1 + len(self.keys))
        return Kept("pairs", f"SELECT {columns} FROM ({parts}) AS r GROUP BY {places}")

    # --- limits ---------------------------------------------------------------------------------

    @cached_property
    def norms(self) -> Kept:
        """For each person: rows in all, rows squared over groups, and groups."""
        wide, total = self.dialect.wide("n"), self.dialect.sum
        l1, l2 = self._at_most(total("n")), self._at_most(total(f"{wide} * n", wide=True))
        columns = f"{self._person}, {l1} AS l1, {l2} AS l2, COUNT(*) AS l0"
        return Kept("norms", f"SELECT {columns} FROM pairs GROUP BY {self._person}")

    @cached_property
    def _norms(self) -> str:
        """The source of norms: kept, or the only row that each person has."""
        if self.keys:
            return "norms"
        l2 = self._at_most(f"{self.dialect.wide('n')} * n")
        shown = f"{self._person}, n AS l1, {l2} AS l2, 1 AS l0"
        return f"(SELECT {shown} FROM pairs) AS norms"

    def _at_most(self, text: str) -> str:
        """A wide number of at least 1 in 64 bits."""
        top = self.dialect.literal(INT64[1], Kind.INTEGER)
        return self.dialect.cast(f"LEAST({text}, {top})", Kind.INTEGER)

    def spread(self, *norms: tuple[str, Sequence[int]]) -> str:
        """How many people first fit each of these rising limits; one bucket more takes the rest.

        The buckets of one norm are numbered after those of the norm before it: all in one pass.
        """
        parts, first = [], 0
        for norm, limits in norms:
            buckets = self.dialect.histogram(norm, [*limits], self._norms)
            parts.append(f"SELECT bucket + {first} AS bucket, people FROM ({buckets}) AS b")
            first += len(limits) + 1
        return f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS b ORDER BY 1"

    def weights(self, bounds: ContributionBounds) -> list[Kept]:
        """The people over the limits and their weights.

        A limit that no statistic is weighed by is left out. Why: see `discreet.plan.bounding`.
        """
        square = bounds.noise_kind is NoiseKind.GAUSSIAN
        norm, power = ("l2", 2) if square else ("l1", 1)
        found = []
        if self._of(*_BY_ROWS):
            limit = bounds.rows**power
            weight = self.weight(norm, limit, square=square)
            if bounds.far is not None:
                far, lower = bounds.far**power, limit * bounds.share
                less = self.weight(norm, lower, square=square)
                if far < limit:  # whoever is over the limit is far out
                    weight, limit = less, max(far, math.floor(lower))
                else:
                    weight = self.dialect.choose([(f"{norm} > {far}", less)], weight)
            found.append(self._over("heavy", norm, limit, weight))
        if self._of(People):
            weight = self.weight("l0", bounds.groups, square=square)
            found.append(self._over("roaming", "l0", bounds.groups, weight))
        return found

    def _over(self, name: str, norm: str, limit: int, weight: str) -> Kept:
        select = f"SELECT {self._person}, {weight} AS w FROM {self._norms} WHERE {norm} > {limit}"
        return Kept(name, select)

    def weight(self, norm: str, limit: Fraction | int, *, square: bool) -> str:
        """The weight of a person whose norm is over a limit."""
        size = self.dialect.as_double(norm)
        size = self.dialect.real(Function.SQRT, size) if square else size
        top = largest_weight(limit, squared=square)
        share = self.dialect.real(Function.DIVIDE, self.dialect.double(top), size)
        return self.dialect.cast(self.dialect.whole(Function.FLOOR, share), Kind.INTEGER)

    # --- totals ---------------------------------------------------------------------------------

    @cached_property
    def totals(self) -> str:
        """The weighted statistics of each group that has rows, t0, t1, ..., as integers.

        `people` is how many people (rows, where each is protected by itself) a group has. Groups
        are in the order of their keys.
        """
        order = ", ".join(f"{i + 1} NULLS LAST" for i in range(len(self.keys)))
        return f"{self.unordered_totals} ORDER BY {order}" if self.keys else self.unordered_totals

    @cached_property
    def unordered_totals(self) -> str:
        """The same in any order."""
        sums = [f"{text} AS {name}" for name, text in self._saturated().items()]
        columns = ", ".join([*self.keys, "people", *sums])
        return f"SELECT {columns} FROM ({self._sums()}) AS t"

    def _saturated(self) -> dict[str, str]:
        """Each total in 64 bits: moving two sums to the end moves them no further apart."""
        names = [f"t{i}" for i in self._of(Rows, Total, People)]
        return {name: saturated(name, self.dialect) for name in names}

    def _sums(self) -> str:
        if self.query.is_by_row:
            parts = {i: f"{self._sum(i)} * {FULL}" for i in self._of(Rows, Total)}
            parts |= {i: f"COUNT(*) FILTER (WHERE p{i}) * {FULL}" for i in self._of(People)}
            source = f"({self.parts()}) AS r"
        else:
            total, full = self.dialect.sum, self.dialect.literal(FULL, Kind.INTEGER)
            of_rows, of_person, joins = "w.of_rows", "w.of_person", self._join(WEIGHTS, "w")
            if not self.participants:  # NULL where a weight is full
                of_rows, of_person = "h.w", "g.w"
                joins = self._join("heavy", "h") if self._of(Rows, Total) else ""
                joins += self._join("roaming", "g") if self._of(People) else ""
            weighed = {i: f"s{i} * COALESCE({of_rows}, {full})" for i in self._of(Rows, Total)}
            parts = {i: total(text, wide=True) for i, text in weighed.items()}
            parts |= {
                i: total(f"CASE WHEN q{i} THEN COALESCE({of_person}, {full}) ELSE 0 END")
                for i in self._of(People)
            }
            source = f"pairs{joins}"
        sums = [f"{part} AS t{i}" for i, part in sorted(parts.items())]
        return self._grouped(["COUNT(*) AS people", *sums], source)

    def ranks(self, statistic: Ranks) -> str:
        """The weight in each occupied cell of each released group, by place."""
        rows = self.rows([f"{self._counted(statistic.value, statistic.where)} AS cell"])
        place = cell("cell", statistic.low, statistic.high, statistic.cells, self.dialect)
        columns = ", ".join([*self._owner, *self.keys, f"{place} AS cell"])
        source = f"(SELECT {columns} FROM ({rows}) AS r) AS r"
        weight = self.dialect.literal(FULL, Kind.INTEGER)
        if not self.query.is_by_row and not self.query.has_known_keys:
            match = self._same("r", "p", [self._person, *self.keys])
            source = self.dialect.matching(source, "pairs AS p", match)
        if not self.query.is_by_row:
            source, weight = f"{source}{self._join('heavy', 'h')}", f"COALESCE(h.w, {weight})"
        summed = ["cell", f"{saturated(self.dialect.sum(weight), self.dialect)} AS weight"]
        grouped = self._grouped(summed, f"{source} WHERE cell IS NOT NULL", extra=1)
        # Whoever is far over the limits weighs nothing, and a cell that they alone are in is empty.
        there = f"SELECT * FROM ({grouped}) AS t WHERE weight > 0"
        return self._placed(there, ["cell", "weight"])

    def distincts(self, statistic: Distinct, limit: int) -> str:
        """How many different values each released group has, or their sum, of `limit` a person."""
        value = self.dialect.render(statistic.value, columns_of(self.query.relation))
        rows = self.rows([f"{value} AS v", f"{self._holds(statistic.where)} AS counts"])
        if self.query.is_by_row:
            source = f"({rows}) AS r WHERE counts"
        else:
            columns = ", ".join([self._person, *self.keys, "v"])
            each = f"SELECT DISTINCT {columns} FROM ({rows}) AS r WHERE counts"
            kind = infer(statistic.value, columns_of(self.query.relation)).kind
            kinds = {**self._key_kinds, "v": kind}
            few = first_rows(each, self._person, kinds, limit, self.dialect, self.salt)
            source = f"({few}) AS r"
        whole = f"COUNT(DISTINCT v) * {FULL}"
        if isinstance(statistic, DistinctTotal):
            most = self.dialect.literal(statistic.reach, Kind.INTEGER)
            held = self.dialect.choose([(f"v > {most}", most), (f"v < -{most}", f"-{most}")], "v")
            zero = self.dialect.literal(0, Kind.INTEGER)
            different = f"COALESCE(SUM(DISTINCT {held}), {zero})"
            whole = saturated(f"{self.dialect.wide(different)} * {FULL}", self.dialect)
        counted = [f"{whole} AS t"]
        return self._placed(self._grouped(counted, source), ["t"])

    # --- groups ---------------------------------------------------------------------------------

    def few_groups(self, limit: int) -> list[Kept]:
        """Leave each person `limit` groups at most, chosen by a keyed hash."""
        sums = [f"s{i}" for i in self._of(Rows, Total)]
        others = ["n", *sums, *(f"q{i}" for i in self._of(People))]
        columns = ", ".join([self._person, *self.keys, *others])
        rows = f"SELECT {columns} FROM pairs JOIN norms USING ({self._person})"
        many, few = (f"{rows} WHERE l0 {sign} {limit}" for sign in (">", "<="))
        kinds = self._key_kinds
        chosen = first_rows(many, self._person, kinds, limit, self.dialect, self.salt, others)
        return [Kept("pairs", f"{few} UNION ALL {chosen}"), self.norms]

    def _same(self, one: str, other: str, names: Sequence[str]) -> str:
        """Whether columns of two sources are the same; NULL is a key like any other."""
        return " AND ".join(self.dialect.same(f"{one}.{n}", f"{other}.{n}") for n in names)

    def _placed(self, grouped: str, columns: Sequence[str]) -> str:
        """Columns by the place of their group in the session's table `groups`, in order."""
        shown, order = ", ".join(f"t.{c}" for c in columns), _places(1 + len(columns))
        if not self.keys:
            place = self.dialect.literal(0, Kind.INTEGER)
            return f"SELECT {place} AS place, {shown} FROM ({grouped}) AS t ORDER BY {order}"
        return (
            f"SELECT g.place, {shown} FROM ({grouped}) AS t "
            f"JOIN groups AS g ON {self._same('t', 'g', self.keys)} ORDER BY {order}"
        )

    @cached_property
    def placed_totals(self) -> str:
        """The totals of groups whose keys are known, by the place of their combination, in order.

        More than `FEW_KEYS` values of key i are the session's table `d{i}`, with columns `c` (its
        place) and `k`. Groups without rows are not among them; where there is nothing to group by,
        all rows are one group.
        """
        zeros = [f"COALESCE({text}, 0) AS {name}" for name, text in self._saturated().items()]
        if not self.keys:
            shown = ", ".join([f"{self.dialect.literal(0, Kind.INTEGER)} AS place", *zeros])
            return f"SELECT {shown} FROM ({self._sums()}) AS t"
        place, joins = "", ""
        for i, of in enumerate(self.query.key_types):
            own, keys = f"d{i}.c", of.keys or ()
            if 0 < len(keys) <= FEW_KEYS:
                own = self._written_place(f"t.k{i}", keys, of.kind)
            else:
                joins += f" JOIN d{i} ON {self.dialect.same(f't.k{i}', f'd{i}.k')}"
            place = f"({place} * {len(keys)} + {own})" if place else own
        shown = ", ".join([f"{place} AS place", *zeros])
        rows = f"SELECT {shown} FROM ({self._sums()}) AS t{joins}"
        return f"SELECT * FROM ({rows}) AS t WHERE place IS NOT NULL ORDER BY place"

    def _written_place(self, name: str, keys: Sequence[Value], kind: Kind) -> str:
        """The place of a key among a few, NULL for any other."""
        return self.dialect.choose(
            (self.dialect.is_one_of(name, [key], kind), self.dialect.literal(place, Kind.INTEGER))
            for place, key in enumerate(keys)
        )

    # --- texts ----------------------------------------------------------------------------------

    @cached_property
    def _relation(self) -> str:
        return render_relation(self.query.relation, self.dialect, self.salt, self.scanned)

    @property
    def _key_kinds(self) -> dict[str, Kind]:
        kinds = [of.kind for of in self.query.key_types]
        return dict(zip(self.keys, kinds, strict=True))

    @property
    def _person(self) -> str:
        return self.dialect.identifier(PERSON)

    @property
    def _owner(self) -> list[str]:
        """The person's column, where rows have a person."""
        return [] if self.query.is_by_row else [self._person]

    def _sum(self, place: int) -> str:
        """The sum over rows of a statistic, wide; 0 where no row counts."""
        statistic, wide = self.statistics[place], self.dialect.wide
        if isinstance(statistic, Total):
            return f"COALESCE({self.dialect.sum(f'v{place}')}, {wide('0')})"
        every = statistic == Rows(None)
        return wide(f"COUNT(*){'' if every else f' FILTER (WHERE p{place})'}")

    def _of(self, *kinds: type) -> list[int]:
        return [i for i, statistic in enumerate(self.statistics) if isinstance(statistic, kinds)]

    def _listed(self, place: int, keys: Sequence[Value], kind: Kind) -> str:
        """Whether a key is one of those known: written out, or looked up where they are many."""
        if len(keys) <= WRITTEN_KEYS:
            return self.dialect.is_one_of(f"k{place}", keys, kind)
        null = f" OR k{place} IS NULL" if None in keys else ""
        return f"(k{place} IN (SELECT k FROM d{place} WHERE k IS NOT NULL){null})"

    def _holds(self, where: Expression | None) -> str:
        if where is None:
            return "TRUE"
        return f"COALESCE({self.dialect.render(where, columns_of(self.query.relation))}, FALSE)"

    def _counted(self, value: Expression, where: Expression | None) -> str:
        """A number as a double, NULL where the row does not count."""
        scope = columns_of(self.query.relation)
        text = self.dialect.render(value, scope)
        real = self.dialect.as_double(text) if infer(value, scope).kind is Kind.INTEGER else text
        return real if where is None else self.dialect.only_if(self._holds(where), real)

    def _join(self, table: str, alias: str) -> str:
        return f" LEFT JOIN {table} AS {alias} USING ({self._person})"

    def _grouped(self, columns: Sequence[str], source: str, extra: int = 0) -> str:
        """Columns by group; one row in all where there is nothing to group by."""
        text = f"SELECT {', '.join([*self.keys, *columns]) or '1'} FROM {source}"
        count = len(self.keys) + extra
        return f"{text} GROUP BY {_places(count)}" if count else text


def _places(count: int) -> str:
    return ", ".join(str(i + 1) for i in range(count))
