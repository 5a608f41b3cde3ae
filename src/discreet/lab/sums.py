"""Plays about sums: over subsets of people, over wards but for one person, and their low bits."""

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.differencing import Averaging, Differencing, QueryAuditor, Refusals, WardSums
from discreet.attacks.low_bits import LowBits, Noisy, RepeatedZero
from discreet.attacks.outcome import Outcome, pool
from discreet.attacks.reconstruction import (
    LeastSquares,
    LinearProgram,
    Posterior,
    Reconstruction,
    Robust,
    SubsetSum,
    lying,
)
from discreet.attacks.simulation import Bits, Reals
from discreet.lab.setting import Curated, Setting, released
from discreet.plan.schema import Bounds, Keys, Limits

LIES = 0.2
"""The share of answers that are garbage where the system lies."""


def system(attack: Reconstruction, setting: Setting) -> SubsetSum:
    """A system that answers `setting.effort` subset sums."""
    secret = attack.secret
    match setting.against:
        case "raw":
            return lambda people: float(secret[people].sum())
        case "rounded":
            return lambda people: float(5 * np.round(secret[people].sum() / 5))
        case "private":
            return _curated(attack, setting)


def _curated(attack: Reconstruction, setting: Setting) -> SubsetSum:
    """A curator who is handed all subsets at once: one question with a group for each.

    A person counts once in each of the subsets that they are in. Those are the attacker's own, so
    the most that anybody is in is public, and the noise has to hide no more than that.
    """
    subsets = attack.questions(setting.effort)
    asked, people = np.nonzero(subsets)
    sums = released(
        {"id": people, "subset": asked, "secret": attack.secret[people]},
        {"subset": len(subsets)},
        where="secret = 1",
        bounds={"secret": Bounds(0, 1)},
        epsilon=setting.epsilon,
        limits=Limits(max(1, int(subsets.sum(axis=0).max())), 1),
        gaussian=True,
    )
    said = {subset.tobytes(): float(n) for subset, n in zip(subsets, sums, strict=True)}
    return lambda wanted: said[wanted.tobytes()]


def exponential(setting: Setting, people: int = 12, systems: int = 10) -> Outcome:
    """All 2^n databases are weighed, against a few systems."""
    return pool(
        _rebuild(Posterior, setting, people, purpose) for purpose in range(11, 11 + systems)
    )


def reconstruct(setting: Setting, people: int = 128) -> Outcome:
    """Least squares."""
    return _rebuild(LeastSquares, setting, people, 21)


def linear_program(setting: Setting, people: int = 64) -> Outcome:
    """A linear program."""
    return _rebuild(LinearProgram, setting, people, 31)


def robust(setting: Setting, people: int = 64) -> Outcome:
    """A linear program against a system that lies now and then."""
    attack = Robust(setting.draws(41).bits(people), setting.approximate, setting.seed)
    honest = system(attack, setting)
    return attack.run(lying(honest, LIES, people, setting.seed), setting.effort)


def _rebuild(kind: type[Reconstruction], setting: Setting, people: int, purpose: int) -> Outcome:
    attack = kind(setting.draws(purpose).bits(people), setting.approximate, setting.seed)
    return attack.run(system(attack, setting), setting.effort)


# --- wards --------------------------------------------------------------------------------------

WARDS, EACH, AUDITED = 400, 5, 7


def differencing(setting: Setting, wards: int = WARDS) -> Outcome:
    """Everybody, everybody but one, subtract."""
    secret = setting.draws(51).bits(wards, EACH)
    attack = Differencing(secret, setting.pure)
    sums, private = exact(secret), partial(_by_ward, secret, setting.epsilon, questions=2)
    return setting.play(attack.run, sums, lambda who: 5 * np.round(sums(who) / 5), private)


def averaging(setting: Setting, wards: int = WARDS) -> Outcome:
    """The same question again and again."""
    secret = setting.draws(61).bits(wards, EACH)
    attack = Averaging(secret, setting.pure)
    sums, private = exact(secret), partial(_by_ward, secret, setting.epsilon, questions=1)
    coins, scale = setting.draws(62), 1 / float(setting.epsilon)
    return setting.play(
        attack.run, sums, lambda who: sums(who) + coins.laplace(scale, wards), private
    )


def refusals(setting: Setting, wards: int = WARDS) -> Outcome:
    """An auditor who refuses what would reveal too much."""
    secret = setting.draws(91).bits(wards, AUDITED)
    attack = Refusals(secret, setting.pure)
    auditor: WardSums = QueryAuditor(secret)
    return setting.play(attack.run, exact(secret), auditor, lambda: _unrefused(attack, setting))


def _unrefused(attack: Refusals, setting: Setting) -> WardSums:
    """A curator who is handed all questions at once, and refuses none; nobody is in more than 3."""
    secret, asked = attack.secret, attack.questions(setting.effort)
    wards, each = secret.shape
    question, person = np.nonzero(asked)
    people = np.arange(wards)[:, None] * each + person
    rows = {
        "id": people.ravel(),
        "ward": np.repeat(np.arange(wards), person.size),
        "question": np.tile(question, wards),
        "secret": secret.ravel()[people.ravel()].astype(np.float64),
    }
    answers = released(
        rows,
        {"ward": wards, "question": len(asked)},
        "SUM(secret)",
        bounds={"secret": Bounds(0, 1)},
        epsilon=setting.epsilon,
        limits=Limits(int(asked.sum(axis=0).max()), 1),
    )
    said = {who.tobytes(): column for who, column in zip(asked, answers.T, strict=True)}
    return lambda who: np.asarray(said[who[0].tobytes()])


def exact(secret: Bits) -> WardSums:
    """A system that says the truth."""
    return lambda who: (secret * who).sum(axis=1).astype(np.float64)


def _by_ward(secret: Bits, epsilon: Fraction, questions: int) -> WardSums:
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
    """A curator over `count` wards of one person each, asked that many questions.

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
