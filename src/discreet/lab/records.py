"""Plays about published records: a network, images, and definitions that were rejected."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from discreet.attacks.exposure import Exposure, name_and_shame, random_record
from discreet.attacks.instance_hiding import Encoded, InstanceHiding, masked
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.attacks.social_graph import Release, SocialGraph
from discreet.lab.setting import Setting
from discreet.mechanisms import RandomizedResponse, RoundedGaussian

MOVED = 0.05
"""The share of friendships that are moved elsewhere before a network is published."""


def definitions(setting: Setting) -> Outcome:
    """Two definitions that were rejected, and one that was not."""
    attack = Exposure(promise=setting.pure, seed=setting.seed)
    draws, survey = setting.draws(101), RandomizedResponse(epsilon=setting.epsilon, k=attack.codes)

    def publish(secret: Bits) -> Mapping[int, int]:
        return dict(enumerate(survey.release(secret).tolist()))

    return setting.play(attack, random_record(draws), name_and_shame(draws), lambda: publish)


def social_graph(setting: Setting, people: int = 250) -> Outcome:
    """Re-identify friends in a network without names."""
    attack = SocialGraph(people, promise=setting.pure, seed=setting.seed)
    private = partial(_symmetric, survey=RandomizedResponse(epsilon=setting.epsilon))
    return setting.play(attack, lambda links: links, _moved(setting.draws(111)), lambda: private)


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
        attack,
        lambda images, mixing: Encoded(mixing @ images, mixing),
        masked(setting.draws(121)),
        lambda: partial(_noisy, setting=setting),
    )


def _noisy(images: Reals, mixing: Reals, setting: Setting) -> Encoded:
    """Mixtures with noise that hides any image with pixels in [-1, 1]; who was mixed is public."""
    mixed = mixing @ images
    share = float(np.sqrt((mixing**2).sum(axis=0).max()))
    noise = RoundedGaussian(
        mu_squared=setting.mu_squared,
        sensitivity=share * np.sqrt(images.shape[1]) * (1 + 1e-9),
        dimension=mixed.size,
    )
    return Encoded(np.asarray(noise.release(mixed.ravel())).reshape(mixed.shape), mixing)
