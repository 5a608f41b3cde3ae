"""Plays about data that judge others: holdouts, and a leaderboard."""

import math
from functools import partial

import numpy as np

from discreet.attacks.holdout import (
    Board,
    Examples,
    Holdout,
    HoldoutLabel,
    Leaderboard,
    Query,
    Score,
)
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits
from discreet.errors import BudgetError
from discreet.lab.setting import Setting, released
from discreet.mechanisms.reusable_holdout import ReusableHoldout
from discreet.plan.schema import Bounds, Limits

THRESHOLD, HITS = 4.0, 2
"""When the holdout contradicts the training data, in multiples of 1/sqrt(examples), as sampling
error is, and how often it may."""


def holdout(setting: Setting, examples: int = 2000, features: int = 1000) -> Outcome:
    """Features are chosen with the help of the holdout that judges them."""
    attack = Holdout(examples, features, kept=features // 5, seed=setting.seed)
    return attack.run(lambda train, hold: _judge(train, hold, setting), setting.effort)


def holdout_label(setting: Setting, examples: int = 200) -> Outcome:
    """One label is read from a holdout whose other labels are known."""
    attack = HoldoutLabel(examples, promise=setting.pure, seed=setting.seed)
    return attack.run(lambda train, hold: _judge(train, hold, setting), setting.effort)


def _judge(train: Examples, hold: Examples, setting: Setting) -> Score:
    """A plain holdout, one that rounds, or a reusable one."""
    match setting.against:
        case "raw":
            return hold.mean
        case "rounded":
            return lambda query: round(hold.mean(query), 2)
        case "private":
            return _reusable(train, hold, setting)


def _reusable(train: Examples, hold: Examples, setting: Setting) -> Score:
    judge = ReusableHoldout(
        (train.features, train.labels),
        (hold.features, hold.labels),
        threshold=THRESHOLD / math.sqrt(hold.labels.size),
        epsilon=setting.epsilon,
        hits=HITS,
    )

    def score(query: Query) -> float:
        try:
            return judge.ask(lambda examples: query(*examples))
        except BudgetError:
            return 0.5  # the attacker goes on without the holdout

    return score


def leaderboard(setting: Setting, examples: int = 500) -> Outcome:
    """Random submissions, and the majority of the good ones."""
    attack = Leaderboard(examples, promise=setting.approximate, seed=setting.seed)
    return setting.play(
        attack.run,
        lambda labels: lambda guess: _share(guess, labels),
        lambda labels: lambda guess: round(_share(guess, labels), 2),
        lambda: partial(_curated, submitted=attack.submissions(setting.effort), setting=setting),
    )


def _share(guess: Bits, labels: Bits) -> float:
    return float(np.mean(guess == labels))


def _curated(labels: Bits, submitted: Bits, setting: Setting) -> Board:
    """A curator who is handed all submissions at once: one question with a group for each.

    Votes of 1 or -1 are summed over the examples whose label is 1. Those who are right are the
    others' votes for 0 and this sum, and an example is seen through its label alone.
    """
    many, examples = submitted.shape
    rows = {
        "id": np.tile(np.arange(examples), many),
        "submission": np.repeat(np.arange(many), examples),
        "vote": 2 * submitted.ravel() - 1,
        "label": np.tile(labels, many),
    }
    votes = released(
        rows,
        {"submission": many},
        "SUM(vote)",
        where="label = 1",
        bounds={"vote": Bounds(-1, 1), "label": Bounds(0, 1)},
        epsilon=setting.epsilon,
        limits=Limits(many, 1),
        gaussian=True,
    )
    right = votes + (submitted == 0).sum(axis=1)
    said = {
        guess.tobytes(): float(count) / examples
        for guess, count in zip(submitted, right, strict=True)
    }
    return lambda guess: said[guess.tobytes()]
