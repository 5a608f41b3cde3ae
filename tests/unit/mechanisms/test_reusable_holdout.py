import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetError, InputError
from discreet.mechanisms import reusable_holdout
from discreet.mechanisms.reusable_holdout import ReusableHoldout
from discreet.privacy import Neighbours, Pure

pytestmark = pytest.mark.usefixtures("fixed_bits")


def judge(size=4000, **settings):
    train, holdout = np.zeros(size), np.ones(size)
    return ReusableHoldout(
        train, holdout, **{"threshold": 0.1, "epsilon": 1, "hits": 3, **settings}
    )


def test_the_guarantee_is_the_whole_epsilon_for_one_changed_example():
    assert judge(epsilon=0.3).guarantee == Pure(Fraction(3, 10), neighbours=Neighbours.CHANGE_ONE)


def test_noise_is_made_for_one_example_of_the_holdout():
    one = judge(size=500, epsilon=1, hits=4)

    assert one._guard.sensitivity == one._answers.sensitivity == Fraction(1, 500)
    assert one._guard.epsilon == Fraction(1, 2)
    assert one._answers.epsilon == Fraction(1, 8)


def test_the_holdout_speaks_only_where_training_data_mislead():
    one = judge()

    assert one.ask(lambda examples: np.full(len(examples), 0.25)) == 0.25
    assert one.hits_left == 3
    assert abs(one.ask(lambda examples: examples) - 1) <= one.error(0.999)
    assert one.hits_left == 2


def test_after_its_hits_a_holdout_is_silent():
    one = judge(hits=2)
    for _ in range(2):
        one.ask(lambda examples: examples)

    with pytest.raises(BudgetError):
        one.ask(lambda examples: examples)
    with pytest.raises(BudgetError):  # also where training data and holdout agree
        one.ask(lambda examples: 0 * examples)


def test_answers_are_as_close_as_error_says():
    # A false alarm has probability below 1 %; the bits are fixed.
    size, queries = 4000, 200
    draws = np.random.default_rng(5)
    train, holdout = draws.random((2, size, queries))
    one = ReusableHoldout(train, holdout, threshold=0.1, epsilon=1, hits=3)
    gaps = [
        abs(one.ask(lambda rows, j=j: rows[:, j]) - holdout[:, j].mean()) for j in range(queries)
    ]

    assert max(gaps) <= one.error(0.99, queries)


def test_less_epsilon_is_a_larger_error():
    assert judge(epsilon=0.1).error() > judge(epsilon=1).error() > 0.1


def test_tuples_of_arrays_are_examples_too():
    labels = np.ones(1000)
    data = (np.zeros((1000, 3)), labels)
    one = ReusableHoldout(data, data, threshold=0.2, epsilon=1)

    assert one.size == 1000
    assert one.ask(lambda pair: pair[1]) == 1.0


@pytest.mark.parametrize(
    ("value", "read"), [(np.nan, 0.0), (np.inf, 1.0), (-np.inf, 0.0), (7.0, 1.0), (-7.0, 0.0)]
)
def test_a_value_outside_the_unit_interval_is_clamped(value, read):
    assert reusable_holdout._mean(np.array([value, 1.0]), 2) == Fraction(read + 1) / 2


def test_one_example_moves_a_mean_by_at_most_one_over_the_size():
    draws = np.random.default_rng(6)
    for _ in range(100):
        values = draws.normal(size=50) * 3
        other = values.copy()
        other[draws.integers(50)] = draws.choice([np.nan, -1, 0.3, 9])
        gap = reusable_holdout._mean(values, 50) - reusable_holdout._mean(other, 50)

        assert abs(gap) <= Fraction(1, 50)


@pytest.mark.parametrize("answer", [np.zeros(3), np.zeros((4000, 1)), 0.5])
def test_a_query_with_another_shape_is_refused(answer):
    one = judge()

    with pytest.raises(InputError, match="shape"):
        one.ask(lambda _: answer)
    assert one.hits_left == 3


@pytest.mark.parametrize("wrong", [{"threshold": 0}, {"epsilon": 0}, {"hits": 0}])
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        judge(**wrong)


def test_no_examples_are_refused():
    with pytest.raises(InputError, match="no examples"):
        ReusableHoldout([], [], threshold=0.1, epsilon=1)


def test_a_holdout_in_use_cannot_be_copied():
    for duplicate in (copy.deepcopy, pickle.dumps):
        with pytest.raises(InputError, match="copied"):
            duplicate(judge())


def test_a_shallow_copy_shares_what_is_left():
    one = judge()
    copy.copy(one).ask(lambda examples: examples)

    assert one.hits_left == 2
