"""Plays about published tables: tracing, linkage, two hospitals, and the census block."""

import math

import numpy as np

from discreet.attacks.census import BLOCK, Agency, Census, Statistic, tabulate
from discreet.attacks.intersection import Cells, Hospital, Intersection, mondrian
from discreet.attacks.linkage import DAYS, STARS, Linkage, Ratings
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits, Reals
from discreet.attacks.tracing import Means, Tracing
from discreet.lab.curated import Curated
from discreet.lab.setting import Setting
from discreet.plan.schema import Bounds, Keys, Limits

CLASS = 5
"""People in an anonymous class, and about as many in a cell of the private histogram."""

CAP = 50
"""Ratings that one person may add to private sums."""

LINES = 40
"""Ratings in each of the private records: about as many as people have."""


def tracing(setting: Setting, attributes: int = 1000) -> Outcome:
    """Who was in the study?"""
    attack = Tracing(attributes=attributes, promise=setting.approximate, seed=setting.seed)
    match setting.against:
        case "raw":
            return attack.run(lambda rows: rows.mean(axis=0), setting.effort)
        case "rounded":
            return attack.run(lambda rows: rows.mean(axis=0).round(1), setting.effort)
        case "private":
            return attack.run(_private_means(setting), setting.effort)


def _private_means(setting: Setting) -> Means:
    def means(rows: Bits) -> Reals:
        people, many = rows.shape
        desk = Curated.of(
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
        return np.asarray(desk.cells(question, (many,)) / people)

    return means


def linkage(setting: Setting, people: int = 1000, films: int = 500) -> Outcome:
    """Whose ratings are these?"""
    attack = Linkage(people=people, films=films, promise=setting.pure, seed=setting.seed)
    match setting.against:
        case "raw":
            return attack.run(lambda ratings: ratings, setting.effort)
        case "rounded":
            return attack.run(_monthly, setting.effort)
        case "private":
            return attack.run(lambda ratings: _noisy(ratings, films, setting), setting.effort)


def _monthly(ratings: Ratings) -> Ratings:
    """Days coarsened to the middle of the month."""
    return Ratings(ratings.person, ratings.film, ratings.stars, ratings.day // 30 * 30 + 15)


def _noisy(ratings: Ratings, films: int, setting: Setting) -> Ratings:
    """Records again, of a viewer and a film each: the strongest of a curator's sums of stars.

    Every viewer keeps a line of their own, so that nothing but noise hides them. Days are drawn
    blindly.
    """
    people = int(ratings.person.max()) + 1
    desk = Curated.of(
        "ratings",
        {"id": ratings.person, "viewer": ratings.person, "film": ratings.film, "s": ratings.stars},
        {
            "viewer": Keys(list(range(people))),
            "film": Keys(list(range(films))),
            "s": Bounds(0, STARS),
        },
        epsilon=setting.epsilon,
        limits=Limits(CAP, 1),
    )
    question = "SELECT viewer, film, SUM(s) AS stars FROM ratings GROUP BY viewer, film"
    sums = desk.cells(question, (people, films))
    best = np.argsort(-sums, axis=1, kind="stable")[:, :LINES]
    stars = np.clip(np.rint(np.take_along_axis(sums, best, axis=1)), 1, STARS).astype(np.int64)
    days = setting.draws(81).below(DAYS, best.size)
    return Ratings(np.repeat(np.arange(people), LINES), best.ravel(), stars.ravel(), days)


def intersection(setting: Setting, patients: int = 5000, cell: int = CLASS) -> Outcome:
    """What do patients of two hospitals have? Private counts are in cells of `cell` or so."""
    attack = Intersection(patients=patients, promise=setting.pure, seed=setting.seed)
    match setting.against:
        case "raw":
            return attack.run(mondrian(1), setting.effort)
        case "rounded":
            return attack.run(mondrian(CLASS), setting.effort)
        case "private":
            return attack.run(_histogram(setting, cell), setting.effort)


def _histogram(setting: Setting, cell: int) -> Hospital:
    """Hospitals that publish private counts; two share epsilon, as a patient may be in both."""

    def publish(places: Reals, conditions: Bits, values: int) -> Cells:
        side = max(1, math.isqrt(len(places) // cell))
        desk = Curated.of(
            "patients",
            {"id": np.arange(len(places)), "cell": _cell(places, side), "condition": conditions},
            {"cell": Keys(list(range(side * side))), "condition": Keys(list(range(values)))},
            epsilon=setting.epsilon / 2,
        )
        question = "SELECT cell, condition, COUNT(*) AS n FROM patients GROUP BY cell, condition"
        counts = desk.cells(question, (side * side, values))
        return lambda wanted: np.asarray(counts[_cell(wanted, side)])

    return publish


def _cell(places: Reals, side: int) -> Bits:
    across, up = np.floor(places * side).astype(np.int64).T
    return np.asarray(across * side + up)


def census(setting: Setting) -> Outcome:
    """Who lives in the block?"""
    attack, office = Census(promise=setting.pure), tabulate(BLOCK)
    match setting.against:
        case "raw":
            return attack.run(office, setting.effort)
        case "rounded":
            coarse = Census(promise=setting.pure, rounding=0.55)
            return coarse.run(lambda pattern: _whole(office(pattern)), setting.effort)
        case "private":
            return attack.run(_private_office(setting), setting.effort)


def _whole(one: Statistic) -> Statistic:
    """A mean without decimals."""
    return Statistic(one.pattern, one.count, one.median, float(round(one.mean)))


def _private_office(setting: Setting) -> Agency:
    ages, kinds = zip(*BLOCK, strict=True)
    letters = {"sex": "FM", "race": "BW", "marital": "MS"}
    rows = {name: [kind[i] for kind in kinds] for i, name in enumerate(letters)}
    desk = Curated.of(
        "block",
        {"id": list(range(len(BLOCK))), "age": list(ages), **rows},
        {"age": Bounds(0, 115), **{name: Keys(list(two)) for name, two in letters.items()}},
        epsilon=setting.epsilon,
        questions=7,
    )

    def publish(pattern: str) -> Statistic:
        asked = zip(letters, pattern, strict=True)
        where = " AND ".join(f"{name} = '{letter}'" for name, letter in asked if letter != ".")
        question = "SELECT COUNT(*) AS n, MEDIAN(age) AS m, AVG(age) AS a FROM block"
        question += f" WHERE {where}" if where else ""
        n, median, mean = (column[0].as_py() for column in desk.ask(question).columns)
        # A median is the middle of the year that was chosen.
        return Statistic(pattern, int(n), int(median or 0), round(float(mean or 0), 1))

    return publish
