"""What people add to many charges, read at once: how balances are rebuilt in little time.

    people whose rows are equal in the columns read ──> one class, for which one person stands
    the questions, put to these people alone, in few statements ──> costs of each charge, by class

Guarantee:
    Everybody's cost of each charge is the one that the charge read by itself would have.
Why:
    What a person adds is a function of that person's rows, in the columns that the question
    mentions. Names choose rows only where a question is salted; such questions, and those that
    read several private tables, are read by themselves.
"""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.answer.execute.individual import WHOLE_SHARE, PeopleShares, people_shares
from discreet.answer.execute.measure_set import put_domains
from discreet.answer.plan.sql_statements import SetStatements
from discreet.curator.ledger.orders import Entry, canonical
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.engines.engine import Session
from discreet.plan import relations as rel
from discreet.plan.expressions import mentions
from discreet.plan.kinds import Kind
from discreet.plan.query import Query, measured_in
from discreet.plan.schema import PERSON
from discreet.privacy.budgets.individual_balances import MOST_UNITS, price_units, share_costs
from discreet.sql.writer.compile import WRITTEN_KEYS
from discreet.sql.writer.dialect import Dialect, view_name

ByAccount: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Accounts, each once, and what is said of each."""


def charge_salt(key: str, sequence: int) -> str:
    """The secret that decides which rows of a person count; the same at every replay."""
    return hmac.new(key.encode(), f"salt {sequence}".encode(), hashlib.sha256).hexdigest()[:32]


def charged_sets(entry: Entry) -> Sequence[Mapping[str, Any]]:
    """The plans of a charge's grouping sets."""
    decided: Sequence[Mapping[str, Any]] = entry.facts["decisions"]["sets"]
    return decided


def set_prices(entry: Entry) -> list[list[int]]:
    """The cost in units of each measurement of each set, for the largest contribution."""
    return [
        [price_units(Fraction(cost)) for _, cost in one["measured"]] for one in charged_sets(entry)
    ]


def share_signature(entry: Entry) -> str:
    """All of a charge that the shares of people depend on, except its secret."""
    asked = StoredOrder.parse(entry.facts["plan"])
    decided = [
        [one["bounds"], [places for places, _ in one["measured"]]] for one in charged_sets(entry)
    ]
    return canonical([entry.facts["version"], asked.query, decided])


def charge_costs(entry: Entry, sets: Sequence[PeopleShares]) -> ByAccount:
    """What people pay over all sets of a charge, each person once."""
    if len(sets) == 1:
        [prices] = set_prices(entry)
        return sets[0].accounts, share_costs(sets[0].shares, prices, WHOLE_SHARE)
    once = np.unique(np.concatenate([one.accounts for one in sets]))
    by_place = [(np.searchsorted(once, one.accounts), one.shares) for one in sets]
    return once, class_costs(entry, by_place, len(once))[:-1]


def class_costs(entry: Entry, shares: Iterable[ByAccount], classes: int) -> NDArray[np.int64]:
    """What each class of people pays over all sets of a charge, -1 where it is in none; -1 last."""
    costs = np.full(classes + 1, -1, dtype=np.int64)
    for (places, rows), prices in zip(shares, set_prices(entry), strict=True):
        paid = np.maximum(costs[places], 0) + share_costs(rows, prices, WHOLE_SHARE)
        costs[places] = np.minimum(paid, MOST_UNITS)
    return costs


_STATEMENT, _AT_ONCE = 100, 1 << 22
"""Charges of one statement, and people times charges of one."""

_ROWS_COMPARED: Final = 16
"""A person with more rows is in a class of their own."""

_SHIFT: Final = 32
"""A person of a batch is the number of the charge, and in so many bits the class."""

_REPRESENTATIVES, _MEMBERS = "representatives", "members"

_OF_ROWS = (
    rel.Scan | rel.FilterRows | rel.Project | rel.JoinPublic | rel.MatchPublic | rel.PerPerson
)
"""Relations that mention every column which they read, by its name."""


class Batch(NamedTuple):
    """What charges have in common that are read at once: the data, and what they read of it."""

    tables: frozenset[str]
    dataset: str
    version: int
    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ReadCharge:
    """A charge, the statements of its sets, and the version of the data that it was made for."""

    entry: Entry
    sets: tuple[SetStatements, ...]
    tables: frozenset[str]
    version: int

    @property
    def dataset(self) -> str:
        """The dataset that it is about."""
        return str(self.entry.facts["dataset"])

    @cached_property
    def batch(self) -> "Batch | None":
        """What charges of one batch have in common; None for one that is read by itself."""
        queries = [one.plan.query for one in self.sets]
        private = {table.name: table for one in queries for table in one.relation.facts.tables}
        nodes = [node for one in queries for node in rel.nodes_of(one.relation)[0]]
        of_rows = all(isinstance(node, _OF_ROWS) for node in nodes)
        if len(private) > 1 or not of_rows or any(one.is_salted for one in self.sets):
            return None
        [(name, table)] = private.items()
        columns = {column for one in queries for column in _mentioned(one)}
        read = tuple(column for column in table.columns if column in columns)
        return Batch(self.tables, self.dataset, self.version, name, read)


def _mentioned(query: Query) -> Iterator[str]:
    """The names of all columns in the expressions of a question."""
    yield from (name for key in query.keys for name in mentions(key.expression))
    yield from (name for one in measured_in(query) for name in mentions(one))
    for node in rel.nodes_of(query.relation)[0]:
        yield from (name for one in rel.expressions_of(node) for name in mentions(one))


# --- classes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PersonClasses:
    """The class of each account, -1 for none, and an account of each class."""

    of: NDArray[np.int32]
    members: NDArray[np.int64]

    @staticmethod
    def find(accounts: NDArray[np.int64], columns: Sequence[pa.ChunkedArray]) -> "PersonClasses":
        """The classes of people by their rows: who has the same rows, each as often, is of one.

        Edge cases: 0 and -0 are different values, NULL is one, and so is each NaN.
        """
        codes = _row_codes(len(accounts), columns)
        rows = np.bincount(accounts)
        who = np.flatnonzero(rows)
        if rows.max(initial=0) <= 1:
            kinds = np.empty(len(rows), dtype=np.int64)
            kinds[accounts] = codes
            kinds = kinds[who]
        else:
            kinds = _kinds(rows[who], codes[np.lexsort((codes, accounts))])
        of = np.full(len(rows), -1, dtype=np.int32)
        of[who] = kinds = _dense(kinds)
        members = np.empty(int(kinds.max(initial=-1)) + 1, dtype=np.int64)
        members[kinds] = who
        return PersonClasses(of, members)


def _kinds(rows: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each person, the same for the same codes: `rows` of them, in order."""
    kinds, first = np.zeros(len(rows), dtype=np.int64), np.cumsum(rows) - rows
    most = int(codes.max()) + 1
    for i in range(min(int(rows.max()), _ROWS_COMPARED)):
        more = np.flatnonzero(rows > i)
        after = int(kinds.max()) + 1  # whoever has no further row keeps another number
        kinds[more] = after + _dense(kinds[more] * most + codes[first[more] + i])
    many = np.flatnonzero(rows > _ROWS_COMPARED)
    kinds[many] = int(kinds.max()) + 1 + np.arange(len(many))
    return kinds


def _row_codes(rows: int, columns: Sequence[pa.ChunkedArray]) -> NDArray[np.int64]:
    """A number for each row, the same for rows that are the same bit by bit."""
    codes = np.zeros(rows, dtype=np.int64)
    for column in columns:
        values = column
        if pa.types.is_floating(column.type):
            bits = pa.array(column.fill_null(0).to_numpy().view(np.int64))
            values = pc.if_else(column.is_valid(), bits, pa.scalar(None, pa.int64()))
        elif pa.types.is_string(column.type):  # all texts of a column may take more than 2 GiB
            values = column.cast(pa.large_string())
        found = values.dictionary_encode(null_encoding="encode").chunks  # of one dictionary
        indices = np.concatenate([np.zeros(0, np.int64), *(one.indices for one in found)])
        codes = _dense(codes * max([1, *(len(one.dictionary) for one in found)]) + indices)
    return codes


def _dense(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers from 0 on without gaps, equal where `numbers` are; those are not negative."""
    top = int(numbers.max(initial=0)) + 1
    if top > 4 * len(numbers) + 1:
        return np.unique(numbers, return_inverse=True)[1]
    there = np.zeros(top, dtype=np.int64)
    there[numbers] = 1
    return (np.cumsum(there) - 1)[numbers]


def render_rows(batch: Batch, dialect: Dialect) -> str:
    """The SELECT of a table's people with the columns read, c0, c1, ..."""
    texts = [f"{dialect.identifier(one)} AS c{i}" for i, one in enumerate(batch.columns)]
    shown = ", ".join([dialect.identifier(PERSON), *texts])
    return f"SELECT {shown} FROM {view_name(batch.table, dialect)}"  # noqa: S608 - identifiers


# --- batches --------------------------------------------------------------------------------------


def read_costs(
    charges: Sequence[ReadCharge], batch: Batch, names: pa.ChunkedArray, session: Session
) -> Iterator[tuple[ReadCharge, NDArray[np.int64]]]:
    """The costs by class of charges of one batch; `names` are the people of classes, in order."""
    dialect = charges[0].sets[0].compiled.dialect
    session.put(_MEMBERS, pa.table({PERSON: names, "number": np.arange(len(names))}))
    person = dialect.identifier(PERSON)
    shown = [f"m.number AS {person}", *(f"s.{dialect.identifier(one)}" for one in batch.columns)]
    join = f"{view_name(batch.table, dialect)} AS s JOIN {_MEMBERS} AS m ON s.{person} = m.{person}"
    session.keep(_REPRESENTATIVES, f"SELECT {', '.join(shown)} FROM {join}")  # noqa: S608 - identifiers
    alike = defaultdict[Any, list[tuple[int, int]]](list)
    for i, one in enumerate(charges):
        for j, statements in enumerate(one.sets):
            alike[_form(statements)].append((i, j))
    shares = dict[tuple[int, int], ByAccount]()
    size = max(1, min(_STATEMENT, _AT_ONCE // max(len(names), 1)))
    for places in alike.values():
        for start in range(0, len(places), size):
            some = places[start : start + size]
            sets = [charges[i].sets[j] for i, j in some]
            shares |= zip(some, _read(sets, batch, len(names), session), strict=True)
    for i, one in enumerate(charges):
        found = (shares[i, j] for j in range(len(one.sets)))
        yield one, class_costs(one.entry, found, len(names))


def _form(one: SetStatements) -> tuple[Any, ...]:
    """All that the statements of sets differ by, except the rows that they read."""
    kinds = [(type(s), getattr(s, "where", None) is None) for s in one.compiled.statistics]
    keys = [
        (of.kind, of.keys if len(of.keys or ()) > WRITTEN_KEYS else None)
        for of in one.plan.query.key_types
    ]
    return one.stated, tuple(one.measured(one.stated)), tuple(kinds), tuple(keys)


def _read(
    sets: Sequence[SetStatements], batch: Batch, classes: int, session: Session
) -> Iterator[ByAccount]:
    """The shares of each class in each of some sets of one form."""
    compiled, dialect = sets[0].compiled, sets[0].compiled.dialect
    person = dialect.identifier(PERSON)
    put_domains(sets[0].plan.query, session)
    read, texts = [*map(dialect.identifier, batch.columns)], []
    for k, one in enumerate(sets):
        shifted = f"{dialect.literal(k << _SHIFT, Kind.INTEGER)} + {person} AS {person}"
        source = f"(SELECT {', '.join([shifted, *read])} FROM {_REPRESENTATIVES}) AS v"  # noqa: S608 - identifiers
        texts.append(replace(one.compiled, scanned=source).parts())
    session.keep(*compiled.pairs_of(" UNION ALL ".join(texts)))
    batches = list(session.stream(sets[0].contributions()))
    people, *columns = (
        np.concatenate([np.zeros(0, np.int64), *(one.column(i) for one in batches)])
        for i in range(1 + len(sets[0].contribution_columns))
    )
    accounts = (people >> _SHIFT) * classes + people % (1 << _SHIFT)
    found = people_shares(sets[0], accounts, columns, len(sets) * classes)
    order = np.argsort(found.accounts)
    places, rows = found.accounts[order], found.shares[order]
    ends = np.searchsorted(places, np.arange(len(sets) + 1) * classes)
    for k, (start, end) in enumerate(pairwise(ends)):
        yield places[start:end] - k * classes, rows[start:end]
