"""The audit of many claims, as facts for machines; `page` shows them to people."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from discreet.audit.enumerate import check_law, enumerate_loss, remembered
from discreet.audit.evidence import Evidence, points, samples_for, strongest
from discreet.audit.refute import refute
from discreet.audit.releases import RELEASES, compare_paths
from discreet.audit.replay import leaks, paths_of
from discreet.audit.search import NEAR, harder, several
from discreet.errors import InputError
from discreet.mechanisms.mechanism import Claim, Mechanism, RowMechanism
from discreet.privacy import ZCDP, Approximate, Guarantee

_DRAWS: Final = 100
"""So many samples call for one more release beside them, which takes as long as they do."""

_TOLD: Final = 3
"""So many times as many runs are taken question by question, where one row tells less."""

_ROUNDING: Final = 1e-12
"""By how much a float above a stated epsilon may be larger than it."""

_MEASURING: Final = ("law", "samples")
"""Methods whose evidence is an epsilon; the others say whether two things agree."""


@dataclass(frozen=True, slots=True)
class Audit:
    """One claim, all the evidence against it, and the processor time that took."""

    name: str
    claim: Claim
    evidence: tuple[Evidence, ...]
    seconds: float

    @property
    def refuted(self) -> bool:
        """Whether any attempt succeeded."""
        return any(one.refuted for one in self.evidence)

    @property
    def strongest(self) -> Evidence:
        """The attempt that came closest, or went furthest."""
        return strongest([one for one in self.evidence if one.refuted] or [self.measured])

    @property
    def measured(self) -> Evidence:
        """The largest certified epsilon, or the one that came closest.

        What refutes a claim need not come with a number of its own.
        """
        numbers = [one for one in self.evidence if one.method in _MEASURING] or list(self.evidence)
        return max(numbers, key=lambda one: one.bound) if self.refuted else strongest(numbers)

    @property
    def bound(self) -> float:
        """The epsilon below which the claim cannot be true, at the delta of `measured`."""
        return max(0.0, self.measured.bound)

    @property
    def why(self) -> str:
        """The event that refutes the claim or, if none does, the one that came closest."""
        return self.strongest.reason or self.strongest.event

    @property
    def verdict(self) -> str:
        """The verdict in one word."""
        return "REFUTED" if self.refuted else "stands"


def audit_mechanism(
    name: str,
    mechanism: Mechanism,
    *,
    samples: int | None = None,
    alpha: float = 0.01,
    tries: int = 0,
    asked: Guarantee | None = None,
) -> Audit:
    """Try everything on a mechanism; a sound one is refuted with probability at most alpha.

    Its claim is audited, that its `release` does what the claim says, also where it is taken
    question by question, and that both show nothing of two neighbours but what they release.
    `samples` follows the claim unless it is said; with `tries`, so many other neighbours are
    tried, and the hardest of them is audited as well. `asked` is what it was made to keep.
    """
    start = time.process_time()
    many = samples_for(mechanism.guarantee) if samples is None else samples
    claim = harder(mechanism, tries=tries, samples=many) if tries else mechanism.claim
    found = tuple(against_mechanism(mechanism, claim, many, alpha, asked))
    return Audit(name, claim, found, time.process_time() - start)


def against_mechanism(
    mechanism: Mechanism, claim: Claim, samples: int, alpha: float, asked: Guarantee | None = None
) -> Iterator[Evidence]:
    """Everything that `audit_mechanism` tries, one after another: what costs most comes last."""
    if asked is not None:
        yield priced(claim, asked)
    paths, near = paths_of(mechanism), several(mechanism, claim.pairs, NEAR)
    top, reason = points(claim.guarantee)[-1], leaks(mechanism, (*claim.pairs, *near))
    yield Evidence(claim.name, "replay", top, 0.0, "neighbours look alike", reason=reason)
    # Laws of rows are known for any rows; those of numbers, near the numbers of the claim.
    if isinstance(mechanism, RowMechanism) and (claim.law is not None or claim.views) and near:
        with suppress(InputError):  # rows that are refused, which `replay` tells
            yield enumerate_loss(replace(claim, pairs=tuple(near)))
    yield from _against_claim(claim, samples, 3 * alpha / 4)
    runs, each = min(samples, max(RELEASES, samples // _DRAWS)), alpha / 4 / len(paths)
    for path, times in zip(paths, (1, _TOLD), strict=False):
        yield compare_paths(mechanism, runs=times * runs, alpha=each, release=path)


def priced(claim: Claim, asked: Guarantee) -> Evidence:
    """Whether a claim is as strong as what was asked for; parameters may be off by rounding."""
    given, top, reason = claim.guarantee, points(claim.guarantee)[-1], ""
    if isinstance(asked, ZCDP):
        unit, found, most = "rho", given.rho().upper, float(asked.rho0)
    else:
        delta = asked.delta0 if isinstance(asked, Approximate) else Fraction(0)
        unit, found, most = "epsilon", given.epsilon(delta).upper, asked.epsilon(delta).upper
    if found > most * (1 + _ROUNDING):
        reason = f"its guarantee has {unit} {found:.6g}, and {most:.6g} was asked for"
    return Evidence(claim.name, "price", top, 0.0, "it keeps what was asked for", reason=reason)


def audit_claim(
    name: str, claim: Claim, *, samples: int | None = None, alpha: float = 0.01
) -> Audit:
    """Try everything on one claim; a true claim is refuted with probability at most alpha."""
    start = time.process_time()
    return Audit(
        name, claim, tuple(_against_claim(claim, samples, alpha)), time.process_time() - start
    )


def _against_claim(claim: Claim, samples: int | None, alpha: float) -> Iterator[Evidence]:
    """The law first, if there is one, and the samples last."""
    claim = remembered(claim)
    try:
        if claim.law is not None or claim.views:
            yield enumerate_loss(claim)
            alpha = alpha / 2
            yield check_law(claim, samples=samples, alpha=alpha)
        yield refute(claim, samples=samples, alpha=alpha)
    except InputError as error:  # nothing that a claim is about may be refused
        said = f"what it is about is refused: {error}"
        yield Evidence(claim.name, "claim", points(claim.guarantee)[-1], 0.0, said, reason=said)


def audit_all(
    mechanisms: Mapping[str, Mechanism],
    *,
    samples: int | None = None,
    alpha: float = 0.01,
    tries: int = 0,
    asked: Mapping[str, Guarantee | None] = MappingProxyType({}),
) -> Iterator[Audit]:
    """Audit one after another; all of them together err with probability at most alpha."""
    each = alpha / max(1, len(mechanisms))
    for name, one in mechanisms.items():
        price = asked.get(name)
        yield audit_mechanism(name, one, samples=samples, alpha=each, tries=tries, asked=price)


def as_facts(audit: Audit) -> dict[str, Any]:
    """Plain numbers and strings, for JSON."""
    return {
        "name": audit.name,
        "claim": audit.claim.name,
        "guarantee": audit.claim.guarantee.to_dict(),
        "neighbours": audit.claim.guarantee.neighbours.value,
        "epsilon_claimed": audit.measured.point.epsilon,
        "delta": audit.measured.point.delta,
        "epsilon_refuted_up_to": _finite(audit.bound),
        "verdict": audit.verdict,
        "why": audit.why,
        "seconds": audit.seconds,
        "evidence": [
            {name: fact for name, fact in asdict(one).items() if name != "curve"}
            | {"bound": _finite(one.bound), "refuted": one.refuted}
            for one in audit.evidence
        ],
    }


def _finite(number: float) -> float | None:
    """JSON has no infinity, so an epsilon that is one becomes null."""
    return number if math.isfinite(number) else None
