"""Samplers have their laws on every path; a bug on one path alone is caught."""

from importlib import import_module

import numpy as np
import pytest

from discreet.audit.samplers import SAMPLERS, audit_sampler
from discreet.noise.bits import Keystream, replaced

exponential, gaussian, student = (
    import_module(f"discreet.noise.{name}") for name in ("exponential", "gaussian", "student")
)


@pytest.mark.parametrize(
    "name", ["noise-laplace", "noise-gaussian", "noise-coins", "training-samples"]
)
def test_sound_samplers_stand(name):
    assert not audit_sampler(name, SAMPLERS[name](), alpha=1e-6).refuted


def refuted(name):
    return audit_sampler(name, SAMPLERS[name](), alpha=1e-6).refuted


def test_single_draws_of_half_the_deviation(monkeypatch):
    original = gaussian.one_rounded
    thin = lambda law, source: original(gaussian.rounded_law(law.variance / 4), source)  # noqa: E731
    monkeypatch.setattr(gaussian, "one_rounded", thin)

    assert refuted("noise-rounded-gaussian")


def test_requests_under_one_key_that_share_their_bits(monkeypatch):
    shared = lambda _key, _label: replaced(lambda: Keystream(bytes(32)))  # noqa: E731
    monkeypatch.setattr("discreet.audit.samplers.keyed", shared)

    assert refuted("noise-coins")


def test_tails_that_are_cut_off(monkeypatch):
    original = student._in_floats

    def cut(prefixes, scale):
        values, doubt = original(prefixes, scale)
        return np.clip(values, -10 * scale, 10 * scale), doubt

    monkeypatch.setattr(student, "_in_floats", cut)

    assert refuted("noise-student")


def test_low_bits_that_overlap_high_ones_in_wide_draws(monkeypatch):
    original = exponential._join

    def overlapping(law, high, sign, word, source):
        return original(law, high | word & 1, sign, word, source)

    monkeypatch.setattr(exponential, "_join", overlapping)

    assert refuted("noise-laplace-wide")


def test_people_who_are_sampled_at_another_rate_or_by_one_coin_for_all_steps(monkeypatch):
    sampling = import_module("discreet.learn.torch.sampling")
    true = sampling.bernoulli
    monkeypatch.setattr(sampling, "bernoulli", lambda rate, n: true(rate * 51 / 50, n))
    assert refuted("training-samples")
    kept = {}
    monkeypatch.setattr(sampling, "bernoulli", lambda rate, n: kept.setdefault(n, true(rate, n)))
    assert refuted("training-samples")


@pytest.mark.parametrize("name", ["noise-coins", "noise-flips"])
def test_a_keystream_that_repeats_itself_is_caught(monkeypatch, name):
    true, most = Keystream.words, 1 << 17

    def repeating(source, count):
        return np.resize(true(source, min(count, most)), count)

    monkeypatch.setattr(Keystream, "words", repeating)

    assert refuted(name)


def test_blocks_of_draws_that_share_their_words_are_caught(monkeypatch):
    original = exponential.fast
    first = []

    def shared(words, *said):
        first[:] = first or [words]
        return original(first[0][: len(words)], *said)

    monkeypatch.setattr(exponential, "fast", shared)

    assert refuted("noise-laplace")
