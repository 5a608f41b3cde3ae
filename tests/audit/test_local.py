"""Every local protocol's claim stands, and every planted bug is caught.

Bits are fixed, so the verdicts are the same on every run.
"""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet import noise
from discreet.audit import audit_claim
from discreet.audit.local_protocols import PATHS, PROTOCOLS, audit_protocols
from discreet.local import Mean1Bit, PiecewiseMean, shuffle
from discreet.local.protocol import _KINDS
from discreet.local.secret_shared_sum import SumServer
from discreet.privacy import Pure


def load(name):
    place = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"discreet_{name}", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PLANTED = load("mutants_of_local")
SLOW = {"local-unit-vector-mean"}
mutants = pytest.mark.parametrize("mutant", PLANTED.MUTANTS, ids=lambda one: one.name)


def runs(name):
    return 3_000 if name in SLOW else 40_000


def test_no_protocol_is_missing():
    assert {type(make()) for make in PROTOCOLS.values()} == set(_KINDS.values())


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_claim_stands_and_is_nearly_reached(name):
    [audit] = audit_protocols({name: PROTOCOLS[name]()}, samples=runs(name), alpha=1e-4)

    assert not audit.refuted, audit.strongest
    assert audit.bound > 0.6 * audit.measured.point.epsilon


@pytest.mark.parametrize("name", PATHS)
def test_reports_on_their_way_keep_their_claims(name):
    [audit] = audit_protocols({name: PATHS[name]()}, alpha=1e-4)
    assert not audit.refuted, audit.strongest


def test_a_shuffler_that_keeps_the_order_or_swaps_halves_is_caught(monkeypatch):
    for order in (np.arange, lambda size: np.roll(np.arange(size), size // 2)):
        monkeypatch.setattr(shuffle, "_permutation", order)
        [audit] = audit_protocols({"shuffle": PATHS["local-shuffle"]()})
        assert audit.refuted


def test_a_shuffler_that_counts_copies_as_a_crowd_is_caught(monkeypatch):
    all_rows = lambda parts: [part.rows for part in parts]  # noqa: E731
    monkeypatch.setattr(shuffle, "_once", all_rows)
    [audit] = audit_protocols({"copies": PATHS["local-shuffle-copies"]()})
    assert audit.refuted


def test_a_server_that_draws_again_when_it_is_asked_again_is_caught(monkeypatch):
    true = SumServer.total

    def fresh(server):
        server._noisy = None
        return true(server)

    monkeypatch.setattr(SumServer, "total", fresh)
    [audit] = audit_protocols({"sum": PATHS["local-secret-shared-sum"]()})
    assert audit.refuted


def test_a_server_that_adds_a_share_twice_is_caught(monkeypatch):
    true = SumServer.fits

    def forgetful(server, share):
        server._points.pop(share, None)
        return true(server, share)

    monkeypatch.setattr(SumServer, "fits", forgetful)
    [audit] = audit_protocols({"sum": PATHS["local-secret-shared-sum"]()})
    assert audit.refuted


def test_a_device_that_rounds_anew_every_day_is_caught(monkeypatch):
    true = Mean1Bit.settle
    monkeypatch.setattr(Mean1Bit, "settle", lambda mean, codes, _: true(mean, codes, lambda d: d()))
    [audit] = audit_protocols({"mean": PATHS["local-mean-1bit-for-life"]()})
    assert audit.refuted


def test_a_claim_for_life_that_counts_one_bit_of_two_is_caught():
    claim = PATHS["local-rappor-for-life"]()
    half = Pure(claim.guarantee.epsilon0 / 2, neighbours=claim.guarantee.neighbours)
    [audit] = audit_protocols({"rappor": replace(claim, guarantee=half)})
    assert audit.refuted


def test_a_window_that_leaves_out_the_point_after_it_is_caught(monkeypatch):
    def points(self, codes):
        hit, near, far = (np.asarray(draw) for draw in drawn(self, len(codes)))
        return np.where(hit, codes + near, far + self.window * (far > codes))

    def drawn(self, n):
        yield noise.bernoulli(self.inside, size=n)
        yield noise.below(self.window, size=n)
        yield noise.below(self.grid, size=n)

    monkeypatch.setattr(PiecewiseMean, "_points", points)
    [audit] = audit_protocols({"coarse": PATHS["local-piecewise-mean-coarse"]()})
    assert audit.refuted


@mutants
def test_every_mutant_is_caught(mutant):
    assert mutant.tool(mutant.broken, runs=40_000, alpha=0.01)


@mutants
def test_every_control_passes(mutant):
    assert not mutant.tool(mutant.sound, runs=40_000, alpha=1e-4)


def test_the_nearest_direction_is_caught():
    assert PLANTED.NEAREST.tool(PLANTED.NEAREST.broken, runs=1500, alpha=0.01)


@pytest.mark.audit
@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_claim_stands_with_fresh_bits(name):
    samples = 30_000 if name in SLOW else 1_000_000
    audit = audit_claim(name, PROTOCOLS[name]().claim, samples=samples, alpha=1e-9)

    assert not audit.refuted, audit.strongest


@pytest.mark.audit
def test_repeats_stand_with_fresh_bits():
    for name in ("local-k-randomized-response", "local-rappor"):
        claim = PLANTED.repeated(PROTOCOLS[name](), 10)
        assert not audit_claim(name, claim, samples=300_000, alpha=1e-9).refuted
