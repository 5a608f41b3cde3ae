"""Plays about what was published: tables, ratings, the census, a network, images, definitions."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from discreet.attacks.census import BLOCK, KINDS, OLDEST, Census, CensusCounts, Statistic, tabulate
from discreet.attacks.exposure import Exposure, name_and_shame, random_record
from discreet.attacks.heat_map import CELLS, LONGEST, HeatMap, Tracks, masked
from discreet.attacks.instance_hiding import Encoded, InstanceHiding
from discreet.attacks.instance_hiding import masked as masked_images
from discreet.attacks.intersection import Cells, Hospital, Intersection, mondrian
from discreet.attacks.linkage import Counts, Linkage, Ratings, Suspicion
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.attacks.social_graph import Release, SocialGraph
from discreet.attacks.tracing import Means, Tracing
from discreet.lab.setting import Setting, released
from discreet.mechanisms import RandomizedResponse, RoundedGaussian
from discreet.plan.schema import Bounds, Limits

CLASS = 5
"""People in an anonymous class, and about as many in a cell of the private histogram."""

BLOCKS = 60
"""Blocks whose private counts are attacked, so that a rate of some per cent is seen."""


def tracing(setting: Setting, attributes: int = 1000) -> Outcome:
    """Membership in a study."""
    attack = Tracing(attributes=attributes, promise=setting.approximate, seed=setting.seed)
    return setting.play(
        attack.run,
        lambda rows: rows.mean(axis=0),
        lambda rows: rows.mean(axis=0).round(1),
        lambda: _private_means(setting),
    )


def _private_means(setting: Setting) -> Means:
    def means(rows: Bits) -> Reals:
        people, many = rows.shape
        study = {
            "id": np.repeat(np.arange(people), many),
            "attribute": np.tile(np.arange(many), people),
            "number": rows.ravel(),
        }
        sums = released(
            study,
            {"attribute": many},
            "SUM(number)",
            bounds={"number": Bounds(0, 1)},
            epsilon=setting.epsilon,
            limits=Limits(many, 1),
            gaussian=True,
        )
        return np.asarray(sums / people)

    return means


def linkage(setting: Setting, people: int = 1000, films: int = 500) -> Outcome:
    """Re-identify people by their ratings."""
    attack = Linkage(people=people, films=films, promise=setting.pure, seed=setting.seed)
    viewers = partial(_viewers, setting=setting)
    return setting.play(attack.run, lambda ratings: ratings, _monthly, lambda: viewers)


def _monthly(ratings: Ratings) -> Ratings:
    """Days coarsened to the middle of the month."""
    return Ratings(ratings.person, ratings.film, ratings.stars, ratings.day // 30 * 30 + 15)


def _viewers(ratings: Ratings, setting: Setting) -> Counts:
    """A curator who is asked about all targets at once: how many viewers fit each suspicion?

    Whom a viewer fits is read from their own ratings alone, and a viewer counts for one target.
    """

    def count(suspicions: Sequence[Suspicion]) -> Reals:
        fits = [one.fits(ratings) for one in suspicions]
        target = np.repeat(np.arange(len(fits)), [one.size for one in fits])
        viewers = {"id": np.concatenate(fits), "target": target}
        return np.asarray(released(viewers, {"target": len(fits)}, epsilon=setting.epsilon))

    return count


def intersection(setting: Setting, patients: int = 5000, cell: int = CLASS) -> Outcome:
    """Diagnoses of patients of two hospitals; private counts are in cells of about `cell`."""
    attack = Intersection(patients=patients, promise=setting.pure, seed=setting.seed)
    private = partial(_histogram, setting, cell)
    return setting.play(attack.run, mondrian(1), mondrian(CLASS), private)


def _histogram(setting: Setting, cell: int) -> Hospital:
    """Hospitals that publish private counts; two share epsilon, as a patient may be in both."""

    def publish(places: Reals, conditions: Bits, values: int) -> Cells:
        side = max(1, math.isqrt(len(places) // cell))
        rows = {"id": np.arange(len(places)), "cell": _cell(places, side), "condition": conditions}
        shape = {"cell": side * side, "condition": values}
        counts = released(rows, shape, epsilon=setting.epsilon / 2)
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
    return setting.play(attack.run, lambda tracks: tracks.heat, masked, lambda: private)


def _private_heat(tracks: Tracks, setting: Setting) -> Reals:
    """A curator's count of runners in every cell; how long a run is at most is public."""
    runs = {"id": tracks.person, "area": tracks.area, "cell": tracks.cell}
    shape, limits = {"area": tracks.areas, "cell": CELLS}, Limits(LONGEST, 1)
    counts = released(runs, shape, epsilon=setting.epsilon, limits=limits, gaussian=True)
    return np.asarray(counts)


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
    shape, one = {"block": BLOCKS, "age": OLDEST + 1, "kind": len(KINDS)}, {"one": Bounds(0, 1)}
    blocks = iter(released(rows, shape, "SUM(one)", bounds=one, epsilon=setting.epsilon))
    return lambda: np.asarray(next(blocks))


# --- a network, images, and definitions that were rejected ---------------------------------------

MOVED = 0.05
"""The share of friendships that are moved elsewhere before a network is published."""


def definitions(setting: Setting) -> Outcome:
    """Two definitions that were rejected, and one that was not."""
    attack = Exposure(promise=setting.pure, seed=setting.seed)
    draws, survey = setting.draws(101), RandomizedResponse(epsilon=setting.epsilon, k=attack.codes)

    def publish(secret: Bits) -> Mapping[int, int]:
        return dict(enumerate(survey.release(secret).tolist()))

    return setting.play(attack.run, random_record(draws), name_and_shame(draws), lambda: publish)


def social_graph(setting: Setting, people: int = 250) -> Outcome:
    """Re-identify friends in a network without names."""
    attack = SocialGraph(people, promise=setting.pure, seed=setting.seed)
    private = partial(_symmetric, survey=RandomizedResponse(epsilon=setting.epsilon))
    return setting.play(
        attack.run, lambda links: links, _moved(setting.draws(111)), lambda: private
    )


def _symmetric(links: Bits, survey: RandomizedResponse) -> Bits:
    """Every pair reports whether they are friends."""
    upper = np.triu_indices(len(links), 1)
    released = np.zeros_like(links)
    released[upper] = survey.release(links[upper])
    return np.asarray(released | released.T)


def _moved(draws: SplitMix64) -> Release:
    """Some friendships are taken away, and as many put between people drawn at random."""

    def publish(links: Bits) -> Bits:
        one, other = np.nonzero(np.triu(links))
        gone = draws.uniform(one.size) < MOVED
        ends = draws.below(len(links), 2, int(gone.sum()))
        upper = np.zeros_like(links)
        upper[one[~gone], other[~gone]] = 1
        upper[ends[0], ends[1]] = ends[0] != ends[1]
        return np.asarray(upper | upper.T)

    return publish


def instance_hiding(setting: Setting) -> Outcome:
    """Recover images from their mixtures: plain, masked, or noisy."""
    attack = InstanceHiding(promise=setting.approximate, seed=setting.seed)
    return setting.play(
        attack.run,
        lambda images, mixing: Encoded(mixing @ images, mixing),
        masked_images(setting.draws(121)),
        lambda: partial(_noisy_images, setting=setting),
    )


def _noisy_images(images: Reals, mixing: Reals, setting: Setting) -> Encoded:
    """Mixtures with noise that hides any image with pixels in [-1, 1]; who was mixed is public."""
    mixed = mixing @ images
    share = float(np.sqrt((mixing**2).sum(axis=0).max()))
    noise = RoundedGaussian(
        mu_squared=setting.mu_squared,
        sensitivity=share * np.sqrt(images.shape[1]) * (1 + 1e-9),
        dimension=mixed.size,
    )
    return Encoded(np.asarray(noise.release(mixed.ravel())).reshape(mixed.shape), mixing)
