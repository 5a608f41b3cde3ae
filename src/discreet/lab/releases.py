"""Plays about published tables: tracing, linkage, two hospitals, and the census block."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from discreet.attacks.census import BLOCK, KINDS, OLDEST, Census, CensusCounts, Statistic, tabulate
from discreet.attacks.heat_map import CELLS, LONGEST, HeatMap, Tracks, masked
from discreet.attacks.intersection import Cells, Hospital, Intersection, mondrian
from discreet.attacks.linkage import Counts, Linkage, Ratings, Suspicion
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits, Reals
from discreet.attacks.tracing import Means, Tracing
from discreet.lab.setting import Curated, Setting
from discreet.plan.schema import Bounds, Keys, Limits

CLASS = 5
"""People in an anonymous class, and about as many in a cell of the private histogram."""

BLOCKS = 60
"""Blocks whose private counts are attacked, so that a rate of some per cent is seen."""


def tracing(setting: Setting, attributes: int = 1000) -> Outcome:
    """Membership in a study."""
    attack = Tracing(attributes=attributes, promise=setting.approximate, seed=setting.seed)
    return setting.play(
        attack,
        lambda rows: rows.mean(axis=0),
        lambda rows: rows.mean(axis=0).round(1),
        lambda: _private_means(setting),
    )


def _private_means(setting: Setting) -> Means:
    def means(rows: Bits) -> Reals:
        people, many = rows.shape
        curated = Curated.of(
            "study",
            {
                "id": np.repeat(np.arange(people), many),
                "attribute": np.tile(np.arange(many), people),
                "number": rows.ravel(),
            },
            {"attribute": Keys(list(range(many))), "number": Bounds(0, 1)},
            epsilon=setting.epsilon,
            limits=Limits(many, 1),
            gaussian=True,
        )
        question = "SELECT attribute, SUM(number) AS s FROM study GROUP BY attribute"
        return np.asarray(curated.cells(question, (many,)) / people)

    return means


def linkage(setting: Setting, people: int = 1000, films: int = 500) -> Outcome:
    """Re-identify people by their ratings."""
    attack = Linkage(people=people, films=films, promise=setting.pure, seed=setting.seed)
    viewers = partial(_viewers, setting=setting)
    return setting.play(attack, lambda ratings: ratings, _monthly, lambda: viewers)


def _monthly(ratings: Ratings) -> Ratings:
    """Days coarsened to the middle of the month."""
    return Ratings(ratings.person, ratings.film, ratings.stars, ratings.day // 30 * 30 + 15)


def _viewers(ratings: Ratings, setting: Setting) -> Counts:
    """A curator who is asked about all targets at once: how many viewers fit each suspicion?

    Whom a viewer fits is read from their own ratings alone, and a viewer counts for one target.
    """

    def count(suspicions: Sequence[Suspicion]) -> Reals:
        fits = [one.fits(ratings) for one in suspicions]
        curated = Curated.of(
            "viewers",
            {
                "id": np.concatenate(fits),
                "target": np.repeat(np.arange(len(fits)), [one.size for one in fits]),
            },
            {"target": Keys(list(range(len(fits))))},
            epsilon=setting.epsilon,
        )
        question = "SELECT target, COUNT(*) AS n FROM viewers GROUP BY target"
        return np.asarray(curated.cells(question, (len(fits),)))

    return count


def intersection(setting: Setting, patients: int = 5000, cell: int = CLASS) -> Outcome:
    """Diagnoses of patients of two hospitals; private counts are in cells of about `cell`."""
    attack = Intersection(patients=patients, promise=setting.pure, seed=setting.seed)
    private = partial(_histogram, setting, cell)
    return setting.play(attack, mondrian(1), mondrian(CLASS), private)


def _histogram(setting: Setting, cell: int) -> Hospital:
    """Hospitals that publish private counts; two share epsilon, as a patient may be in both."""

    def publish(places: Reals, conditions: Bits, values: int) -> Cells:
        side = max(1, math.isqrt(len(places) // cell))
        curated = Curated.of(
            "patients",
            {"id": np.arange(len(places)), "cell": _cell(places, side), "condition": conditions},
            {"cell": Keys(list(range(side * side))), "condition": Keys(list(range(values)))},
            epsilon=setting.epsilon / 2,
        )
        question = "SELECT cell, condition, COUNT(*) AS n FROM patients GROUP BY cell, condition"
        counts = curated.cells(question, (side * side, values))
        return lambda wanted: np.asarray(counts[_cell(wanted, side)])

    return publish


def _cell(places: Reals, side: int) -> Bits:
    across, up = np.floor(places * side).astype(np.int64).T
    return np.asarray(across * side + up)


def census(setting: Setting) -> Outcome:
    """Reconstruct the people of a block; private counts are released for `BLOCKS` alike."""
    attack, office = Census(promise=setting.pure), tabulate(BLOCK)
    match setting.against:
        case "raw":
            return attack.run(office, setting.effort)
        case "rounded":
            coarse = Census(promise=setting.pure, rounding=0.55)
            return coarse.run(lambda pattern: _whole(office(pattern)), setting.effort)
        case "private":
            counts = CensusCounts(promise=setting.pure, seed=setting.seed)
            return counts.run(_private_counts(setting), BLOCKS)


def fitness_map(setting: Setting) -> Outcome:
    """Which areas have a base?"""
    attack = HeatMap(promise=setting.approximate, seed=setting.seed)
    private = partial(_private_heat, setting=setting)
    return setting.play(attack, lambda tracks: tracks.heat, masked, lambda: private)


def _private_heat(tracks: Tracks, setting: Setting) -> Reals:
    """A curator's count of runners in every cell; how long a run is at most is public."""
    shape = {"area": tracks.areas, "cell": CELLS}
    curated = Curated.of(
        "runs",
        {"id": tracks.person, "area": tracks.area, "cell": tracks.cell},
        {name: Keys(list(range(many))) for name, many in shape.items()},
        epsilon=setting.epsilon,
        limits=Limits(LONGEST, 1),
        gaussian=True,
    )
    question = "SELECT area, cell, COUNT(*) AS n FROM runs GROUP BY area, cell"
    return np.asarray(curated.cells(question, tuple(shape.values())))


def _whole(one: Statistic) -> Statistic:
    """A mean without decimals."""
    return Statistic(one.pattern, one.count, one.median, float(round(one.mean)))


def _private_counts(setting: Setting) -> Callable[[], Reals]:
    """A curator's counts of every age and kind, block by block: sums of ones, not rounded."""
    ages, kinds = (list(column) * BLOCKS for column in zip(*BLOCK, strict=True))
    rows = {
        "id": np.arange(len(ages)),
        "block": np.repeat(np.arange(BLOCKS), len(BLOCK)),
        "age": ages,
        "kind": list(map(KINDS.index, kinds)),
        "one": np.ones(len(ages)),
    }
    shape = {"block": BLOCKS, "age": OLDEST + 1, "kind": len(KINDS)}
    keys = {name: Keys(list(range(many))) for name, many in shape.items()}
    curated = Curated.of("people", rows, {**keys, "one": Bounds(0, 1)}, epsilon=setting.epsilon)
    question = "SELECT block, age, kind, SUM(one) AS n FROM people GROUP BY block, age, kind"
    blocks = iter(curated.cells(question, tuple(shape.values())))
    return lambda: np.asarray(next(blocks))
