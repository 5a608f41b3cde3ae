"""Failure classes of noise and mechanisms, each by its letter, and what happens here instead.

A is noise and floating point, B sensitivity, C values, types and domains, E randomness, F budgets.
Classes that one mechanism alone can fail are tested with it, under the same letters; the last test
says where each class is, and fails if one is nowhere.
"""

import contextvars
import inspect
import math
import os
import pkgutil
import random
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import discreet.mechanisms
from discreet import noise
from discreet.audit import refute, replay
from discreet.audit.catalogue import CATALOGUE
from discreet.audit.recorder import Recorder
from discreet.audit.trace import picture
from discreet.errors import DiscreetError, InputError
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import TestedMedian
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.smooth_sensitivity import SmoothMedian, SmoothSensitivity
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.stability_histogram import LaplaceThreshold
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.noise import exponential
from discreet.noise.bits import Keystream, replaced
from discreet.privacy import Neighbours, Pure

every = pytest.mark.parametrize("name", CATALOGUE)

# --- A: noise and floating point -----------------------------------------------------------------


def uniform(runs):
    return noise.below(1 << 53, size=runs).astype(np.float64) * 2.0**-53


def sum_of_four(value, runs):
    """Laplace noise from four uniforms, once proposed as proof against attacks on low bits."""
    a, b, c, d = (uniform(runs) for _ in range(4))
    logs = np.log1p(-a) * np.cos(np.pi * b) + np.log1p(-c) * np.cos(np.pi * d)
    return value + logs


def on_a_grid(value, runs):
    return Laplace(epsilon=1, sensitivity=1, grid=2.0**-40).draw(value, runs)


def below_the_grid(draw, value):
    """How many of the answers near 0 have bits below 2^-53."""
    answers = draw(value, 20_000)
    near = answers[np.abs(answers) < 0.5]
    return float((near * 2.0**53 % 1 != 0).mean())


def test_a3_a_sum_of_four_samples_does_not_mend_the_low_bits():
    assert [below_the_grid(on_a_grid, value) for value in (0.0, 1.0)] == [0.0, 0.0]
    assert below_the_grid(sum_of_four, 0.0) > 0.5
    assert below_the_grid(sum_of_four, 1.0) == 0.0


def test_a3_the_auditor_refutes_a_sum_of_four_samples():
    claims = [Claim("", Pure(1), (Pair(0.0, 1.0),), draw) for draw in (sum_of_four, on_a_grid)]

    assert [refute(claim, samples=50_000).refuted for claim in claims] == [True, False]


class Counted:
    """A keystream that counts its words."""

    def __init__(self, key):
        self.stream, self.count = Keystream(key.to_bytes(32)), 0

    def word(self):
        self.count += 1
        return self.stream.word()

    def words(self, count):
        self.count += count
        return self.stream.words(count)


def words_and_draw(draw, key):
    source = Counted(key)
    with replaced(lambda: source):
        drawn = draw()
    return source.count, drawn


SCORES = [3, 1, 4, 1, 5]
ONE_BY_ONE = {
    "laplace": lambda size: noise.discrete_laplace(1, size),
    "wide laplace": lambda size: noise.discrete_laplace(1000, size),
    "very wide laplace": lambda size: noise.discrete_laplace(2**40, size),
    "geometric": lambda size: noise.geometric(10, size),
    "coin": lambda size: noise.bernoulli(Fraction(1, 3), size),
    "exponential coin": lambda size: noise.bernoulli_exp(Fraction(1, 3), size),
    "uniform": lambda size: noise.below(7, size),
    "choice": lambda size: noise.choose(SCORES, 1, size),
    "permute and flip": lambda size: noise.permute_and_flip(SCORES, 1, size),
}


@pytest.mark.parametrize("size", [None, 5, 100], ids=["scalar", "few", "vector"])
@pytest.mark.parametrize("law", ONE_BY_ONE)
def test_a4_random_words_are_as_many_as_draws_whatever_is_drawn(law, size):
    """More words are drawn once in 2^20 draws at most, for reasons that the draw does not show."""
    seen = [words_and_draw(lambda: ONE_BY_ONE[law](size), key) for key in range(100)]

    assert len({count for count, _ in seen}) == 1
    assert len({repr(drawn) for _, drawn in seen}) > 1


def test_a4_how_often_a_gaussian_starts_over_says_nothing_of_its_size():
    """A rank correlation of 10,000 independent pairs exceeds 0.05 with probability 6e-7."""
    seen = [words_and_draw(lambda: noise.discrete_gaussian(100), key) for key in range(10_000)]
    counts, draws = zip(*seen, strict=True)

    assert len(set(counts)) > 1
    assert abs(stats.spearmanr(counts, np.abs(draws)).statistic) < 0.05


def test_a4_a_vector_of_gaussians_proposes_enough_at_once():
    seen = {words_and_draw(lambda: noise.discrete_gaussian(100, 100), key)[0] for key in range(100)}

    assert len(seen) == 1


def test_a4_the_width_of_noise_for_a_median_does_not_show_in_its_words():
    # With some eighty people the scale passes 2^21, from where on a draw takes two words.
    median = SmoothMedian(0, 2**30, epsilon=1, delta=0.01)
    scales = [
        median.noisy.law.scale(median.noisy.smooth(median._reduce([0] * n)[1])) for n in AROUND
    ]

    assert min(scales) < 2**21 < max(scales)
    for people in AROUND:
        assert not replay(median.release, [0] * people, [0] * (people + 1))


AROUND = range(76, 90)


def test_a4_noise_of_a_private_width_takes_as_many_words_for_every_width():
    rule = SmoothSensitivity(global_sensitivity=2**30, epsilon=1, delta=0.01)
    widths = (1, 2**19, 2**20 - 1, 2**20, 2**25, 2**30)
    for runs in (None, 5, 100):
        counts = {
            words_and_draw(lambda w=w, n=runs: rule._answer((0, (w,) * 5000), n), 1)[0]
            for w in widths
        }
        assert len(counts) == 1


def test_a4_noise_of_a_private_width_is_not_quicker_the_second_time():
    rule = SmoothSensitivity(global_sensitivity=1000, epsilon=1, delta=0.01)
    before = exponential.law.cache_info()
    for _ in range(3):
        rule.release((0, (271,)))

    assert exponential.law.cache_info() == before


# --- B: sensitivity ------------------------------------------------------------------------------

CHANGE = Neighbours.CHANGE_ONE
MIDDLE = Quantile(0.5, 0, 100, epsilon=1, neighbours=CHANGE)
OF_ROWS = {
    "quantile": Quantile(0.5, 0, 100, epsilon=1),
    "quantiles": Quantiles([0.25, 0.5], 0, 100, epsilon=1),
    "unbounded quantile": UnboundedQuantile(0.5, epsilon=1),
    "smooth median": SmoothMedian(0, 100, epsilon=1, delta=0.01),
    "tested median": TestedMedian(0, 100, bound=1, epsilon=1, delta=0.01),
    "automatic bounds": AutomaticBounds(epsilon=1, largest=128),
}
of_rows = pytest.mark.parametrize("kind", OF_ROWS)
ROWS = [3, 99, 7, 7, 41, 0, 100, 63]


def frozen(release, value):
    """What is released about a value with bits that are the same every time."""
    with replaced(lambda: Keystream(bytes(32))):
        return release(value)


@of_rows
@pytest.mark.parametrize("beyond", [1e300, -1e300, 10**400, -(10**400), Fraction(1, 3**900)])
def test_b2_a_row_beyond_the_bounds_counts_as_at_them(kind, beyond):
    rule = OF_ROWS[kind]
    top = 2**60 if kind == "unbounded quantile" else 128 if kind == "automatic bounds" else 100
    low = 0 if kind not in ("unbounded quantile", "automatic bounds") else -top
    clamped = min(max(round(beyond), low), top)

    assert picture(frozen(rule.release, [*ROWS, beyond])) == picture(
        frozen(rule.release, [*ROWS, clamped])
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: Laplace(epsilon=1),
        lambda: Gaussian(rho=1),
        lambda: Quantile(0.5, epsilon=1),
        lambda: Quantiles([0.5], epsilon=1),
        lambda: SmoothMedian(epsilon=1, delta=0.1),
        lambda: SmoothSensitivity(epsilon=1, delta=0.1),
        lambda: TestedMedian(0, 9, epsilon=1, delta=0.1),
        lambda: SubsampleAggregate(max, aggregate=MIDDLE, default=0),
        lambda: Histogram(epsilon=1),
        lambda: ExponentialMechanism(epsilon=1),
    ],
)
def test_b2_without_public_bounds_there_is_no_mechanism(make):
    with pytest.raises((TypeError, InputError), match=r"required|without a number of bins"):
        make()


@of_rows
def test_b7_the_order_of_rows_changes_nothing(kind):
    rule = OF_ROWS[kind]
    orders = [ROWS, ROWS[::-1], sorted(ROWS), ROWS[3:] + ROWS[:3]]

    assert len({repr(frozen(rule.release, rows)) for rows in orders}) == 1


def test_b7_the_order_of_rows_does_not_change_the_law_of_blocks():
    blocks = SubsampleAggregate(max, blocks=3, aggregate=MIDDLE, default=0)
    one, other = (blocks.claim.law(rows) for rows in ((3, 50, 99), (99, 3, 50)))

    assert all(
        max(one[point][0], other[point][0]) <= min(one[point][1], other[point][1]) for point in one
    )


@pytest.mark.parametrize("rule", [KeySelection, LaplaceThreshold])
def test_b7_c6_keys_come_in_an_order_of_their_own(rule):
    counts = {f"key {i}": 10**6 + i for i in range(20)}
    backwards = dict(reversed(counts.items()))
    answers = [frozen(rule(epsilon=1, delta=0.01).release, one) for one in (counts, backwards)]

    assert picture(answers[0]) == picture(answers[1])
    assert list(answers[0]) == sorted(counts)


# --- C: values, types, domains -------------------------------------------------------------------

HUGE = (10**400, -(10**400), 2**63, -(2**63) - 1, 2**53 + 1)
ANY_NUMBER = {
    "laplace": lambda x: Laplace(epsilon=1, sensitivity=1).release(x),
    "laplace on a grid": lambda x: Laplace(epsilon=1, sensitivity=1, grid=0.25).release(x),
    "gaussian": lambda x: Gaussian(rho=1, sensitivity=1).release([x]),
    "histogram": lambda x: Histogram(bins=2, epsilon=1).release([x, 0]),
    "exponential": lambda x: ExponentialMechanism(2, epsilon=1).release([x, 0]),
    "permute and flip": lambda x: PermuteAndFlip(2, epsilon=1).release([x, 0]),
    "noisy max": lambda x: ReportNoisyMax(2, epsilon=1).release([x, 0]),
    "sparse vector": lambda x: SparseVector(threshold=0, epsilon=1, numeric=True).release([x, 0]),
    "run": lambda x: SparseVector(threshold=0, epsilon=1, numeric=True).start().ask(x),
    "smooth sensitivity": lambda x: CATALOGUE["smooth-sensitivity"]().release((x, (1,))),
    "propose test release": lambda x: CATALOGUE["propose-test-release"]().release((x, 99)),
    "tree": lambda x: CATALOGUE["tree-count"]().release([x, 0]),
    "factorization": lambda x: CATALOGUE["factorized-count"]().release([x, 0]),
    "stream": lambda x: CATALOGUE["factorized-count"]().start().release(x),
    "key selection": lambda x: CATALOGUE["key-selection"]().release({"a": abs(x)}),
    "gaussian threshold": lambda x: CATALOGUE["gaussian-threshold"]().release({"a": abs(x)}),
}


@pytest.mark.parametrize("kind", ANY_NUMBER)
def test_c2_no_finite_number_makes_a_release_fail(kind):
    for number in HUGE:
        ANY_NUMBER[kind](number)


def fails_on_nines(rows, output=None):
    if 9 in rows:
        raise ZeroDivisionError(f"nine of {rows}")
    return len(rows) + (output or 0)


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip, ReportNoisyMax])
def test_c2_a_utility_that_fails_is_told_in_fixed_words(kind):
    rule = kind([0, 1], epsilon=1, utility=fails_on_nines)

    assert rule.release([1, 2]) in (0, 1)
    with pytest.raises(InputError, match="utility failed") as caught:
        rule.release([1, 9, 777])
    assert "777" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_c2_a_statistic_that_fails_on_a_block_is_the_default():
    blocks = SubsampleAggregate(fails_on_nines, blocks=3, aggregate=MIDDLE, default=0)

    assert 0 <= blocks.release([9] * 30) <= 100


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("smooth-sensitivity", [], "a value and its bounds"),
        ("smooth-sensitivity", (0, 5), "not in order"),
        ("propose-test-release", (1, 2, 3), "a value and its distance"),
        ("randomized-response", [[0, 1], [1]], "not one of the k"),
        ("automatic-bounds", [[1, 2], [3, 4]], "not a flat list"),
        ("subsample-aggregate", {"a": 1}, "not a list of rows"),
        ("subsample-aggregate", np.array(5), "not a list of rows"),
    ],
)
def test_c2_data_of_another_shape_are_refused_in_fixed_words(name, value, words):
    with pytest.raises(InputError, match=words):
        CATALOGUE[name]().release(value)


@every
def test_c4_what_a_mechanism_is_does_not_follow_the_data(name):
    """The mechanism, and all that its release makes use of, are the same on neighbours."""
    mechanism = CATALOGUE[name]()
    before = picture(mechanism), mechanism.guarantee, mechanism.error()
    for pair in mechanism.claim.pairs:
        used = []
        for side in (pair.left, pair.right):
            with (recorder := Recorder()).recording():
                mechanism.release(side)
            used.append([picture(one.mechanism) for one in recorder.finished()])
        assert used[0] == used[1]
    assert (picture(mechanism), mechanism.guarantee, mechanism.error()) == before


@pytest.mark.parametrize("grid", [None, Fraction(1, 4), 4])
@pytest.mark.parametrize(
    "kind", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
def test_c5_integers_of_every_width_are_the_numbers_they_are(kind, grid):
    ends = np.iinfo(kind)
    values = [int(end) for end in (ends.min, ends.min + 1, 0, ends.max - 1, ends.max)]
    rule = Laplace(epsilon=1, sensitivity=1, grid=grid, dimension=5)

    assert picture(frozen(rule.release, np.array(values, dtype=kind))) == picture(
        frozen(rule.release, values)
    )
    assert rule.grid.index(np.array(values, dtype=kind)).tolist() == [
        math.floor(value / rule.grid.step + Fraction(1, 2)) for value in values
    ]


# --- E: randomness -------------------------------------------------------------------------------


def rooms(*packages):
    for package in packages:
        for module in pkgutil.iter_modules(package.__path__):
            yield import_module(f"{package.__name__}.{module.name}")


def test_e2_no_seed_can_be_passed():
    wanted = re.compile(r"seed|rng|random_state|generator|entropy", re.IGNORECASE)
    asked = {
        f"{name}({parameter})"
        for room in rooms(noise, discreet.mechanisms)
        for name, public in vars(room).items()
        if callable(public) and not name.startswith("_") and public.__module__ == room.__name__
        for parameter in inspect.signature(public).parameters
    }

    assert len(asked) > 200
    assert not [one for one in asked if wanted.search(one)]


def test_e2_no_seed_of_another_generator_and_no_environment_is_heard(monkeypatch):
    drawn = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002 - the generator that must not be heard
        for name in ("SEED", "DISCREET_SEED", "PYTHONHASHSEED"):
            monkeypatch.setenv(name, "1")
        drawn.append(noise.discrete_laplace(10**6, size=20).tolist())
    assert drawn[0] != drawn[1]
    for room in rooms(noise):
        source = inspect.getsource(room)
        assert "environ" not in source
        assert "getenv" not in source


@pytest.mark.parametrize("name", ["smooth-sensitivity", "propose-test-release"])
def test_e5_a_vector_cannot_share_the_noise_of_one_number(name):
    """Its differences would be exact."""
    mechanism = CATALOGUE[name]()
    for vector in ([1, 2, 3], np.array([1, 2]), [[1]]):
        with pytest.raises(InputError, match="one number belongs"):
            mechanism.release((vector, (1,) if name.startswith("smooth") else 99))


@every
def test_e4_without_entropy_there_is_no_answer(name, monkeypatch):
    def fails(_):
        raise OSError("no entropy")

    mechanism = CATALOGUE[name]()
    pair = mechanism.claim.pairs[-1]
    monkeypatch.setattr(os, "urandom", fails)
    with pytest.raises(OSError, match="no entropy"):
        # An empty context has the real source of bits.
        contextvars.Context().run(mechanism.release, pair.right)


# --- F: budgets ----------------------------------------------------------------------------------


def test_f9_threads_never_get_more_hits_than_were_paid_for():
    run = SparseVector(threshold=0, epsilon=1, hits=25).start()

    def ask(_):
        try:
            return run.ask(10**9)
        except DiscreetError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(300))) == 25
    assert run.hits_left == 0


# --- where each class is -------------------------------------------------------------------------

CLASSES = {
    *(f"a{i}" for i in range(1, 8)),
    *(f"b{i}" for i in (1, 2, 3, 4, 5, 7, 8)),
    *(f"c{i}" for i in range(1, 7)),
    "d2",
    *(f"e{i}" for i in range(1, 6)),
    "f9",
}
"""All that noise and mechanisms can fail. Joins, servers, caches and ledgers are not among them."""


def test_every_class_that_concerns_mechanisms_has_a_test_that_names_it():
    tests = Path(__file__).parents[1]
    named = {
        label
        for path in tests.rglob("test_*.py")
        for labels in re.findall(r"^def test_((?:[a-f]\d_)+)", path.read_text(), re.MULTILINE)
        for label in labels.rstrip("_").split("_")
    }

    assert CLASSES - named == set()
