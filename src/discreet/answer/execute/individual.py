"""Participation in a question where every person has a budget of their own.

The engine returns what each person would add (`PeopleShares`); the owner of the balances decides,
before any total is computed, who is left out (`Admission`).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.plan.set_plan import SetPlan
from discreet.answer.plan.sql_statements import SetStatements
from discreet.engines.engine import Session
from discreet.errors import QueryRefused
from discreet.plan.bounding import FULL, NoiseKind, largest_weight
from discreet.plan.kinds import INT64
from discreet.plan.statistics import Distinct, People, Ranks

_STEPS: Final = 1 << 20
"""A part of the sensitivity is rounded up to a multiple of one in so many."""

WHOLE_SHARE: Final = _STEPS**2
"""The share of a person who adds as much as anybody may."""

_SLICE: Final = 1 << 16
"""Pairs that are weighed at once."""

PARTICIPANTS = (
    "only people whose own budget could pay are counted; intervals speak of these participants, and"
    " say nothing of whoever was left out"
)
"""The note of every answer about people with budgets of their own."""


class Admission(Protocol):
    """Decides who takes part in one question, in all of its grouping sets or in none."""

    @property
    def salt(self) -> str:
        """Chooses which rows of a person count: the same whenever it is asked of one charge."""
        ...

    def weights(self, statements: SetStatements, session: Session) -> pa.Table:
        """The session's table of weights for a set, of which the session has the pairs.

        People who do not take part in the question have weight 0.
        """
        ...


def read_table(session: Session, text: str) -> pa.Table | None:
    """All rows of a SELECT; None where there are none, of which an engine may send nothing."""
    batches = list(session.stream(text))
    return pa.Table.from_batches(batches) if batches else None


def read_new_people(session: Session, text: str) -> tuple[list[pa.Array], NDArray[np.bytes_]]:
    """The names and hashes that `render_new_people` selects: hashes have 32 digits, none is NULL.

    Batch by batch: Arrow's form of all hashes beside this one would take as much memory again.
    """
    names, hashes = [], [np.zeros(0, dtype="S32")]
    for batch in session.stream(text):
        names.append(batch.column(0))
        fixed = batch.column(1).cast(pa.binary()).cast(pa.binary(32))
        found: NDArray[np.bytes_] = np.frombuffer(fixed.buffers()[1] or b"", dtype="S32")
        hashes.append(found[fixed.offset : fixed.offset + len(fixed)])
    return names, np.concatenate(hashes)


class PeopleShares(NamedTuple):
    """What people add to a set, and their weights in it.

    `accounts` are named once each, with a row of `shares`: the squared l2 norm of all that the
    person adds to each measurement, of which `WHOLE_SHARE` is the square of the sensitivity.
    `of_rows` and `of_person` are weights by account, full for whoever is not in the set.
    """

    accounts: NDArray[np.int64]
    shares: NDArray[np.int64]
    of_rows: NDArray[np.int64]
    of_person: NDArray[np.int64]


def people_shares(
    statements: SetStatements,
    accounts: NDArray[np.int64],
    columns: Sequence[NDArray[np.int64]],
    people: int,
) -> PeopleShares:
    """The shares and weights of people, from the account and `contribution_columns` of each pair.

    Guarantee:
        Weights are those of `CompiledQuery.weights`. A share, over WHOLE_SHARE, is at least the
        squared norm of what the person adds over the squared sensitivity, and at most 1.
    Why:
        Parts are rounded up to steps, and squares of whole numbers are added. Doubles add these
        exactly up to 2^53, and above the whole nothing matters: no norm is above the sensitivity
        (`docs/explanation/proofs/bounding.md`), so holding a share to the whole takes nothing off.
    """
    bounds, (*sizes, rows), of = statements.stated, columns, statements.compiled.statistics
    measured = statements.measured(bounds)
    by_person = [isinstance(of[one.places[0]], People) for one in measured]
    groups = np.bincount(accounts, minlength=people)
    none = INT64[1]  # for a limit that nothing is weighed by
    of_rows = row_weights(accounts, rows, none if all(by_person) else bounds.rows**2, people)
    of_person = _weights(groups, bounds.groups if any(by_person) else none)
    sums, x = [], iter(sizes)
    for one, person in zip(measured, by_person, strict=True):
        mine = [next(x) for _ in one.combinations]
        weights = of_person if person else of_rows
        sums.append(_squares(mine, accounts, weights, one.sensitivity))
    once = accounts
    if groups.max(initial=0) > 1:
        once = np.flatnonzero(groups)
        sums = [np.bincount(accounts, one)[once].astype(np.float64) for one in sums]
    shares = np.minimum(np.stack(sums, axis=1), WHOLE_SHARE).astype(np.int64)
    return PeopleShares(once, shares, of_rows, of_person)


def row_weights(
    accounts: NDArray[np.int64], rows: NDArray[np.int64], limit: int, people: int
) -> NDArray[np.int64]:
    """The weight of each account's rows: by their squares, summed over groups, and a limit on that.

    Why: sums of doubles are exact below 2^53. A sum that may be larger is made again, of integers.
    """
    squares = np.bincount(accounts, weights=np.square(rows, dtype=np.float64), minlength=people)
    weights = _weights(squares, limit)
    for account in np.flatnonzero(squares >= 1 << 52):
        norm = sum(int(n) ** 2 for n in rows[accounts == account])
        top = largest_weight(limit, squared=True)
        weights[account] = int(top / math.sqrt(norm)) if norm > limit else FULL
    return weights


def _weights(norms: NDArray[np.int64] | NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Weights for squared norms that doubles hold exactly, in the operations of the engines."""
    weights = np.full(len(norms), FULL)
    over = np.flatnonzero(norms > limit)
    weights[over] = np.floor(largest_weight(limit, squared=True) / np.sqrt(norms[over]))
    return weights


def _squares(
    sizes: Sequence[NDArray[np.int64]],
    accounts: NDArray[np.int64],
    weights: NDArray[np.int64],
    sensitivity: int,
) -> NDArray[np.float64]:
    """The squared steps of each pair, added over combinations: whole numbers below 2^53.

    Slice by slice: what stays in the processor's cache takes a third of the time.
    """
    total = np.zeros(len(accounts))
    for first in range(0, len(accounts), _SLICE):
        some = slice(first, first + _SLICE)
        mine = weights[accounts[some]]
        for one in sizes:
            total[some] += np.square(rounded_steps(one[some], mine, sensitivity))
    return total


def rounded_steps(
    sizes: NDArray[np.int64], weights: NDArray[np.int64], sensitivity: int
) -> NDArray[np.int64]:
    """Sizes x times weights w, over S, in steps of one in `_STEPS`: rounded up, held to all steps.

    Guarantee:
        Exact for x of 0 to S, weights of 0 to FULL and S below 2^61.
    Why:
        The quotient is at most 2^30, so four roundings of doubles move it by less than 2^-20: its
        floor, u, is off by one at most. Then w x _STEPS - u S is above -S and below 2 S, within 63
        bits, and so is exact although its two terms may wrap around.
    """
    scaled = weights * _STEPS
    u = (sizes * (scaled / sensitivity)).astype(np.int64)
    rest = sizes * scaled - u * sensitivity
    u += rest > 0
    u += rest > sensitivity
    return np.minimum(u, _STEPS, out=u)


def check_individual(sets: tuple[SetPlan, ...]) -> None:
    """Refuse a plan whose charges could not be computed per person.

    Why: `docs/explanation/proofs/per-person.md` is about Gaussian noise on bounded totals.
    """
    for what, why, fix in (reason for one in sets for reason in _reasons(one)):
        raise QueryRefused(
            f"{what} where every person has a budget of their own",
            why=why,
            fix=fix,
            code="per-person",
        )


def _reasons(plan: SetPlan) -> Iterator[tuple[str, str, str]]:
    statistics = [one for strategy in plan.costs for one in strategy.statistics]
    if plan.finds_keys:
        yield (
            "groups that nobody has listed",
            "finding them takes a delta of everybody at once, also of those who pay nothing else",
            "list the values of the key: columns={'city': Keys([...])}",
        )
    if plan.histograms or plan.contributions is None:
        yield (
            "limits that nobody has stated",
            "choosing them measures everybody first, also those whose budget is used up",
            "state them with the table: limits=Limits(max_groups=..., max_rows=...)",
        )
    if any(isinstance(one, Ranks) for one in statistics):
        yield (
            "a quantile",
            "it is chosen among all values, and no part of its cost is one person's own",
            "ask for AVG, or for counts of ranges",
        )
    if any(isinstance(one, Distinct) for one in statistics):
        yield (
            "a count of different values",
            "what one person adds to it depends on the values of others",
            "ask for COUNT(*), or for the number of people",
        )
    if plan.noise_kind is not NoiseKind.GAUSSIAN:
        yield (
            "Laplace noise",
            "what each person loses adds up in rho, which Gaussian noise costs exactly",
            "ask for a delta above 0, within accounts that count rho or mu-squared",
        )
