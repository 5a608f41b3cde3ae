"""Asking again merges with what was told before, and costs the new price alone."""

import numpy as np
import pytest

import discreet as dp
from desk import BY_CITY, COUNT, add_visits, spent
from discreet.curator.remeasure import _weighted
from discreet.errors import QueryRefused


@pytest.fixture
def curator(fixed_bits):
    with dp.Curator.in_memory() as made:
        add_visits(made, budget=dp.Budget(rho=50, delta=1e-3))
        yield made


def test_the_first_measurement_is_itself(curator):
    assert curator.remeasure(COUNT, epsilon=0.1) == curator.sql(COUNT, epsilon=0.1)


def test_measuring_again_costs_the_new_price_alone(curator):
    curator.sql(COUNT, epsilon=0.1)
    before = spent(curator)
    curator.remeasure(COUNT, epsilon=0.2)
    after = spent(curator)
    curator.remeasure(COUNT, epsilon=0.2)

    assert spent(curator) == after > before


def test_merging_weighs_by_inverse_variance(curator):
    first = curator.sql(BY_CITY, epsilon=0.3)
    merged = curator.remeasure(BY_CITY, epsilon=0.4)
    second = curator.sql(BY_CITY, epsilon=0.4)

    for column in ("n", "s"):
        widths = [one.half_widths[column].to_numpy() for one in (first, second)]
        values = [one.table.column(column).to_numpy() for one in (first, second)]
        weights = [1 / width**2 for width in widths]
        expected = (values[0] * weights[0] + values[1] * weights[1]) / sum(weights)
        assert np.allclose(merged.table.column(column).to_numpy(), expected, atol=0.5)
        assert np.all(merged.half_widths[column].to_numpy() <= np.minimum(*widths) + 0.5)
    assert merged.price.epsilon == first.price.epsilon + second.price.epsilon
    assert len(merged.costs) == len(first.costs) + len(second.costs)


def test_another_analyst_does_not_learn_what_was_told_to_the_first(curator):
    curator.as_analyst("alice").sql(COUNT, epsilon=0.1)
    bob = curator.as_analyst("bob").remeasure(COUNT, epsilon=0.2)

    assert bob == curator.sql(COUNT, epsilon=0.2)


def test_the_merged_half_width_holds(curator):
    """600 counts of noise by themselves: 95 % inside, give or take 5 standard errors."""
    inside, tries = 0, 150
    for i in range(tries):
        curator.sql(BY_CITY.replace("amount", f"amount + {i}"), epsilon=0.1)
        merged = curator.remeasure(BY_CITY.replace("amount", f"amount + {i}"), epsilon=0.12)
        gaps = np.abs(merged.table.column("n").to_numpy() - TRUTH)
        inside += int((gaps <= merged.half_widths["n"].to_numpy()).sum())

    share, error = inside / (3 * tries), np.sqrt(0.95 * 0.05 / (3 * tries))
    assert 0.95 - 5 * error <= share


TRUTH = np.array([67, 267, 66])


@pytest.mark.parametrize(
    "text",
    [
        f"{BY_CITY} LIMIT 1",
        f"{BY_CITY} HAVING COUNT(*) > 5",
        "SELECT COUNT(*) AS n FROM visits GROUP BY city",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)",
    ],
)
def test_groups_that_noise_picked_or_nobody_can_match_are_refused(curator, text):
    curator.sql(COUNT, epsilon=0.1)
    before = spent(curator)
    with pytest.raises(QueryRefused, match="measured again"):
        curator.remeasure(text, epsilon=0.1)
    assert spent(curator) == before


def test_weights_are_those_of_independent_errors():
    value, width = _weighted([(10.0, 1.0), (20.0, 2.0)])

    assert value == pytest.approx(12)
    assert width == pytest.approx(np.sqrt(0.8))
