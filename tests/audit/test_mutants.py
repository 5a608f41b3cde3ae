"""The auditor has to catch every planted bug, and to let every control pass.

Bits are fixed, so the verdicts are the same on every run; with fresh bits each control would be
refuted with probability at most alpha. The runs marked `audit` use fresh bits and alpha = 1e-9.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

import planted_bugs


def load(name):
    """A file of planted bugs beside this one."""
    place = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"discreet_{name}", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


FILES = ("mutants", "mutants_of_paths", "mutants_of_ranges")
MUTANTS = tuple(mutant for name in FILES for mutant in load(name).MUTANTS)

RUNS, ALPHA = 200_000, 0.01
MANY_RUNS, TINY_ALPHA = 2_000_000, 1e-9

every = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
sampled = pytest.mark.parametrize(
    "mutant",
    [one for one in MUTANTS if one.tool is planted_bugs.samples],
    ids=lambda one: one.name,
)


@every
def test_every_mutant_is_caught(mutant, record_property):
    said = mutant.tool(mutant.broken, runs=RUNS, alpha=ALPHA)
    record_property("caught_by", f"{mutant.tool.__name__}: {said}")

    assert said, f"{mutant.name} survived {mutant.tool.__name__}"


@every
def test_every_control_passes(mutant):
    assert not mutant.tool(mutant.sound, runs=RUNS, alpha=ALPHA)


def test_there_are_many_mutants_and_every_tool_is_needed():
    names = [one.name for one in MUTANTS]

    assert len(names) == len(set(names)) >= 20
    assert {one.tool.__name__ for one in MUTANTS} == {
        "samples",
        "law",
        "counts",
        "replaying",
        "conformance",
        "fork",
        "paths",
    }


KNOWN = {
    "noise scale off by 2": "scale-halved",
    "sensitivity ignoring one side": "sensitivity-of-one-side",
    "threshold > for >=": "key-threshold-at-least-for-above",
    "sparse vector with re-used noise": "sparse-vector-noise-reused",
    "sparse vector with noise not scaled by c": "sparse-vector-not-scaled-by-hits",
    "sparse vector with no query noise": "sparse-vector-no-query-noise",
    "clamp after noise": "clamped-after-the-noise",
    "NaN passing through": "nan-passes-through",
    "float sum": "float-sum",
    "missing last bit of a bit vector": "last-bit-not-randomized",
    "eps^2/8 for permute-and-flip": "permute-and-flip-charged-as-bounded-range",
    "seed reuse across fork": "noise-repeated-after-fork",
    "rounding toward less noise": "scale-rounded-down",
}


def test_every_known_class_of_bugs_has_its_mutant():
    assert set(KNOWN.values()) <= {one.name for one in MUTANTS}


@pytest.mark.audit
@sampled
def test_every_mutant_is_caught_with_fresh_bits(mutant):
    assert mutant.tool(mutant.broken, runs=MANY_RUNS, alpha=TINY_ALPHA)


@pytest.mark.audit
@sampled
def test_every_control_passes_with_fresh_bits(mutant):
    assert not mutant.tool(mutant.sound, runs=MANY_RUNS, alpha=TINY_ALPHA)
