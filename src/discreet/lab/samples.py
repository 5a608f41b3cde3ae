"""Plays about overfitting: a holdout, and a leaderboard."""

import numpy as np

from discreet.attacks.holdout import Examples, Holdout, Query, Score
from discreet.attacks.leaderboard import Board, Leaderboard
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits
from discreet.curator.budgets import Budget
from discreet.errors import BudgetError
from discreet.lab.curated import DELTA
from discreet.lab.setting import Setting
from discreet.mechanisms import Gaussian
from discreet.mechanisms.reusable_holdout import ReusableHoldout

THRESHOLD, HITS = 0.1, 2
"""When the holdout contradicts the training data, and how often it may."""


def holdout(setting: Setting, examples: int = 2000, features: int = 1000) -> Outcome:
    """Features are chosen with the help of the holdout that judges them."""
    attack = Holdout(examples, features, kept=features // 5, seed=setting.seed)
    match setting.against:
        case "raw":
            return attack.run(lambda _, hold: hold.mean, setting.effort)
        case "rounded":
            return attack.run(
                lambda _, hold: lambda query: round(hold.mean(query), 2), setting.effort
            )
        case "private":
            return attack.run(lambda train, hold: _reusable(train, hold, setting), setting.effort)


def _reusable(train: Examples, hold: Examples, setting: Setting) -> Score:
    judge = ReusableHoldout(
        (train.features, train.labels),
        (hold.features, hold.labels),
        threshold=THRESHOLD,
        epsilon=setting.epsilon,
        hits=HITS,
    )

    def score(query: Query) -> float:
        try:
            return judge.ask(lambda examples: query(*examples))
        except BudgetError:
            return 0.5  # the attacker goes on without the holdout

    return score


def leaderboard(setting: Setting, examples: int = 1000) -> Outcome:
    """Random submissions, and the majority of the good ones."""
    attack = Leaderboard(examples, promise=setting.approximate, seed=setting.seed)
    match setting.against:
        case "raw":
            return attack.run(lambda labels: lambda guess: _share(guess, labels), setting.effort)
        case "rounded":
            return attack.run(
                lambda labels: lambda guess: round(_share(guess, labels), 2), setting.effort
            )
        case "private":
            return attack.run(lambda labels: _private_board(labels, setting), setting.effort)


def _share(guess: Bits, labels: Bits) -> float:
    return float(np.mean(guess == labels))


def _private_board(labels: Bits, setting: Setting) -> Board:
    """Each score is a noisy count; all of them share one budget."""
    rho = Budget(epsilon=setting.epsilon, delta=DELTA).cap().amount / setting.effort
    count = Gaussian(rho=rho, sensitivity=1)
    return lambda guess: float(count.release(int((guess == labels).sum()))) / labels.size
