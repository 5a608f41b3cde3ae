"""Images that were mixed and whose signs were flipped, taken apart again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.outcome import Outcome, Promise, numbers, pool
from discreet.attacks.simulation import Reals, SplitMix64

DARK, BRIGHT, TEXTURE = 0.1, 0.6, 0.4
"""What a pixel is made of: the secret, times the sign of a public pattern, and texture."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Mixtures of images, a row each; `mixing` says how much of which image, or is hidden."""

    pixels: Reals
    mixing: Reals | None = None


Encoder: TypeAlias = Callable[[Reals, Reals], Encoded]
"""A release: takes images (a row each, pixels in [-1, 1]) and how they are to be mixed."""


@dataclass(frozen=True, slots=True)
class InstanceHiding:
    """Tells bright images from dark ones, after they were mixed two by two and masked.

    InstaHide publishes mixtures of images with the sign of every pixel drawn at random, and hides
    which images were mixed. Signs are gone if sizes are looked at. Mixtures that share an image are
    alike, so cliques of them are the images; then mixtures and signs are solved for in turn, by
    least squares. Where the mixing is public, one least squares is enough. Success is the share of
    images whose bit is right, over `effort` collections; the bound holds for one image.

    Images are synthetic: a public pattern of signs, times the bit, plus texture. Two images a
    mixture, all of them private; the original mixes more, and public ones too.

    Reference: Huang et al. 2020, InstaHide; Carlini et al. 2021, Is Private Learning Possible with
    Instance Encoding?
    """

    images: int = 20
    pixels: int = 400
    mixtures: int = 200
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def run(self, target: Encoder, effort: int = 5) -> Outcome:
        """Take `effort` collections of images apart."""
        draws = SplitMix64(self.seed)
        return pool(self._collection(target, draws.split()) for _ in range(effort))

    def _collection(self, target: Encoder, draws: SplitMix64) -> Outcome:
        secret = draws.bits(self.images)
        pattern = 2 * draws.bits(self.pixels) - 1
        texture = TEXTURE * (2 * draws.uniform(self.images, self.pixels) - 1)
        images = pattern * np.where(secret, BRIGHT, DARK)[:, None] + texture
        encoded = target(images, self._mixing(draws))
        pixels = numbers(encoded.pixels, self.mixtures, self.pixels)
        if encoded.mixing is None:
            found = self._unmask(np.abs(pixels) * pattern)
            # Which clique is which image: by their textures, which know nothing of the bits.
            own = found - pattern * (found * pattern).mean(axis=1, keepdims=True)
            found = found[(texture @ own.T / (1e-9 + np.linalg.norm(own, axis=1))).argmax(axis=1)]
        else:
            mixing = numbers(encoded.mixing, self.mixtures, self.images)
            found = np.asarray(np.linalg.lstsq(mixing, pixels, rcond=None)[0], dtype=np.float64)
        guess = (found * pattern).mean(axis=1) > (DARK + BRIGHT) / 2
        return self.promise.scored(guess == secret)

    def _mixing(self, draws: SplitMix64) -> Reals:
        """How much of each image is in each mixture: of two, a third to two thirds each."""
        first = draws.below(self.images, self.mixtures)
        second = (first + 1 + draws.below(self.images - 1, self.mixtures)) % self.images
        share = (1 + draws.uniform(self.mixtures)) / 3
        mixing, row = np.zeros((self.mixtures, self.images)), np.arange(self.mixtures)
        mixing[row, first], mixing[row, second] = share, 1 - share
        return mixing

    def _unmask(self, pixels: Reals) -> Reals:
        """Images from mixtures whose signs are those of the pattern, right or wrong."""
        members = _cliques(_alike(pixels), self.images)
        mixing = members / np.maximum(members.sum(axis=1, keepdims=True), 1)
        signed, images = pixels, np.zeros((self.images, self.pixels))
        for _ in range(_ROUNDS):
            images = np.linalg.pinv(mixing, rcond=1e-6) @ signed
            signed = np.where((mixing @ images) * pixels < 0, -pixels, pixels)
            # Each mixture by itself: how much of the two images is in it.
            mixing = np.stack([_shares(*row, images) for row in zip(signed, members, strict=True)])
        return np.asarray(images)


_ROUNDS, _TRIED = 6, 80
"""How often mixtures and signs are solved for, and pairs that a clique is grown from."""


def _shares(mixture: Reals, members: NDArray[np.bool_], images: Reals) -> Reals:
    found = np.zeros(len(members))
    if members.any():
        found[members] = np.linalg.lstsq(images[members].T, mixture, rcond=None)[0]
    return found


def _alike(pixels: Reals) -> NDArray[np.bool_]:
    """Pairs of mixtures that share an image, by correlation."""
    sizes = np.abs(pixels) - np.abs(pixels).mean(axis=0)
    sizes -= sizes.mean(axis=1, keepdims=True)
    sizes /= np.linalg.norm(sizes, axis=1, keepdims=True) + 1e-12
    near = sizes @ sizes.T
    np.fill_diagonal(near, 0.0)
    low, high = 0.0, float(near.max())
    for _ in range(20):
        upper = near > (low + high) / 2
        if not upper.any():
            break
        low, high = float(near[~upper].mean()), float(near[upper].mean())
    return np.asarray(near > (low + high) / 2)


def _cliques(alike: NDArray[np.bool_], many: int) -> NDArray[np.bool_]:
    """For each mixture, the two of `many` images that it most likely contains."""
    found = np.zeros((len(alike), many), dtype=np.bool_)
    for column in range(many):
        found[:, column] = _largest(alike, found)
    for _ in range(3):
        shared = alike.astype(np.float64) @ found / np.maximum(found.sum(axis=0), 1)
        found = shared >= np.sort(shared, axis=1)[:, -2:-1]
    return found


def _largest(alike: NDArray[np.bool_], found: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The largest group of mixtures that are nearly all alike, and not one that was found."""
    best = np.zeros(len(alike), dtype=np.bool_)
    unseen = np.triu(alike & ~(found.astype(np.int64) @ found.T > 0))
    pairs = np.argwhere(unseen)
    for a, b in pairs[:: max(1, len(pairs) // _TRIED)]:
        both = alike[a] & alike[b]
        both[[a, b]] = True
        inside = both & (alike[:, both].sum(axis=1) >= 0.7 * both.sum())
        fresh = (found & inside[:, None]).sum(axis=0).max() <= inside.sum() / 2
        best = inside if fresh and inside.sum() > best.sum() else best
    return best


def masked(draws: SplitMix64) -> Encoder:
    """InstaHide: mixtures with the sign of every pixel drawn at random."""

    def encode(images: Reals, mixing: Reals) -> Encoded:
        mixed = mixing @ images
        return Encoded(mixed * (2 * draws.bits(*mixed.shape) - 1))

    return encode
