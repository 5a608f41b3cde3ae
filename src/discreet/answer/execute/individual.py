"""Participation in a question where every person has a budget of their own.

The engine tells what each person would add (`Shares`); whoever keeps the balances decides, before
any total is computed, who is left out (`Admission`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.plan.set_plan import SetPlan
from discreet.answer.plan.sql_statements import SetStatements
from discreet.engines.engine import Session
from discreet.errors import QueryRefused
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.statistics import Distinct, People, Ranks, Statistic
from discreet.sql.writer.individual import OVER_LIMITS, WHOLE_SHARE

PARTICIPANTS = (
    "only people whose own budget could pay are counted; intervals speak of these participants, and"
    " say nothing of whoever was left out"
)
"""Note in every answer about people who have budgets of their own."""


class Admission(Protocol):
    """Decides who takes part in one question, in all of its grouping sets or in none."""

    @property
    def salt(self) -> str:
        """Chooses which rows of a person count: the same whenever it is asked of one charge."""
        ...

    def left_out(self, statements: SetStatements, session: Session) -> pa.Table:
        """The people that a question is measured without, under the engine's name for them.

        The session has the pairs of the question; it has the weights of people afterwards.
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


def by_account(
    statements: SetStatements,
    session: Session,
    accounts: NDArray[np.int64],
    columns: Sequence[NDArray[np.int64]],
    names: Callable[[NDArray[np.int64]], pa.Table],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each account once, with its share of all groups in each measurement, held to the whole.

    `columns` are the `share_columns` of each person and group; `names` tells the people of
    accounts. The session keeps the weights of people above a limit, and their shares are read
    again: to find these people here, among accounts, takes a tenth of the engine's time.

    Why: doubles add whole numbers exactly up to 2^53, and above the whole nothing matters.
    """
    bounds, (*shares, rows) = statements.stated, columns
    above = above_limits(accounts, rows, bounds, statements.compiled.statistics)
    over = np.flatnonzero(above)
    session.put(OVER_LIMITS, names(over).append_column("account", pa.array(over)))
    for kept in statements.bounding(bounds):
        session.keep(*kept)
    again = read_table(session, statements.shares_over())
    if again is not None and len(over):
        others = ~above[accounts]
        accounts, *shares = (
            np.concatenate([one[others], more])
            for one, more in zip([accounts, *shares], again.columns[:-1], strict=True)
        )
    groups = np.bincount(accounts)
    if groups.max(initial=0) <= 1:
        return accounts, np.minimum(np.stack(shares, axis=1), WHOLE_SHARE)
    once = np.flatnonzero(groups)
    sums = [np.bincount(accounts, weights=one)[once] for one in shares]
    return once, np.minimum(np.stack(sums, axis=1), WHOLE_SHARE).astype(np.int64)


def above_limits(
    accounts: NDArray[np.int64],
    rows: NDArray[np.int64],
    bounds: ContributionBounds,
    statistics: Sequence[Statistic],
) -> NDArray[np.bool_]:
    """Which accounts may be above a limit; the engine decides, and weighs, among these alone.

    Why: a sum of squares below 2^53 is exact in doubles, and a larger one stays above 2^52, where
    everybody is looked at.
    """
    squares = np.bincount(accounts, weights=np.square(rows, dtype=np.float64))
    above: NDArray[np.bool_] = squares > min(bounds.rows**2, 1 << 52)
    if any(isinstance(one, People) for one in statistics):
        above |= np.bincount(accounts) > bounds.groups
    return above


def check_individual(sets: tuple[SetPlan, ...]) -> None:
    """Refuse a plan that charges could not be told person by person for.

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
