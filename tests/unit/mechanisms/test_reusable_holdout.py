import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import replay
from discreet.errors import BudgetError, InputError
from discreet.mechanisms import reusable_holdout
from discreet.mechanisms.reusable_holdout import HoldoutAnswer, ReusableHoldout, Thresholdout
from discreet.privacy import Neighbours, Pure


def judge(size=4000, **settings):
    train, holdout = np.zeros(size), np.ones(size)
    return ReusableHoldout(
        train, holdout, **{"threshold": 0.1, "epsilon": 1, "hits": 3, **settings}
    )


def test_the_guarantee_is_the_whole_epsilon_for_one_changed_example():
    assert judge(epsilon=0.3).guarantee == Pure(Fraction(3, 10), neighbours=Neighbours.CHANGE_ONE)


def test_noise_is_made_for_one_example_of_the_holdout():
    rule = judge(size=500, epsilon=1, hits=4).rule

    assert rule.guard.sensitivity == rule.answers.sensitivity == Fraction(1, 500)
    assert rule.guard.epsilon == Fraction(1, 2)
    assert rule.answers.epsilon == Fraction(1, 8)


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


def mean(values, default=Fraction(0)):
    return reusable_holdout._mean(lambda rows: rows, values, len(values), default)


@pytest.mark.parametrize(
    ("value", "read"), [(np.nan, 0.0), (np.inf, 1.0), (-np.inf, 0.0), (7.0, 1.0), (-7.0, 0.0)]
)
def test_a_value_outside_the_unit_interval_is_clamped(value, read):
    assert mean(np.array([value, 1.0])) == Fraction(read + 1) / 2


def test_one_example_moves_a_mean_by_at_most_one_over_the_size():
    draws = np.random.default_rng(6)
    for _ in range(100):
        values = draws.normal(size=50) * 3
        other = values.copy()
        other[draws.integers(50)] = draws.choice([np.nan, -1, 0.3, 9])
        assert abs(mean(values) - mean(other)) <= Fraction(1, 50)


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
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InputError, match="copied"):
            duplicate(judge())


def identity(rows):
    return np.asarray(rows, dtype=float)


def test_a_list_of_queries_is_answered_up_to_the_last_hit():
    rule = Thresholdout(size=4000, threshold=0.1, epsilon=1, hits=2)
    train, holdout = np.zeros(4000), np.ones(4000)
    quiet = lambda rows: 0.5 * np.ones(len(rows))  # noqa: E731 - a query

    answers = rule.release((train, holdout, [quiet, identity, quiet, identity, quiet]))

    assert [one.contradicted for one in answers] == [False, True, False, True]
    assert answers[0] == HoldoutAnswer(0.5, contradicted=False)
    assert abs(answers[1].mean - 1) <= rule.error(0.999)


def test_no_queries_have_no_answers():
    assert Thresholdout(size=1, threshold=0.5, epsilon=1).release(([0], [1], [])) == []


def test_a_holdout_of_one_example_is_answered():
    rule = Thresholdout(size=1, threshold=0.5, epsilon=1, hits=1)

    assert 0 <= rule.release(([0.25], [0.75], [identity]))[0].mean <= 1
    assert rule.error() <= 1


def test_neighbours_of_the_claim_differ_in_one_holdout_example():
    for size in (1, 2, 40):
        rule = Thresholdout(size=size, threshold=0.25, epsilon=1, hits=2)
        for pair in rule.claim.pairs:
            assert sum(a != b for a, b in zip(pair.left[1], pair.right[1], strict=True)) == 1
            assert not replay(rule.release, pair.left, pair.right)


def test_training_data_must_not_follow_the_holdout():
    rule = Thresholdout(size=2, threshold=0.25, epsilon=1)
    queries = (identity,)

    assert "depend on the holdout" in str(
        replay(rule.release, ([0, 0], [0, 1], queries), ([0, 1], [1, 1], queries))
    )
    assert "2 rows" in str(
        replay(rule.release, ([0, 0], [0, 0], queries), ([0, 0], [1, 1], queries))
    )


def test_what_cannot_be_computed_is_the_default():
    assert mean(np.array([np.nan, 1.0]), Fraction(1, 2)) == Fraction(3, 4)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="default"):
            Thresholdout(size=3, threshold=0.1, epsilon=1, default=wrong)


def test_a_query_that_fails_quotes_nothing():
    def quotes(rows):
        raise ValueError(rows)

    for query in (quotes, lambda _: ["a secret"]):
        with pytest.raises(InputError, match="a query failed") as caught:
            judge().ask(query)
        assert caught.value.__cause__ is None
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "value", [3, "abc", ([0], [1]), ([0], [1], 5), ([0], [1], [5]), ([0], [1, 2], [identity])]
)
def test_what_is_no_holdout_with_queries_is_refused(value):
    with pytest.raises(InputError):
        Thresholdout(size=1, threshold=0.1, epsilon=1).release(value)


def test_a_query_that_asks_its_own_holdout_is_refused_and_costs_nothing():
    """It waited for ever for an answer that could only come after its own."""
    judge = ReusableHoldout(np.zeros(100), np.ones(100), threshold=0.1, epsilon=1, hits=2)
    with pytest.raises(InputError, match="a query failed"):
        judge.ask(lambda rows: np.full(len(rows), judge.ask(lambda inner: inner)))
    assert judge.hits_left == 2
    judge.ask(lambda rows: np.zeros(len(rows)))


@pytest.mark.filterwarnings("ignore")  # numpy would only warn that it drops a part
def test_c2_complex_values_are_no_numbers():
    judge = ReusableHoldout(np.zeros(100), np.ones(100), threshold=0.1, epsilon=1)
    with pytest.raises(InputError, match="a query failed"):
        judge.ask(lambda rows: rows + 1j)
