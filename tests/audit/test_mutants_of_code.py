"""Bugs planted in the shipped code are caught by an audit of the mechanism that has them.

The default run takes a tenth of the samples that `discreet audit` takes; the runs marked `audit`
take as many, with fresh bits, and audit the controls too.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

from discreet.audit import audit_mechanism

_PLACE = Path(__file__).with_name("mutants_of_code.py")
_SPEC = importlib.util.spec_from_file_location("discreet_mutants_of_code", _PLACE)
planted = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = planted
_SPEC.loader.exec_module(planted)

SLOW = {
    "a-bare-block-in-a-stream-of-31",
    "factorized-variance-times-0.8",
    "half-the-deviation-of-key-counts",
    "holdout-answers-at-twice-their-epsilon",
    "no-noise-at-step-3-of-a-stream-of-31",
    "no-noise-in-the-block-of-step-3-of-31",
    "no-noise-in-the-block-of-step-6-of-31",
    "thin-noise-question-by-question",
    "thin-streams",
    "truth-among-lies",
}
"""Caught in several seconds; most of them with as many samples as `discreet audit` takes."""

FEW, ALPHA = 20_000, 0.01
every = pytest.mark.parametrize("mutant", planted.MUTANTS, ids=lambda one: one.name)
quick = pytest.mark.parametrize(
    "mutant",
    [one for one in planted.MUTANTS if one.name not in SLOW],
    ids=lambda one: one.name,
)


@quick
def test_a_bug_in_the_code_is_caught(mutant):
    assert mutant.tool(mutant.broken, runs=FEW, alpha=ALPHA)


def test_the_code_is_whole_again_after_an_audit():
    mutant = next(one for one in planted.MUTANTS if one.name == "tails-cut-off")
    owner, name, _ = mutant.broken.changes[0]
    before = vars(owner)[name]

    assert mutant.tool(mutant.broken, runs=FEW, alpha=ALPHA)
    assert vars(owner)[name] is before
    assert not audit_mechanism("laplace", mutant.sound.make(), samples=FEW, alpha=ALPHA).refuted


@pytest.mark.audit
@every
def test_a_bug_in_the_code_is_caught_with_fresh_bits(mutant):
    assert mutant.tool(mutant.broken, runs=None, alpha=ALPHA)


@pytest.mark.audit
@every
def test_the_code_without_its_bug_passes_with_fresh_bits(mutant):
    assert not mutant.tool(mutant.sound, runs=None, alpha=1e-9)
