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

from discreet.argument_names import MissingNameError, course_calls, public
from discreet.audit.conformance import check_mechanism as check_mechanism
from discreet.audit.enumerate import check_law as check_law
from discreet.audit.enumerate import enumerate_loss as enumerate_loss
from discreet.audit.evidence import Evidence as Evidence
from discreet.audit.evidence import Point as Point
from discreet.audit.refute import refute as refute
from discreet.audit.releases import compare_paths as compare_paths
from discreet.audit.releases import released as released
from discreet.audit.replay import Difference as Difference
from discreet.audit.replay import Differences as Differences
from discreet.audit.replay import replay as replay
from discreet.audit.report import Audit as Audit
from discreet.audit.report import audit_all as audit_all
from discreet.audit.report import audit_claim as audit_claim
from discreet.audit.report import audit_mechanism as audit_mechanism
from discreet.audit.search import FoundPair as FoundPair
from discreet.audit.search import search as search

__all__ = public("audit")  # noqa: PLE0605 - type checkers read the imports


def __getattr__(name: str) -> object:
    raise MissingNameError(name, __name__)


class _Package(ModuleType):
    """This package, which tells what to call where it is called itself."""

    def __call__(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"audit is a package. Fix: call {course_calls()['refute']}")


sys.modules[__name__].__class__ = _Package
