"""Quantum data: a noisy measurement of n product states is private exactly when it is gentle.

Each person holds a qubit. A collective measurement says how many qubits are 1, plus noise. It is
*private* if changing one qubit changes the probability of any answer by a factor e^epsilon at most.
It is *gentle* if the qubits stay close to what they were (in trace distance), whatever answer is
seen. All is computed from state vectors, 2^n amplitudes, and compared with the theorem:

    tanh(epsilon/4)  <=  worst damage to product states  <=  sqrt(1 - cosh(epsilon/4)^(-2n))

Both sides are equal for one qubit. Proof, for answers that are noisy functions of measured bits:
docs/explanation/quantum.md.

Reference: Aaronson, Rothblum 2019, Gentle Measurement of Quantum States and Differential Privacy
(arXiv 1904.08747). Its main theorem says so of every measurement, up to constants: alpha-gentle on
product states is O(alpha)-DP, and an epsilon-DP product measurement is O(epsilon sqrt(n))-gentle.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.rationals import positive, whole

State: TypeAlias = NDArray[np.complex128]
MOST = 14
"""Qubits whose 2^n amplitudes are listed."""

LARGEST = 50
"""Above this epsilon, floats cannot distinguish some answers' probabilities from 0."""


def product_state(ones: Sequence[float], phases: Sequence[float] | None = None) -> State:
    """Qubits side by side: `ones[i]` is the probability of a 1 for qubit i, measured alone.

    Example:
        >>> product_state([0, 0.5]).real.round(3).tolist()
        [0.707, 0.707, 0.0, 0.0]
    """
    if not 1 <= len(ones) <= MOST or not all(0 <= one <= 1 for one in ones):
        raise InputError(
            "these are no qubits",
            why=f"1 to {MOST} probabilities of a 1 are listed",
            fix="pass numbers from 0 to 1",
        )
    state = np.ones(1, dtype=np.complex128)
    for one, phase in zip(ones, phases or [0.0] * len(ones), strict=True):
        turned = complex(math.cos(phase), math.sin(phase))
        state = np.kron(state, np.array([math.sqrt(1 - one), turned * math.sqrt(one)]))
    return state


@dataclass(frozen=True)
class NoisyWeight:
    """Measures how many of n qubits are 1, with two-sided geometric noise, clamped to 0..n.

    Guarantee: epsilon-DP on product states that differ in one qubit.
    Gentleness: at most `most_damage` to any product state, whatever answer is seen; some product
    state suffers as much, and no measurement of this epsilon gets below `least_damage`.
    Edge cases: on entangled states neither bound holds.

    Example:
        >>> measured = NoisyWeight(4, epsilon=1)
        >>> worst = measured.damage(measured.worst_state())
        >>> round(worst, 6) == round(measured.most_damage, 6)
        True
    """

    n: int
    epsilon: float = field(kw_only=True)

    def __post_init__(self) -> None:
        price = float(positive(self.epsilon, "epsilon"))
        if whole(self.n, "n", at_least=1) > MOST or price > LARGEST:
            raise InputError(
                f"n is {self.n} and epsilon {price:g}",
                why="2^n amplitudes are listed, and answers never seen cannot be compared",
                fix=f"take at most {MOST} qubits, and epsilon up to {LARGEST}",
            )
        object.__setattr__(self, "epsilon", price)

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """How many bits of each basis state are 1."""
        basis = np.arange(2**self.n)
        return np.asarray(np.add.reduce((basis[:, None] >> np.arange(self.n)) & 1, axis=1))

    def law(self, answer: int) -> NDArray[np.float64]:
        """How probable an answer is, for each number of ones from 0 to n."""
        ratio, apart = math.exp(-self.epsilon), np.abs(np.arange(self.n + 1) - answer)
        powers = np.array([ratio ** int(one) for one in apart])
        return powers / (1 + ratio) * (1 if answer in {0, self.n} else 1 - ratio)

    def probability(self, state: State, answer: int) -> float:
        """How probable an answer is."""
        return math.fsum(_squares(state) * self.law(answer)[self.weights])

    def after(self, state: State, answer: int) -> State:
        """The state that is left once the answer was seen."""
        left = state * np.sqrt(self.law(answer))[self.weights]
        return np.asarray(left / math.sqrt(math.fsum(_squares(left))))

    def damage(self, state: State, answer: int | None = None) -> float:
        """The trace distance of what is left from what was; the largest of all answers' if none."""
        if answer is None:
            return max(self.damage(state, one) for one in range(self.n + 1))
        return distance(state, self.after(state, answer))

    def loss(self, state: State, neighbour: State) -> float:
        """The largest logarithm of how much likelier one of two states makes an answer."""
        chances = [
            (self.probability(state, one), self.probability(neighbour, one))
            for one in range(self.n + 1)
        ]
        return max(abs(math.log(one / other)) for one, other in chances)

    def counted(self, state: State) -> tuple[float, ...]:
        """How probable each number of ones is, without noise."""
        squares = _squares(state)
        return tuple(math.fsum(squares[self.weights == one]) for one in range(self.n + 1))

    def worst_state(self) -> State:
        """The product state that the answer n damages most: a 1 has odds 1 : e^(epsilon/2)."""
        return product_state([1 / (1 + math.exp(self.epsilon / 2))] * self.n)

    @property
    def most_damage(self) -> float:
        """The most that any product state suffers."""
        log_cosh = math.log1p(2 * math.sinh(self.epsilon / 8) ** 2)  # of epsilon/4, to all digits
        return math.sqrt(-math.expm1(-2 * self.n * log_cosh))

    @property
    def least_damage(self) -> float:
        """Lower bound on the damage to some product state by measurements of this epsilon."""
        return math.tanh(self.epsilon / 4)


def epsilon_of(damage: float) -> float:
    """The epsilon of a measurement that damages no product state by more: 4 artanh(damage).

    Example:
        >>> round(epsilon_of(NoisyWeight(1, epsilon=0.5).most_damage), 9)
        0.5
    """
    if not 0 <= damage < 1:
        raise InputError(
            f"damage is {damage}", why="it is a trace distance", fix="pass one from 0 to below 1"
        )
    return 4 * math.atanh(damage)


def distance(one: State, other: State) -> float:
    """The trace distance of two pure states: sqrt(1 - |<one|other>|^2).

    By way of one - other, scaled to the same phase, so that small distances keep their digits.
    """
    overlap = np.conj(one) * other
    inner = complex(math.fsum(overlap.real), math.fsum(overlap.imag))
    apart = other - inner * one
    return min(1.0, math.sqrt(math.fsum(_squares(apart))))


def _squares(state: State) -> NDArray[np.float64]:
    return np.asarray(state.real**2 + state.imag**2)


EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Loss and damage of one measurement at every epsilon of `EPSILONS`, from state vectors.

    `loss` is of two product states that differ in a qubit, `damage` of the worst product state and
    `coins` of n fair coins in superposition, each at the worst answer. `least` and `most` are the
    theorem's. `before` is how probable each number of ones is among the coins, `after` the same
    once the answer was n: a row for each epsilon.
    """

    qubits: int
    epsilons: tuple[float, ...]
    loss: tuple[float, ...]
    damage: tuple[float, ...]
    coins: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[tuple[float, ...], ...]


def sweep(n: int) -> Sweep:
    """Measure n qubits with less and less noise.

    Example:
        >>> found = sweep(2)
        >>> round(found.loss[6], 9), round(found.damage[6], 6) == round(found.most[6], 6)
        (1.0, True)
    """
    measured = [NoisyWeight(n, epsilon=one) for one in EPSILONS]
    rest, coins = [0.0] * (n - 1), product_state([0.5] * n)
    none, one = product_state([0.0, *rest]), product_state([1.0, *rest])
    return Sweep(
        n,
        EPSILONS,
        tuple(each.loss(none, one) for each in measured),
        tuple(each.damage(each.worst_state()) for each in measured),
        tuple(each.damage(coins) for each in measured),
        tuple(each.least_damage for each in measured),
        tuple(each.most_damage for each in measured),
        measured[0].counted(coins),
        tuple(each.counted(each.after(coins, n)) for each in measured),
    )
