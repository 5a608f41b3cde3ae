"""What an analyst still learns: one honest question about the attacked people.

The same promise that stops the attacker buys one count of the same people, from a real curator. A
defence that answers nothing would stop every attacker, and nobody would need it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.attacks.census import BLOCK
from discreet.attacks.exposure import Exposure
from discreet.attacks.heat_map import SIDE, HeatMap
from discreet.attacks.holdout import Holdout, HoldoutLabel, Leaderboard
from discreet.attacks.instance_hiding import InstanceHiding
from discreet.attacks.intersection import Intersection
from discreet.attacks.linkage import Linkage
from discreet.attacks.simulation import Bits
from discreet.attacks.social_graph import SocialGraph
from discreet.attacks.tracing import Tracing
from discreet.lab.releases import BLOCKS
from discreet.lab.setting import Curated, Setting
from discreet.lab.stories import STORIES
from discreet.plan.schema import Bounds

_POPULAR = 0
"""The film that most people have seen."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """An honest question, what is true, and what a curator answered: 95 of 100 are within ±."""

    asked: str
    truth: int
    answer: float
    half_width: float
    people: int


class _SeenError(Exception):
    """An attack has shown its target the data; it need not go on."""


def _shown(attack: Any, setting: Setting) -> tuple[Any, ...]:
    """The people whom an attack is about."""

    def target(*data: Any) -> None:
        raise _SeenError(*data)

    try:
        attack.run(target, setting.effort)
    except _SeenError as seen:
        return seen.args
    raise AssertionError(f"{attack} shows nothing")


def _secret(purpose: int, *shape: int) -> Callable[..., Bits]:
    return lambda setting, **_: setting.draws(purpose).bits(*shape).ravel()


def _liked(setting: Setting, people: int = 1000, films: int = 500) -> Bits:
    (ratings,) = _shown(Linkage(people=people, films=films, seed=setting.seed), setting)
    fans = ratings.person[(ratings.film == _POPULAR) & (ratings.stars >= 4)]
    return np.isin(np.arange(people), fans).astype(np.int64)


def _conditions(setting: Setting, patients: int = 5000) -> Bits:
    _, conditions, _ = _shown(Intersection(patients=patients, seed=setting.seed), setting)
    return np.asarray(conditions == 0)


def _of(attack: Callable[..., Any], who: Callable[..., Any]) -> Callable[..., Bits]:
    """Who counts, by what an attack with a seed shows its target."""
    return lambda setting, **_: np.asarray(who(*_shown(attack(seed=setting.seed), setting)))


def _right(_: Any, hold: Any) -> Any:
    return hold.features[:, 0] == hold.labels


def _scored(setting: Setting, **_: Any) -> Bits:
    board = Leaderboard(500, seed=setting.seed)
    (labels,) = _shown(board, setting)
    return np.asarray(board.submissions(1)[0] == labels)


USEFUL: Mapping[str, Callable[..., Bits]] = MappingProxyType(
    {
        "exponential": _secret(11, 12),
        "reconstruct": _secret(21, 128),
        "linear-program": _secret(31, 64),
        "robust": _secret(41, 64),
        "differencing": _secret(51, 400, 5),
        "averaging": _secret(61, 400, 5),
        "refusals": _secret(91, 400, 7),
        "tracing": _of(Tracing, lambda rows: rows[:, 0]),
        "linkage": _liked,
        "intersection": _conditions,
        "census": lambda _, **__: np.array([age >= 18 for age, _kind in BLOCK] * BLOCKS),
        "fitness-map": _of(
            HeatMap,
            lambda tracks: np.bincount(tracks.person, tracks.cell // SIDE == SIDE // 2) > 0,
        ),
        "social-graph": _of(
            partial(SocialGraph, 250), lambda links: links[np.triu_indices(len(links), 1)]
        ),
        "instance-hiding": _of(InstanceHiding, lambda images, _: images[:, 0] > 0),
        "definitions": _of(Exposure, lambda codes: codes < 50),
        "holdout": _of(partial(Holdout, 2000, 1000, kept=200), _right),
        "holdout-label": _of(partial(HoldoutLabel, 200), _right),
        "leaderboard": _scored,
        "low-bits": _secret(71, 1000),
        "repeated-zero": _secret(71, 1000),
    }
)
"""By the names of the plays: who of the attacked people count in the story's honest question."""


def learn(name: str, setting: Setting, **size: int) -> Learnt:
    """Spend the whole promise on one honest question about the attacked people.

    Example:
        >>> found = learn("reconstruct", Setting("private", 1))
        >>> found.asked, found.truth
        ('How many of the 128 people have the secret?', 52)
    """
    yes = USEFUL[name](setting, **size).astype(np.int64)
    curated = Curated.of(
        "people",
        {"id": np.arange(yes.size), "yes": yes},
        {"yes": Bounds(0, 1)},
        epsilon=setting.epsilon,
    )
    text = "SELECT COUNT(*) AS n FROM people WHERE yes = 1"
    release = curated.curator.sql(text, epsilon=curated.epsilon)
    return Learnt(
        STORIES[name].asked.format(n=f"{yes.size:,}"),
        int(yes.sum()),
        float(release.table.column("n")[0].as_py()),
        math.ceil(10 * release.half_widths["n"][0].as_py()) / 10,
        int(yes.size),
    )
