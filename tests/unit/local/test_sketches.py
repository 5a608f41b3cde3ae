"""Sketches, RAPPOR and heavy hitters: texts that nobody has listed."""

import numpy as np
import pytest

from discreet import local
from discreet.errors import InputError

TEXTS = ["en"] * 3000 + ["he"] * 2000 + ["yi"] * 1000


@pytest.mark.parametrize("kind", [local.CountMeanSketch, local.HadamardCountMeanSketch])
def test_a_sketch_counts_what_it_is_asked_for(kind):
    protocol = kind(epsilon=2, hashes=32, columns=256)
    seen = protocol.aggregator().add(protocol.reporter().report(TEXTS))
    found = seen.estimate(["en", "he", "yi", "la", b"en", 7])
    low, high = found.interval(0.999)
    truth = np.array([3000, 2000, 1000, 0, 0, 0])

    assert ((low <= truth) & (truth <= high)).all()
    assert (found.standard_error < 250).all()
    assert [one[0] for one in seen.heavy_hitters(0.25, ["en", "he", "yi"])] == ["en", "he"]
    with pytest.raises(InputError, match="look up"):
        seen.estimate()


@pytest.mark.parametrize("size", [{"columns": 100}, {"hashes": 1 << 17}])
def test_a_sketch_has_a_size_that_fits(size):
    with pytest.raises(InputError):
        local.CountMeanSketch(epsilon=1, **size)


def test_rappor_tells_both_epsilons_and_finds_what_is_there():
    protocol = local.Rappor()
    found = (
        protocol.aggregator()
        .add(protocol.reporter().report(TEXTS))
        .estimate(["en", "he", "yi", *(f"other {i}" for i in range(30))])
    )
    low, high = found.interval(0.999)

    assert float(protocol.one_report_epsilon) == pytest.approx(1.0743, abs=1e-4)
    assert float(protocol.epsilon) == pytest.approx(4.3944, abs=1e-4)
    assert protocol.guarantee.epsilon(0).upper < protocol.lifetime.epsilon(0).upper
    assert found.significant() == ["en", "he", "yi"]
    assert low[0] <= 3000 <= high[0]
    assert low[1] <= 2000 <= high[1]


@pytest.mark.parametrize("wrong", [{"f": 0}, {"p": 0.8}, {"q": 1}, {"bits": 2}, {"cohorts": 0}])
def test_rappor_refuses_parameters_without_a_guarantee(wrong):
    with pytest.raises(InputError):
        local.Rappor(**wrong)


def test_heavy_hitters_finds_texts_that_nobody_listed():
    protocol = local.HeavyHitters(epsilon=4, length=3)
    rare = [f"{i:03d}" for i in range(300)]
    people = ["sun"] * 4000 + ["rain"[:3]] * 2500 + ["ab"] * 2500 + rare
    seen = protocol.aggregator().add(protocol.reporter().report(people))
    found = seen.heavy_hitters(0.1)

    assert {one[0] for one in found} == {"sun", "rai", "ab"}
    assert all(low <= {"sun": 4000}.get(text, 2500) <= high for text, _, low, high in found)
    assert seen.estimate(["000"]).interval(0.999)[0][0] == 0
    assert protocol.standard_error(len(people)) < 0.05


def test_heavy_hitters_are_of_texts():
    with pytest.raises(InputError):
        local.HeavyHitters(epsilon=1, length=65)


def test_rappor_does_not_count_texts_that_are_not_listed_as_those_that_are():
    protocol = local.Rappor(bits=64, cohorts=16)
    people = [f"unlisted {i % 5000}" for i in range(60_000)]
    seen = protocol.aggregator().add(protocol.reporter().report(people))
    found = seen.estimate([f"candidate {i}" for i in range(10)])

    assert found.significant() == []
    assert found.counts.mean() < found.standard_error.mean()


def test_rappor_is_unbiased_with_few_reports_in_each_cohort():
    protocol, runs = local.Rappor(), 30
    held = ["a"] * 500 + ["b"] * 100
    found = [
        protocol.aggregator().add(protocol.reporter().report(held)).estimate(["a", "b", "c"])
        for _ in range(runs)
    ]
    off = [(one.counts - [500, 100, 0]) / one.standard_error for one in found]

    assert np.abs(np.mean(off, axis=0)).max() < 4 / runs**0.5
    assert np.mean(np.abs(off) < 2.5) > 0.9
