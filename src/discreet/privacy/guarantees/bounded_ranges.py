"""Many choices by the exponential mechanism, bounded together."""

from dataclasses import dataclass

from discreet.privacy.guarantees.group_privacy import GroupPrivacy
from discreet.privacy.guarantees.guarantee import Guarantee, people, stored_as
from discreet.privacy.guarantees.zcdp import ZCDP


@stored_as("ranges/1")
@dataclass(frozen=True, slots=True, init=False)
class Ranges(ZCDP):
    """Bounded-range mechanisms, the squares of whose ranges add up to at most 8 rho.

    Guarantee:
        rho-zCDP, and Gaussian privacy with mu^2 = pi rho. One person may be in many groups, each of
        which has a choice of its own; only the sum of squares of what they move is bounded.
    Why:
        A range of r is r^2/8-zCDP. Its worst pair is a coin with chances p and q, logit(p) -
        logit(q) = r, and a coin is below the curve of mu = probit(p) - probit(q). The derivative of
        the probit by the logit, p (1 - p)/phi(probit(p)), is at most sqrt(2 pi)/4, its value at p =
        1/2. So mu^2 <= pi r^2/8, and both kinds add up.
    Edge cases:
        rho = 0 gives nothing away. With a delta it is all this but for that probability.

    Example:
        >>> Ranges(0.5).rho().upper
        0.5

    Reference: Cesar, Rogers, Bounding, Concentrating, and Truncating (bounded range implies
    concentration); `docs/proofs/gaussian-accounts.md`.
    """

    def group(self, k: int) -> Guarantee:
        """Ranges grow k times."""
        size = people(k)
        if self.delta0 and size > 1:
            return GroupPrivacy(self, size)
        return Ranges(size * size * self.rho0, self.delta0, neighbours=self.neighbours)
