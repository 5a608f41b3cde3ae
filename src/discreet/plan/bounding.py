"""How much of one person enters an answer: limits, integer weights, and the norms they bound.

People with more than the limits count for less, by an integer weight; nobody is refused or dropped
for having much. What that bounds is the theorem that every answer rests on; the proof is in
`docs/explanation/proofs/bounding.md`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

from discreet.plan import relations as rel
from discreet.plan.query import Query
from discreet.plan.schema import MOST_ROWS, Limits

FULL = 1 << 10
"""The weight of a person within the limits; weights are whole numbers from 0 to this."""

_BELOW = 1 - 2.0**-40
"""Outweighs the rounding of the six double operations of a weight, 6 * 2^-53."""


class NoiseKind(Enum):
    """The kind of noise. It decides the norm that limits bound: l1 for Laplace, l2 for Gaussian."""

    LAPLACE = "Laplace"
    GAUSSIAN = "Gaussian"


@dataclass(frozen=True, slots=True)
class ContributionBounds:
    """The largest contribution of one person over all groups, in the norm of the noise.

    Guarantee:
        With n_g rows of a person in group g and the person's weight w, the norm of (w n_g) over all
        groups is at most FULL * `rows`. As a person, they count with weights v in at most l0
        groups: the norm of (v, ..., v) is at most FULL * `groups` for Laplace noise, and its square
        at most FULL^2 * `groups` for Gaussian noise. Where groups are found, they are left at most
        `groups` of them first. For a person whose norm of rows is above `far` the norm of (w n_g)
        is at most FULL * `rows` * `share`, or its square at most FULL^2 * `rows`^2 * `share`.
    Neighbours:
        Adding or removing a person. Changing one removes one and adds one: twice as much.
    Why:
        w is at most FULL * rows / norm, rounded down, for those whose norm exceeds `rows`, and FULL
        for the others; v likewise. Above `far` it is as if `rows`, or its square, were less by the
        `share`. A weight depends on the person's own rows alone, so nobody else's change when they
        leave.
    Edge cases:
        A person more than FULL times over the limit has weight 0. Rows that are protected by
        themselves have weight FULL and are in one group.

    Example:
        >>> [ContributionBounds.stated(Limits(4, 3), kind).rows for kind in NoiseKind]
        [12, 6]

    Reference:
        `docs/explanation/proofs/bounding.md`, Lemma 1. Scaling a person down to a norm: Abadi et
        al., "Deep learning with differential privacy", CCS 2016, Algorithm 1 (there of a gradient).
    """

    noise_kind: NoiseKind
    rows: int
    groups: int
    far: int | None = None
    share: Fraction = Fraction(1)

    @property
    def far_rows(self) -> int:
        """The most rows that count in full above `far`."""
        if self.noise_kind is NoiseKind.LAPLACE:
            return math.floor(self.rows * self.share)
        return math.isqrt(math.floor(self.rows**2 * self.share))

    @property
    def full_rows(self) -> int:
        """The most rows that count in full, for people who have that many."""
        if self.far is None or self.far >= self.rows:
            return self.rows
        return max(self.far, self.far_rows)

    def raised(self, limit: int) -> "ContributionBounds":
        """The same, with as many `rows` as let that many count in full above `far`."""
        if self.noise_kind is NoiseKind.LAPLACE:
            return replace(self, rows=math.ceil(limit / self.share))
        return replace(self, rows=math.isqrt(math.ceil(limit**2 / self.share) - 1) + 1)

    def stored(self) -> list[Any]:
        """Plain JSON, which `read` reads."""
        beyond = () if self.far is None else (self.far, str(self.share))
        return [self.noise_kind.value, self.rows, self.groups, *beyond]

    @staticmethod
    def read(stored: Sequence[Any]) -> "ContributionBounds":
        """What `stored` gave; older versions have no second count."""
        kind, rows, groups, *beyond = stored
        far, share = beyond or (None, 1)
        return ContributionBounds(NoiseKind(kind), rows, groups, far, Fraction(share))

    @staticmethod
    def stated(limits: Limits, noise_kind: NoiseKind) -> "ContributionBounds":
        """The stated limits, in the norm of the noise; 1 for what is not."""
        groups, rows = limits.max_groups or 1, limits.max_rows or 1
        if noise_kind is NoiseKind.LAPLACE:
            return ContributionBounds(noise_kind, groups * rows, groups)
        return ContributionBounds(noise_kind, math.isqrt(groups * rows * rows - 1) + 1, groups)


def largest_weight(limit: Fraction | int, *, squared: bool) -> float:
    """The numerator of a person's weight: this over their norm, rounded down.

    `limit` is one on a squared norm if `squared`.

    Guarantee:
        With a norm N above the limit R, the double quotient w rounded down has w N <= FULL R; of
        squares, w^2 N^2 <= FULL^2 R.
    Neighbours:
        None: it is a function of one person's own norm, and of public limits.
    Why:
        At most six double operations are rounded (`limit` and its root, this product, the norm and
        its root, the quotient), each by a factor of 1 + 2^-53 at most, and _BELOW outweighs them.
    Edge cases:
        A norm of more than FULL times the limit gives 0. Norms within the limit are not divided:
        their weight is FULL. Limits are at least 1/2 and at most 2^40: nothing overflows.

    Example:
        >>> [int(largest_weight(3, squared=False) / norm) for norm in (4, 6, 3072, 3073)]
        [767, 511, 0, 0]

    Reference:
        `docs/explanation/proofs/bounding.md`, Lemma 1.
    """
    return (math.sqrt(limit) if squared else float(limit)) * FULL * _BELOW


def within_groups(limit: int, query: Query) -> int:
    """A limit on one person's groups, no higher than the number of groups where that is public."""
    return min(limit, query.group_count) if query.has_known_keys else limit


def limits_of(query: Query) -> Limits:
    """The limits that are stated: by the question, else by all its tables.

    Nobody is in more groups than there are, or has more rows than a subquery leaves them.
    """
    of_tables = _limits_of_rows(query.relation)
    if query.relation.facts.one_row_each:
        return of_tables
    groups = query.limits.max_groups or of_tables.max_groups
    return Limits(
        None if groups is None else within_groups(groups, query),
        query.limits.max_rows or of_tables.max_rows,
    )


def _limits_of_rows(relation: rel.Relation) -> Limits:
    """The limits that tables state for a relation: UNION adds those of its sides.

    A join on the person alone multiplies rows, up to those that `join_caps` keep; a person is in no
    more groups by the columns of one side. Elsewhere the widest counts. Any limits are sound, since
    weights hold everybody to them; lower ones than people have make answers too low.
    """
    if relation.facts.one_row_each:
        return Limits(1, 1)
    if isinstance(relation, rel.Scan):
        return relation.table.limits
    sides = [_limits_of_rows(one) for one in rel.inputs_of(relation)]
    together = sum if isinstance(relation, rel.Union) else max
    ends = ([one.max_groups for one in sides], [one.max_rows for one in sides])
    groups, rows = (together(e or 0 for e in end) if all(end) else None for end in ends)
    if isinstance(relation, rel.JoinPerson) and relation.multiplies and rows is not None:
        rows = min(math.prod(one.max_rows or 1 for one in sides), rel.MOST_JOINED)
    return Limits(groups and min(groups, MOST_ROWS // (rows or 1)), rows)


def is_stated(limits: Limits) -> bool:
    """Whether nothing has to be chosen."""
    return limits.max_groups is not None and limits.max_rows is not None
