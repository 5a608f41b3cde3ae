"""Plays about people in many wards: differencing, averaging, refusals, and low-order bits."""

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.differencing import Averaging, Differencing, QueryAuditor, Refusals, WardSums
from discreet.attacks.low_bits import LowBits, Noisy, RepeatedZero
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits, Reals
from discreet.lab.setting import Curated, Setting
from discreet.plan.schema import Bounds, Keys, Limits

WARDS, EACH, AUDITED = 400, 5, 7


def differencing(setting: Setting, wards: int = WARDS) -> Outcome:
    """Everybody, everybody but one, subtract."""
    secret = setting.draws(51).bits(wards, EACH)
    attack = Differencing(secret, setting.pure)
    sums, private = exact(secret), partial(_curated, secret, setting.epsilon, questions=2)
    return setting.play(attack, sums, lambda who: 5 * np.round(sums(who) / 5), private)


def averaging(setting: Setting, wards: int = WARDS) -> Outcome:
    """The same question again and again."""
    secret = setting.draws(61).bits(wards, EACH)
    attack = Averaging(secret, setting.pure)
    sums, private = exact(secret), partial(_curated, secret, setting.epsilon, questions=1)
    coins, scale = setting.draws(62), 1 / float(setting.epsilon)
    return setting.play(attack, sums, lambda who: sums(who) + coins.laplace(scale, wards), private)


def refusals(setting: Setting, wards: int = WARDS) -> Outcome:
    """An auditor who refuses what would tell too much."""
    secret = setting.draws(91).bits(wards, AUDITED)
    attack = Refusals(secret, setting.pure)
    auditor: WardSums = QueryAuditor(secret)
    return setting.play(attack, exact(secret), auditor, lambda: _unrefused(attack, setting))


def _unrefused(attack: Refusals, setting: Setting) -> WardSums:
    """A curator who is handed all questions at once, and refuses none; nobody is in more than 3."""
    secret, asked = attack.secret, attack.questions(setting.effort)
    wards, each = secret.shape
    question, person = np.nonzero(asked)
    people = np.arange(wards)[:, None] * each + person
    curated = Curated.of(
        "people",
        {
            "id": people.ravel(),
            "ward": np.repeat(np.arange(wards), person.size),
            "question": np.tile(question, wards),
            "secret": secret.ravel()[people.ravel()].astype(np.float64),
        },
        {
            "ward": Keys(list(range(wards))),
            "question": Keys(list(range(len(asked)))),
            "secret": Bounds(0, 1),
        },
        epsilon=setting.epsilon,
        limits=Limits(int(asked.sum(axis=0).max()), 1),
    )
    sums = "SELECT ward, question, SUM(secret) AS n FROM people GROUP BY ward, question"
    answers = curated.cells(sums, (wards, len(asked)))
    said = {who.tobytes(): column for who, column in zip(asked, answers.T, strict=True)}
    return lambda who: np.asarray(said[who[0].tobytes()])


def exact(secret: Bits) -> WardSums:
    """A system that says the truth."""
    return lambda who: (secret * who).sum(axis=1).astype(np.float64)


def _curated(secret: Bits, epsilon: Fraction, questions: int) -> WardSums:
    wards, each = secret.shape
    curated = Curated.of(
        "people",
        {
            "id": np.arange(secret.size),
            "ward": np.repeat(np.arange(wards), each),
            "secret": secret.ravel(),
        },
        {"ward": Keys(list(range(wards))), "secret": Bounds(0, 1)},
        epsilon=epsilon,
        questions=questions,
    )

    def answer(who: NDArray[np.bool_]) -> Reals:
        left_out = ", ".join(map(str, np.flatnonzero(~who.ravel())))
        others = f" AND NOT id IN ({left_out})" if left_out else ""
        where = f"WHERE secret = 1{others}"
        question = f"SELECT ward, COUNT(*) AS n FROM people {where} GROUP BY ward"  # noqa: S608
        return np.asarray(curated.cells(question, (wards,)))

    return answer


def low_bits(setting: Setting) -> Outcome:
    """One answer, and its low-order bits."""
    attack = LowBits(scale=1 / float(setting.epsilon), promise=setting.pure)
    return attack.run(_noisy(setting), setting.effort)


def repeated_zero(setting: Setting) -> Outcome:
    """The same zero, asked about again and again."""
    return RepeatedZero(promise=setting.pure).run(_noisy(setting, setting.effort), setting.effort)


def _noisy(setting: Setting, questions: int = 1) -> Noisy:
    """Textbook noise, the same rounded to 1/1024, or a curator with a budget for each number."""
    scale, coins = 1 / float(setting.epsilon), setting.draws(71)
    match setting.against:
        case "raw":
            return lambda count, runs: count + coins.laplace(scale, runs)
        case "rounded":
            return lambda count, runs: np.rint(1024 * (count + coins.laplace(scale, runs))) / 1024
        case "private":
            return lambda count, runs: _curated_numbers(setting.epsilon, count, runs, questions)


def _curated_numbers(epsilon: Fraction, count: int, runs: int, questions: int) -> Reals:
    """A curator over wards of one person each, whose number is `count`, asked so many questions.

    They are worded differently, or all would get the answer of the first; one budget pays for all.
    """
    wards = np.arange(runs // questions)
    curated = Curated.of(
        "people",
        {"id": wards, "ward": wards, "number": np.full(wards.size, float(count))},
        {"ward": Keys(list(range(wards.size))), "number": Bounds(-1, 1)},
        epsilon=epsilon,
        questions=questions,
    )
    sums = "SELECT ward, SUM(number) AS s FROM people WHERE id > -{} GROUP BY ward"
    answers = [curated.cells(sums.format(1 + again), wards.shape) for again in range(questions)]
    return np.stack(answers, axis=1).ravel()
