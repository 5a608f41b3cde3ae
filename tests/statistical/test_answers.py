"""Intervals hold what they say, and signed counts are unbiased.

With 150 releases and fixed bits: a true 95 % interval covers fewer than 127 of them with
probability below 1e-6; the mean of unbiased counts is within 5 standard errors with probability
above 1 - 1e-6.
"""

import numpy as np
import pytest

from visits import ask, clinic, engine_of

RELEASES = 150
FEWEST = 127


@pytest.fixture(scope="module")
def releases():
    from discreet.noise.bits import Keystream, replaced

    engine = engine_of(clinic(people=200))
    stream = Keystream(b"coverage of intervals".ljust(32))
    with replaced(lambda: stream):
        yield [
            ask(
                "SELECT COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m, VAR_POP(amount) AS v, "
                "SUM(amount) / COUNT(*) AS r FROM visits",
                engine,
                epsilon=4,
            ).to_arrow()
            for _ in range(RELEASES)
        ]
    engine.close()


TRUTH = np.array([float(i % 101) for i in range(400)])


@pytest.mark.parametrize(
    ("column", "truth"),
    [
        ("n", 400),
        ("s", TRUTH.sum()),
        ("m", TRUTH.mean()),
        ("v", TRUTH.var()),
        ("r", TRUTH.mean()),
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_say(releases, column, truth):
    covered = sum(
        table[f"{column}_low"][0].as_py() <= truth <= table[f"{column}_high"][0].as_py()
        for table in releases
    )

    assert covered >= FEWEST


def test_signed_counts_are_unbiased(releases):
    counts = np.array([table["n"][0].as_py() for table in releases])

    assert abs(counts.mean() - 400) < 5 * counts.std() / np.sqrt(RELEASES)
