"""Rounded Gaussian noise: the two paths agree, and the law is that of a rounded normal draw."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from discreet import noise
from discreet.errors import InputError
from discreet.noise import exponential, rounded
from discreet.noise.bits import Keystream
from discreet.noise.exponential import IntegerDraws
from discreet.noise.gaussian import BAND, many
from discreet.noise.shape import DrawRequest

VARIANCES = [Fraction(1, 64), Fraction(1, 3), Fraction(2), Fraction(10**4, 7), Fraction(3**50)]


@pytest.mark.parametrize("variance", VARIANCES, ids=float)
def test_the_fast_path_and_arbitrary_precision_agree_on_every_word(variance):
    law, source = rounded.law(variance), Keystream(bytes(32))
    draws = np.array([exponential.one(law.proposal, source) for _ in range(2000)])
    parts, words = source.words(2000), source.words(2000)
    kept, doubt = rounded.fast(draws, parts, words, law.centre, law.rate, law.tilt)
    rows = zip(draws, parts, words, kept, doubt, strict=True)
    for draw, part, word, verdict, unsure in rows:
        exactly = law.keeps(int(draw), int(part) >> 1, int(word) >> 1, source)
        assert unsure or bool(verdict) == exactly


def test_decisions_near_the_edge_are_left_to_arbitrary_precision():
    law, part, draw = rounded.law(Fraction(10**4, 7)), 1 << 61, 17
    w = part / 2**63
    edge = math.exp(law.rate * (draw - law.centre + w) ** 2 + law.tilt * w)
    rng = np.random.default_rng(3)
    for low, high, unsure in ((0, 2.0**-53, True), (1.01 * BAND, 4 * BAND, False)):
        away = rng.choice([-1, 1], 200) * rng.uniform(low, high, 200)
        words = np.array([2 * (int(edge * 2**63) + int(d * 2**63)) for d in away], dtype=np.uint64)
        parts = np.full(200, 2 * part, dtype=np.uint64)
        draws = np.full(200, draw)
        kept, doubt = rounded.fast(draws, parts, words, law.centre, law.rate, law.tilt)
        assert doubt.all() == unsure
        if not unsure:
            source = Keystream(bytes(32))
            exactly = [law.keeps(draw, part, int(word) >> 1, source) for word in words]
            assert kept.tolist() == exactly


@pytest.mark.parametrize("variance", [Fraction(1, 64), 0.25, 1, 2.5, 100, 2.0**40])
def test_draws_follow_the_law_of_a_rounded_normal_draw(variance):
    # Five cuts at 5 deviations of a binomial: a right sampler fails once in 300,000 runs.
    size, sigma = 200_000, math.sqrt(variance)
    draws = np.asarray(noise.rounded_gaussian(variance, size), dtype=np.float64)
    for cut in (-2, -1, 0, 1, 2):
        place = cut if sigma < 2 else round(cut * sigma * 0.7)
        p = NormalDist(0, sigma).cdf(place + 0.5)
        error = math.sqrt(max(p * (1 - p), 1e-6) / size)
        assert abs((draws <= place).mean() - p) <= 5 * error


def test_one_draw_and_a_few_take_the_same_law():
    draws = [noise.rounded_gaussian(4) for _ in range(2000)]
    few = np.concatenate([noise.rounded_gaussian(4, 5) for _ in range(400)])
    for some in (draws, few):
        assert np.var(some) == pytest.approx(4 + 1 / 12, rel=0.2)
        assert abs(np.mean(some)) < 0.25


def test_many_laws_at_once_keep_to_their_positions():
    draws = noise.rounded_gaussian(np.array([1 / 64, 4, 2.0**60] * 5000)).reshape(-1, 3)
    assert not draws[:, 0].any() or abs(draws[:, 0]).max() <= 1
    assert draws[:, 1].var() == pytest.approx(4 + 1 / 12, rel=0.1)
    assert draws[:, 2].astype(float).var() == pytest.approx(2.0**60, rel=0.1)


def test_a_proposal_beyond_64_bits_is_judged_exactly_and_kept_as_a_python_int(monkeypatch):
    huge, law = 1 << 70, rounded.law(Fraction(1 << 112))

    def propose(request, _):
        return IntegerDraws(np.zeros(request.count, dtype=np.int64), {0: huge})

    monkeypatch.setattr(exponential, "many", propose)
    monkeypatch.setattr(rounded.Law, "keeps", lambda *_: True)
    found = many(DrawRequest((law,), None, (15,)), Keystream(bytes(32)), rounded.propose)
    assert huge in found.tolist()


@pytest.mark.parametrize("variance", [0, -1, float("nan"), Fraction(1, 65), 2**113])
def test_variances_that_no_rounded_noise_is_made_for_are_refused(variance):
    with pytest.raises(InputError):
        noise.rounded_gaussian(variance)


def test_an_empty_draw_is_empty():
    assert noise.rounded_gaussian(1, 0).shape == (0,)
