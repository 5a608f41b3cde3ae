"""Tries to refute every claim the package makes. It imports everything, and nothing imports it.

Four ways, from the surest to the widest:

    enumerate_loss   where the output law is small: exact divergences, no error rate
    replay           any call on two neighbours with randomness frozen: all that may differ are
                     released numbers; deterministic
    refute           samples: the best distinguishing event, certified at a stated error rate
    compare_paths    that what is sampled is what is released, call by call

`search` looks for neighbours that are harder to hide than those of a claim.

`audit_mechanism` joins them, and `check_mechanism` holds a class against the face that all
mechanisms share.
"""

import sys
from types import ModuleType
from typing import Any

from discreet.argument_names import MissingNameError, course_calls
from discreet.audit.conformance import check_mechanism
from discreet.audit.enumerate import check_law, enumerate_loss
from discreet.audit.evidence import Evidence, Point
from discreet.audit.refute import refute
from discreet.audit.releases import compare_paths, released
from discreet.audit.replay import Difference, Differences, replay
from discreet.audit.report import Audit, audit_all, audit_claim, audit_mechanism
from discreet.audit.search import FoundPair, search

__all__ = [
    "Audit",
    "Difference",
    "Differences",
    "Evidence",
    "FoundPair",
    "Point",
    "audit_all",
    "audit_claim",
    "audit_mechanism",
    "check_law",
    "check_mechanism",
    "compare_paths",
    "enumerate_loss",
    "refute",
    "released",
    "replay",
    "search",
]


def __getattr__(name: str) -> object:
    raise MissingNameError(name, __name__)


class _Package(ModuleType):
    """This package, which tells what to call where it is called itself."""

    def __call__(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"audit is a package. Fix: call {course_calls()['refute']}")


sys.modules[__name__].__class__ = _Package
