"""Every shipped mechanism is in the catalogue, keeps its face, and its claim stands.

Bits are fixed, so a verdict is the same on every run; the runs marked `audit` use fresh bits, where
a true claim is refuted with probability at most 1e-9.
"""

import importlib
import inspect
import pkgutil

import pytest

import discreet.mechanisms
from discreet.audit import audit_claim, check_mechanism
from discreet.audit.catalogue import CATALOGUE
from discreet.audit.conformance import check_release
from discreet.mechanisms.mechanism import Mechanism

QUICK = (
    "laplace",
    "laplace-fine",
    "gaussian",
    "randomized-response",
    "exponential",
    "permute-and-flip",
    "noisy-max",
    "above-threshold",
    "smooth-sensitivity",
    "tree-count",
)
every = pytest.mark.parametrize("name", CATALOGUE)


def shipped():
    """Every concrete mechanism in the room, by name."""
    found = {}
    for module in pkgutil.iter_modules(discreet.mechanisms.__path__):
        room = importlib.import_module(f"discreet.mechanisms.{module.name}")
        for name, kind in vars(room).items():
            is_one = inspect.isclass(kind) and issubclass(kind, Mechanism)
            if is_one and not inspect.isabstract(kind) and not name.startswith("_"):
                found[name] = kind
    return found


def test_no_shipped_mechanism_is_missing_from_the_catalogue():
    audited = {type(make()) for make in CATALOGUE.values()}

    assert {name for name, kind in shipped().items() if kind not in audited} == set()


def test_the_search_for_mechanisms_finds_them():
    assert {"Laplace", "SparseVector", "KeySelection"} <= set(shipped())


@every
@pytest.mark.usefixtures("fixed_bits")
def test_every_claim_stands(name):
    audit = audit_claim(name, CATALOGUE[name]().claim, samples=100_000, alpha=0.01)

    assert not audit.refuted, audit.strongest


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.usefixtures("fixed_bits")
def test_every_mechanism_keeps_its_face(name):
    check_mechanism(CATALOGUE[name]())


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.usefixtures("fixed_bits")
def test_what_is_audited_is_what_is_released(name):
    check_release(CATALOGUE[name]())


@pytest.mark.audit
@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "subsample-aggregate"])
def test_what_is_audited_is_what_is_released_with_fresh_bits(name):
    check_release(CATALOGUE[name]())


@pytest.mark.audit
@every
def test_every_claim_stands_with_fresh_bits(name):
    audit = audit_claim(name, CATALOGUE[name]().claim, samples=1_000_000, alpha=1e-9)

    assert not audit.refuted, audit.strongest
