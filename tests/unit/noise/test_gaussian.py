"""Gaussian noise, discrete and rounded: the two paths agree, and the laws are as stated."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from discreet import noise
from discreet.errors import InputError
from discreet.noise import exponential, gaussian
from discreet.noise.bits import Keystream, contexts, exact, exp_minus, floor, replaced
from discreet.noise.exponential import IntegerDraws
from scripted_bits import Scripted

VARIANCES = [Fraction(1, 1 << 40), Fraction(1, 3), Fraction(2), Fraction(10**4, 7), Fraction(3**50)]


@pytest.mark.parametrize("variance", VARIANCES, ids=float)
def test_the_fast_path_and_arbitrary_precision_agree_on_every_word(variance):
    law = gaussian.law(variance)
    source = Keystream(bytes(32))
    draws = np.array([exponential.one(law.proposal, source) for _ in range(6000)])
    words = source.words(6000)
    kept, doubt = gaussian.fast(draws, words, law.centre, law.rate)
    for draw, word, verdict, unsure in zip(draws, words, kept, doubt, strict=True):
        exactly = law.keeps(int(draw), int(word) >> 1, source)
        assert unsure or bool(verdict) == exactly
        assert gaussian._keeps(law, int(draw), int(word) >> 1, source) == exactly


def words_at(p, distances):
    return np.array([2 * (int(p * 2**63) + int(d * 2**63)) for d in distances], dtype=np.uint64)


def edge_of(law, draw):
    distance = abs(draw) - law.centre
    return math.exp(law.rate * distance * distance)


def disagreements(law, draw, words):
    draws = np.full(len(words), draw)
    kept, doubt = gaussian.fast(draws, words, law.centre, law.rate)
    source = Keystream(bytes(32))
    return sum(
        not unsure and bool(verdict) != law.keeps(draw, int(word) >> 1, source)
        for word, verdict, unsure in zip(words, kept, doubt, strict=True)
    )


def test_decisions_just_outside_the_band_are_right_and_without_a_band_they_are_caught(monkeypatch):
    law = gaussian.law(Fraction(10**4, 7))
    rng = np.random.default_rng(3)
    signs = rng.choice([-1, 1], 500)
    edge = edge_of(law, 17)
    outside = words_at(edge, signs * gaussian.BAND * rng.uniform(1.01, 4, 500))
    inside = words_at(edge, signs * 2.0**-53 * rng.uniform(0, 1, 500))

    assert disagreements(law, 17, outside) == 0
    assert gaussian.fast(np.full(500, 17), inside, law.centre, law.rate)[1].all()

    monkeypatch.setattr(gaussian, "BAND", 0.0)
    assert disagreements(law, 17, inside) > 10


def test_draws_forced_through_arbitrary_precision_are_the_same_draws(monkeypatch):
    def draw():
        stream = Keystream(b"g" * 32)
        with replaced(lambda: stream):
            return noise.discrete_gaussian(100, size=2000)

    expected = draw()
    monkeypatch.setattr(gaussian, "BAND", 2.0)
    monkeypatch.setattr(exponential, "BAND", 1.0)

    assert np.array_equal(expected, draw())


def test_a_proposal_beyond_64_bits_is_judged_exactly_and_kept_as_a_python_int(monkeypatch):
    huge = 1 << 70
    law = gaussian.law(Fraction(1 << 112))

    def propose(request, _):
        return IntegerDraws(np.zeros(request.count, dtype=np.int64), {0: huge})

    monkeypatch.setattr(exponential, "many", propose)
    monkeypatch.setattr(gaussian.GaussianLaw, "keeps", lambda *_: True)
    some = gaussian.DrawRequest((law,), None, (15,))
    many = gaussian.many(some, Keystream(bytes(32)), gaussian.propose)
    mixed = gaussian.many(
        gaussian.DrawRequest((law,), np.zeros(20, dtype=np.intp), (20,)),
        Keystream(bytes(32)),
        gaussian.propose,
    )

    assert huge in many.tolist()
    assert huge in mixed.tolist()


def test_mixed_variances_draw_each_position_from_its_own_law():
    draws = noise.discrete_gaussian(np.array([0.01, 4, 2.0**60] * 20_000)).reshape(-1, 3)

    assert not draws[:, 0].any()
    assert draws[:, 1].var() == pytest.approx(4, rel=0.05)
    assert draws[:, 2].astype(float).var() == pytest.approx(2.0**60, rel=0.05)


def test_results_have_the_shape_and_type_that_was_asked_for():
    assert type(noise.discrete_gaussian(2)) is int
    assert noise.discrete_gaussian(2, size=0).shape == (0,)
    assert noise.discrete_gaussian(2, size=3).shape == (3,)
    assert noise.discrete_gaussian(2, size=(4, 5)).shape == (4, 5)
    assert noise.discrete_gaussian([1, 2, 3]).dtype == np.int64


@pytest.mark.parametrize("variance", [0, -1, math.nan, math.inf, 2.0**-41, 2**113, True, "1", None])
def test_a_variance_that_is_no_variance_is_refused_with_a_way_to_mend_it(variance):
    with pytest.raises(InputError, match="Fix: "):
        noise.discrete_gaussian(variance)


def test_a_scalar_verdict_on_the_edge_is_settled_by_later_bits():
    law = gaussian.law(Fraction(100))
    down, _ = contexts(200)
    distance = 3 - law.variance / law.proposal.scale
    x = distance * distance / (2 * law.variance)
    edge = floor(down.mul(exp_minus(x, 200)[0], exact(1 << 63)))

    assert gaussian._keeps(law, 3, edge, Scripted([0])) is True
    assert gaussian._keeps(law, 3, edge, Scripted([2**64 - 1])) is False


# --- rounded --------------------------------------------------------------------------------------

ROUNDED_VARIANCES = [
    Fraction(1, 64),
    Fraction(1, 3),
    Fraction(2),
    Fraction(10**4, 7),
    Fraction(3**50),
]


@pytest.mark.parametrize("variance", ROUNDED_VARIANCES, ids=float)
def test_the_fast_path_of_rounded_noise_agrees_with_arbitrary_precision_on_every_word(variance):
    law, source = gaussian.rounded_law(variance), Keystream(bytes(32))
    draws = np.array([exponential.one(law.proposal, source) for _ in range(2000)])
    parts, words = source.words(2000), source.words(2000)
    kept, doubt = gaussian.fast_rounded(draws, parts, words, law.centre, law.rate, law.tilt)
    rows = zip(draws, parts, words, kept, doubt, strict=True)
    for draw, part, word, verdict, unsure in rows:
        exactly = law.keeps(int(draw), int(part) >> 1, int(word) >> 1, source)
        assert unsure or bool(verdict) == exactly


def test_rounded_decisions_near_the_edge_are_left_to_arbitrary_precision():
    law, part, draw = gaussian.rounded_law(Fraction(10**4, 7)), 1 << 61, 17
    w = part / 2**63
    edge = math.exp(law.rate * (draw - law.centre + w) ** 2 + law.tilt * w)
    rng = np.random.default_rng(3)
    for low, high, unsure in (
        (0, 2.0**-53, True),
        (1.01 * gaussian.BAND, 4 * gaussian.BAND, False),
    ):
        away = rng.choice([-1, 1], 200) * rng.uniform(low, high, 200)
        words = np.array([2 * (int(edge * 2**63) + int(d * 2**63)) for d in away], dtype=np.uint64)
        parts = np.full(200, 2 * part, dtype=np.uint64)
        draws = np.full(200, draw)
        kept, doubt = gaussian.fast_rounded(draws, parts, words, law.centre, law.rate, law.tilt)
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


def test_many_rounded_laws_at_once_keep_to_their_positions():
    draws = noise.rounded_gaussian(np.array([1 / 64, 4, 2.0**60] * 5000)).reshape(-1, 3)
    assert not draws[:, 0].any() or abs(draws[:, 0]).max() <= 1
    assert draws[:, 1].var() == pytest.approx(4 + 1 / 12, rel=0.1)
    assert draws[:, 2].astype(float).var() == pytest.approx(2.0**60, rel=0.1)


def test_a_rounded_proposal_beyond_64_bits_is_judged_exactly_and_kept_as_a_python_int(monkeypatch):
    huge, law = 1 << 70, gaussian.rounded_law(Fraction(1 << 112))

    def propose(request, _):
        return IntegerDraws(np.zeros(request.count, dtype=np.int64), {0: huge})

    monkeypatch.setattr(exponential, "many", propose)
    monkeypatch.setattr(gaussian.RoundedLaw, "keeps", lambda *_: True)
    found = gaussian.many(
        gaussian.DrawRequest((law,), None, (15,)), Keystream(bytes(32)), gaussian.propose_rounded
    )
    assert huge in found.tolist()


@pytest.mark.parametrize("variance", [0, -1, float("nan"), Fraction(1, 65), 2**113])
def test_variances_that_no_rounded_noise_is_made_for_are_refused(variance):
    with pytest.raises(InputError):
        noise.rounded_gaussian(variance)


def test_an_empty_rounded_draw_is_empty():
    assert noise.rounded_gaussian(1, 0).shape == (0,)
