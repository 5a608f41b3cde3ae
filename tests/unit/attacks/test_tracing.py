import numpy as np
import pytest

from discreet.attacks import Promise, Tracing
from discreet.errors import InputError


@pytest.mark.parametrize(("attributes", "rate"), [(100, 0.092), (1000, 0.798)])
def test_exact_means_are_traced_as_often_as_theory_says(attributes, rate):
    # Phi(sqrt(d/n) - 2.33); four studies of 100. The threshold is estimated from 2000 strangers,
    # which adds about a fifth to the standard error: three and a half of them are allowed.
    outcome = Tracing(attributes=attributes, promise=Promise(1)).run(lambda rows: rows.mean(0), 4)

    assert abs(outcome.success - rate) < 3.5 * max(np.sqrt(rate * (1 - rate) / 400), 1 / 400)
    assert outcome.baseline == pytest.approx(20 / 2001)
    assert outcome.n == 400


def test_who_is_no_member_passes_as_often_as_the_bound_without_epsilon_says():
    # Means that do not see the members: they are strangers, and the bar is the second of 200.
    # 400 studies of 100, who share a bar that itself strays by 0.7 %: three standard errors.
    attack = Tracing(attributes=50, strangers=200, promise=Promise(0))
    outcome = attack.run(lambda rows: rows[:0].sum(axis=0) + 0.4, 400)

    assert outcome.bound == pytest.approx(outcome.baseline) == pytest.approx(2 / 201)
    assert abs(outcome.success - 2 / 201) < 3 * np.hypot(0.1 / np.sqrt(40_000), 0.007 / 20)


def test_means_of_other_people_trace_nobody():
    outcome = Tracing(attributes=300, promise=Promise(0)).run(lambda _: np.full(300, 0.5), 4)

    assert not outcome.refutes


def test_rounding_hides_nobody_when_there_is_enough_to_see():
    outcome = Tracing(attributes=3000).run(lambda rows: rows.mean(0).round(1), 1)

    assert outcome.success > 0.9


def test_too_few_strangers_are_refused():
    with pytest.raises(InputError, match="strangers"):
        Tracing(strangers=99)
