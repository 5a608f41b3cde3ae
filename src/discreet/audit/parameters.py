"""Every mechanism at parameters away from their defaults, one by one and all together.

The catalogue audits few parameters with many samples. Here are many, each by its law alone: what a
guarantee or a scale forgets shows where it matters.
"""

import inspect
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any, Final

from discreet.audit.catalogue import CATALOGUE
from discreet.audit.distance import too_far
from discreet.audit.enumerate import check_law, enumerate_loss, remembered
from discreet.audit.evidence import Evidence, points
from discreet.audit.replay import leaks
from discreet.audit.report import Audit, priced
from discreet.errors import InputError
from discreet.mechanisms.mechanism import Claim, Mechanism
from discreet.mechanisms.quantile import Quantile
from discreet.privacy import ZCDP, Approximate, Guarantee, Neighbours, Pure

_FEW: Final = 20_000
_HALF, _RARE = Fraction(1, 2), Fraction(1, 100)
_STRENGTHS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"epsilon": 1},
    {"epsilon": _HALF, "delta": _RARE},
    {"rho": _HALF},
    {"mu_squared": 1},
    {"scale": Fraction(9, 4)},
    {"variance": 5},
)
"""Ways to say how strong a guarantee is, or how wide the noise."""

_NEEDED: Final[Mapping[str, Any]] = {
    "sensitivity": 1,
    "outputs": 4,
    "k": 3,
    "threshold": 1,
    "bins": 3,
    "quantile": Fraction(1, 4),
    "quantiles": (Fraction(1, 4), _HALF),
    "lower": 0,
    "upper": 15,
    "statistic": max,
    "blocks": 3,
    "aggregate": Quantile(_HALF, 0, 8, epsilon=1, neighbours=Neighbours.CHANGE_ONE),
    "default": 0,
    "size": 4,
    "bound": 1,
    "horizon": 7,
    "global_sensitivity": 50,
    "largest": 16,
    "failure": _RARE,
    "growth": 2,
}
"""What mechanisms are asked for, so small that laws are."""

_OTHERWISE: Final[Mapping[str, Any]] = {
    "sensitivity": 3,
    "grid": _HALF,
    "monotone": True,
    "neighbours": Neighbours.CHANGE_ONE,
    "dimension": 2,
    "hits": 2,
    "max_groups_per_unit": 3,
    "max_rows_per_unit": 2,
    "steps_per_unit": 2,
    "peel": "permute-and-flip",
    "numeric": True,
    "smallest": 2,
    "bound": 2,
    "lower": -6,
}
"""Values away from defaults."""

_KINDS: Final = dict.fromkeys(type(make()) for make in CATALOGUE.values())


def _asked(said: Mapping[str, Any]) -> Guarantee | None:
    """What a mechanism with these parameters was asked to keep; none where noise was."""
    about = {"neighbours": said.get("neighbours", Neighbours.ADD_REMOVE)}
    if "rho" in said:
        return ZCDP(said["rho"], **about)
    if "epsilon" in said and "delta" in said:
        return Approximate(said["epsilon"], said["delta"], **about)
    return Pure(said["epsilon"], **about) if "epsilon" in said else None


def _made(kind: type) -> Iterator[tuple[dict[str, Any], Mechanism]]:
    """The mechanism at each strength, with no other parameter, each of them, and all of them."""
    known = inspect.signature(kind).parameters
    plain = {name: one for name, one in _NEEDED.items() if name in known}
    other = {name: one for name, one in _OTHERWISE.items() if name in known}
    alone = [{name: one} for name, one in other.items()]
    most = [{**other, "monotone": False}, {**other, "neighbours": Neighbours.ADD_REMOVE}]
    together = [{name: way[name] for name in other} for way in most]  # not both of these
    for strength, way in product(_STRENGTHS, ({}, *alone, *together)):
        said = {**plain, **strength, **way}
        with suppress(InputError, TypeError):  # it lacks some, or they exclude each other
            yield said, kind(**said)


def _wrong(said: Mapping[str, Any], rule: Mechanism, claim: Claim) -> Iterator[str]:
    if "neighbours" in said and rule.guarantee.neighbours is not said["neighbours"]:
        yield "its guarantee is about other neighbours"
    for pair in claim.pairs:
        yield from too_far(rule, (pair.left,), (pair.right,))
    yield from filter(None, [leaks(rule, claim.pairs)])


PARAMETERS: Final = {f"parameters-{kind.__name__.lower()}": kind for kind in _KINDS}
"""Names as the command line takes them."""


def audit_parameters(name: str, kind: type, *, alpha: float = 0.01) -> Audit:
    """Hold the laws of one kind of mechanism against its guarantees, wherever both are known."""
    start, found, made = time.process_time(), list[Evidence](), list(_made(kind))
    for said, rule in made:
        claim = remembered(rule.claim)
        top = points(claim.guarantee)[-1]
        reason = "; ".join(dict.fromkeys(_wrong(said, rule, claim)))
        found.append(Evidence(claim.name, "neighbours", top, 0.0, str(said), reason=reason))
        if (asked := _asked(said)) is not None:
            found.append(priced(claim, asked))
        if claim.law is not None or claim.views:
            found.append(enumerate_loss(claim))
            found.append(check_law(claim, samples=_FEW, alpha=alpha / len(made)))
    return Audit(name, claim, tuple(found), time.process_time() - start)
