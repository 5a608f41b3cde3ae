"""The figures of the local model, on fresh bits: for `make audit`."""

import numpy as np
import pytest

from discreet import local

pytestmark = pytest.mark.audit

D, N = 10_000, 100_000
RUNS = 10  # of 10,000 values each: the ratio varies by 0.5 %; sketches share their collisions


def zipf():
    weights = 1 / np.arange(1, D + 1) ** 1.1
    return np.random.default_rng(1).choice(D, size=N, p=weights / weights.sum())


@pytest.mark.parametrize(
    ("kind", "people"),
    [
        (local.KRandomizedResponse, N),
        (local.HadamardResponse, N),
        (local.LocalHashing, N),
        (local.UnaryEncoding, N // 10),
        (local.SubsetSelection, N // 100),
    ],
)
def test_the_mean_squared_error_is_that_of_theory_within_3_per_cent(kind, people):
    protocol, values = kind(epsilon=1, domain=D), zipf()[:people]
    truth = np.bincount(values, minlength=D)
    runs = [
        protocol.aggregator().add(protocol.reporter().report(values)).estimate()
        for _ in range(RUNS)
    ]
    errors = np.mean([(run.counts - truth) ** 2 for run in runs])
    ends = [run.interval(0.95) for run in runs]
    inside = np.mean([(low <= truth) & (truth <= high) for low, high in ends])

    assert errors / protocol.variance(people, people / D) == pytest.approx(1, abs=0.03)
    assert 0.945 < inside < 0.985


@pytest.mark.parametrize("kind", [local.CountMeanSketch, local.HadamardCountMeanSketch])
def test_sketches_are_as_accurate_as_theory_says(kind):
    protocol, values = kind(epsilon=1), zipf()
    truth = np.bincount(values, minlength=D)
    runs = [
        protocol.aggregator().add(protocol.reporter().report(values.tolist())).estimate(range(D))
        for _ in range(5)
    ]
    errors = np.mean([(run.counts - truth) ** 2 for run in runs])
    theory = protocol.variance(N, 0, float((truth.astype(float) ** 2).sum()))

    assert errors / theory == pytest.approx(1, abs=0.03)


def test_a_million_people_and_strings_of_32_bytes():
    protocol, n = local.HeavyHitters(epsilon=1, length=32), 10**6
    error = protocol.standard_error(n)
    threshold = 4 * error
    texts = [f"https://example.org/page/{i:06d}" for i in range(4)]
    random = np.random.default_rng(2).integers(0, 256, size=(n, 32), dtype=np.uint8)
    people = random.reshape(-1).view("S32").copy()
    each = int((threshold + 4 * error) * n)
    for i, text in enumerate(texts):
        people[i * each : (i + 1) * each] = text.encode()
    found = protocol.aggregator().add(protocol.reporter().report(people.tolist()))

    assert set(texts) <= {one[0] for one in found.heavy_hitters(threshold)}
