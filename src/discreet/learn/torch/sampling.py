"""Sample the people of a step, and batch their rows in one shape.

Every person tosses a coin of their own each step (Poisson sampling). A batch has room for a fixed
number of people with a fixed number of rows each; what is free is filled with rows of the same
people once more, which weigh nothing: no made-up row can fail in a model where theirs do not. So
shapes say nothing of the data, an empty sample is an ordinary one, and a sample that is larger than
a batch is several (virtual batches, whose sums add up before there is any noise).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.learn.rows import codes_of
from discreet.noise import below, bernoulli

_TOSSED: Final = 1 << 12  # coins are tossed for so many people at a time, whether they exist or not


@dataclass(frozen=True)
class PeopleBatch:
    """Some people's rows: `people` times `rows` slots, and what each slot weighs."""

    inputs: tuple[Tensor, ...]
    targets: Tensor | None
    weights: Tensor
    people: int
    rows: int

    def only(self, some: Tensor) -> "PeopleBatch":
        """Some people alone; rows of the first of them fill the other slots, without weight."""
        place = some[:1].repeat(self.people)
        place[some] = some
        slots = (place[:, None] * self.rows + torch.arange(self.rows, device=some.device)).flatten()
        weights = torch.zeros_like(self.weights).view(self.people, -1)
        weights[some] = self.weights.view(self.people, -1)[some]
        targets = None if self.targets is None else self.targets[slots]
        inputs = tuple(one[slots] for one in self.inputs)
        return PeopleBatch(inputs, targets, weights.flatten(), self.people, self.rows)

    def halves(self) -> "list[PeopleBatch]":
        """Two halves of the people who weigh something, where there are several."""
        some = self.weights.view(self.people, -1).sum(1).nonzero().flatten()
        return [self.only(half) for half in some.chunk(2)] if len(some) > 1 else []


Batches = Iterator[PeopleBatch]


class PeopleSampler:
    """Poisson samples of people, as batches of at most `at_once` people with `rows` rows each.

    Guarantee:
        Each person is in each sample independently, with probability `rate` exactly. What a person
        adds to a batch depends on their own rows and coins alone: of more than `rows` rows, as many
        neighbours from a random place on; a row weighs one over the rows taken.
    Edge cases:
        Rows without a name are one person's together. No people at all give no batches. With
        `places` > 1 a person has one place at random among so many steps, for good, and the same
        coin is tossed at that step alone (banded noise).
    """

    def __init__(
        self,
        inputs: tuple[Tensor, ...],
        targets: Tensor | None,
        people: Any,
        *,
        rows: int,
        at_once: int,
        places: int = 1,
    ) -> None:
        self.inputs, self.targets, self.rows, self.at_once = inputs, targets, rows, at_once
        codes = codes_of(people, rows, *inputs, *([] if targets is None else [targets]))
        self.order = np.argsort(codes, kind="stable")
        self.counts = np.bincount(codes)
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        self.places = places
        self.seats = _block_of(len(self.counts), lambda n: below(places, n))

    def sample(self, step: int, rate: Fraction) -> NDArray[Any]:
        """The people of one step."""
        tossed = _block_of(len(self.counts), lambda n: bernoulli(rate, n))
        here = self.seats[: len(self.counts)] == step % self.places
        return np.flatnonzero(np.asarray(tossed, dtype=bool) & here)

    def batches(self, sampled: NDArray[Any], device: torch.device) -> Callable[[], Batches]:
        """Their rows, in batches of one shape that are made at each call, with nothing drawn."""
        first = _block_of(len(self.counts), lambda n: below(1 << 32, n))
        places = range(self.at_once, len(sampled), self.at_once)
        parts = np.split(sampled, places) if len(sampled) else []
        return lambda: (self._batch(some, first, device) for some in parts)

    def _batch(self, some: NDArray[Any], first: Any, device: torch.device) -> PeopleBatch:
        filled, places = np.resize(some, self.at_once), np.arange(self.rows)
        counts = self.counts[filled]
        begin = np.where(counts > self.rows, first[filled] % counts, 0)
        at = self.starts[filled][:, None] + (begin[:, None] + places) % counts[:, None]
        slots = torch.from_numpy(self.order[at].flatten())
        share = (places < counts[:, None]) / np.minimum(counts, self.rows)[:, None]
        share[len(some) :] = 0
        weights = _moved(torch.from_numpy(share.flatten()).float(), device)
        targets = None if self.targets is None else _chosen(self.targets, slots, device)
        inputs = tuple(_chosen(one, slots, device) for one in self.inputs)
        return PeopleBatch(inputs, targets, weights, self.at_once, self.rows)


def _chosen(rows: Tensor, slots: Tensor, device: torch.device) -> Tensor:
    return _moved(rows[_moved(slots, rows.device)], device)


def _moved(one: Tensor, device: torch.device) -> Tensor:
    """The same on a device, without waiting for what a GPU still has to do."""
    if device.type != "cuda" or one.is_cuda:
        return one.to(device)
    return one.pin_memory().to(device, non_blocking=True)


def _block_of(people: int, draw: Any) -> Any:
    """Draws for all people, and as many more as make blocks full."""
    return np.asarray(draw(-(-max(people, 1) // _TOSSED) * _TOSSED))[:people]
