"""Every shipped mechanism is in the catalogue, keeps its face, and its claim stands.

Bits are fixed, so a verdict is the same on every run; the runs marked `audit` use fresh bits, where
a true claim is refuted with probability at most 1e-9.
"""

import functools
import importlib
import inspect
import pkgutil

import pytest

import discreet.mechanisms
from discreet.audit import (
    accounting,
    audit_claim,
    check_mechanism,
    compare_paths,
    parameters,
    refute,
    released,
)
from discreet.audit.catalogue import CATALOGUE
from discreet.audit.enumerate import enumerate_loss
from discreet.audit.parameters import PARAMETERS
from discreet.audit.replay import step_by_step
from discreet.mechanisms import sensitivity
from discreet.mechanisms.continual import Stream
from discreet.mechanisms.interaction import Interaction
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.quantile import Quantiles
from discreet.privacy import Neighbours

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


LABELS = {"utility", "neighbours", "variance"}
"""Parameters that a test of their own covers: they say how data are scored, which relation a stated
sensitivity is about, or the square of a scale."""


def test_every_parameter_is_audited_away_from_its_default(monkeypatch):
    """A guarantee that forgets a parameter is right wherever the parameter has its default."""
    known, used = {}, {}

    def listen(kind):
        init, signature = kind.__init__, inspect.signature(kind.__init__)

        @functools.wraps(init)
        def heard(self, *args, **named):
            given = signature.bind(self, *args, **named).arguments
            defaults = {name: one.default for name, one in signature.parameters.items()}
            used[kind] |= {name for name, value in given.items() if value != defaults[name]}
            init(self, *args, **named)

        known[kind], used[kind] = list(signature.parameters)[1:], set()
        monkeypatch.setattr(kind, "__init__", heard)

    for kind in {base for one in shipped().values() for base in one.__mro__}:
        if issubclass(kind, Mechanism) and "__init__" in vars(kind):
            listen(kind)
    for make in CATALOGUE.values():
        make()
    for kind in PARAMETERS.values():
        list(parameters._made(kind))

    silent = {
        f"{kind.__name__}({name}=)"
        for kind, names in known.items()
        for name in names
        if name not in used[kind] | LABELS
    }
    assert silent == set()


def test_every_statistic_with_a_stated_sensitivity_is_held_against_small_data_sets(monkeypatch):
    public = {name for name, one in vars(sensitivity).items() if inspect.isfunction(one)}
    own = {name for name in public if getattr(sensitivity, name).__module__ == sensitivity.__name__}
    assert {name for name in own if not name.startswith("_")} <= set(accounting.STATISTICS)

    total = sensitivity.total  # the range, as if a person were exchanged
    monkeypatch.setattr(sensitivity, "total", lambda lower, upper, **_: upper - lower)
    about = Neighbours.ADD_REMOVE
    assert accounting._loss.__wrapped__("total", about) > 1
    monkeypatch.setattr(sensitivity, "total", total)
    assert accounting._loss.__wrapped__("total", about) <= 1


def test_quantiles_that_forget_a_level_are_refuted(monkeypatch):
    sound = [
        enumerate_loss(CATALOGUE[name]().claim) for name in ("quantiles-two", "quantiles-four")
    ]
    assert not any(one.refuted for one in sound)

    few = property(lambda rule: (len(rule.quantiles) - 1).bit_length())
    monkeypatch.setattr(Quantiles, "levels", few)
    assert enumerate_loss(CATALOGUE["quantiles-two"]().claim).refuted
    assert enumerate_loss(CATALOGUE["quantiles-four"]().claim).refuted


def test_the_search_for_mechanisms_finds_them():
    assert {"Laplace", "SparseVector", "KeySelection"} <= set(shipped())


FEW = 20_000
"""As many samples as catch the bugs that are planted in the code: `test_mutants_of_code.py`."""


@every
def test_every_claim_stands(name):
    audit = audit_claim(name, CATALOGUE[name]().claim, samples=FEW, alpha=0.01)

    assert not audit.refuted, audit.strongest


@every
def test_every_mechanism_keeps_its_face_and_releases_what_is_audited(name):
    check_mechanism(CATALOGUE[name]())


def test_what_can_be_asked_question_by_question_is_examined_that_way():
    kinds = (*Interaction.__subclasses__(), *Stream.__subclasses__())
    asked = {kind.__name__ for kind in kinds if kind.__module__.startswith("discreet.")}
    examined = {type(make()).__name__ for make in CATALOGUE.values() if step_by_step(make())}

    assert asked == {
        "SparseVectorRun",
        "Stream",
        "ReusableHoldout",  # Thresholdout's own release
        "VectorStream",  # replayed with a curator's standing question
    }
    assert examined == {"SparseVector", "AboveThreshold", "TreeCount", "FactorizedCount"}


@pytest.mark.audit
@every
def test_what_is_audited_is_what_is_released_with_fresh_bits(name):
    found = compare_paths(CATALOGUE[name](), runs=4000, alpha=1e-9)

    assert not found.refuted, found.reason


@pytest.mark.audit
@every
def test_every_claim_stands_against_release_itself(name):
    found = refute(released(CATALOGUE[name]()), samples=3000, alpha=1e-9)

    assert not found.refuted, found


@pytest.mark.audit
@every
def test_every_claim_stands_with_fresh_bits(name):
    audit = audit_claim(name, CATALOGUE[name]().claim, samples=1_000_000, alpha=1e-9)

    assert not audit.refuted, audit.strongest
