"""All local protocols, and what becomes of their reports; parameters make mistakes easy to see."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from discreet.audit.report import Audit, audit_claim, priced
from discreet.errors import InputError
from discreet.local.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from discreet.local.domain import ValueDomain
from discreet.local.frequency import FrequencyProtocol, KRandomizedResponse
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.local_hashing import HadamardResponse, LocalHashing
from discreet.local.mean import HybridMean, Mean1Bit, PiecewiseMean
from discreet.local.popular_values import PopularValues
from discreet.local.popular_values import _table as table_of
from discreet.local.protocol import LocalProtocol
from discreet.local.rappor import Rappor
from discreet.local.reports import Frames, read_frames, write_frame
from discreet.local.secret_shared_sum import SecretSharedSum, SumServer, exchange
from discreet.local.shuffle import Shuffle
from discreet.local.unary_encoding import SubsetSelection, UnaryEncoding
from discreet.local.unit_vector_mean import UnitVectorMean
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.noise import below
from discreet.privacy import Neighbours, Pure

_ONE: Final = Fraction(1)

PROTOCOLS: Final[Mapping[str, Callable[[], LocalProtocol]]] = {
    "local-k-randomized-response": lambda: KRandomizedResponse(epsilon=_ONE, domain=ValueDomain(5)),
    "local-unary-encoding": lambda: UnaryEncoding(epsilon=_ONE, domain=ValueDomain(4)),
    "local-unary-encoding-symmetric": lambda: UnaryEncoding(
        epsilon=_ONE, domain=ValueDomain(4), form="symmetric"
    ),
    "local-subset-selection": lambda: SubsetSelection(epsilon=_ONE, domain=ValueDomain(6)),
    "local-hashing": lambda: LocalHashing(epsilon=_ONE, domain=ValueDomain(5)),
    "local-hadamard-response": lambda: HadamardResponse(epsilon=_ONE, domain=ValueDomain(5)),
    "local-count-mean-sketch": lambda: CountMeanSketch(epsilon=_ONE, hashes=2, columns=8),
    "local-hadamard-sketch": lambda: HadamardCountMeanSketch(epsilon=_ONE, hashes=2, columns=8),
    "local-rappor": lambda: Rappor(bits=8, hashes=1, cohorts=1),
    "local-rappor-two-hashes": lambda: Rappor(bits=8, hashes=2, cohorts=1),
    "local-mean-1bit": lambda: Mean1Bit(epsilon=_ONE),
    "local-piecewise-mean": lambda: PiecewiseMean(epsilon=_ONE),
    "local-hybrid-mean": lambda: HybridMean(epsilon=_ONE),
    "local-unit-vector-mean": lambda: UnitVectorMean(epsilon=_ONE, dimension=2, directions=8),
    "local-heavy-hitters": lambda: HeavyHitters(epsilon=_ONE, length=1),
}
"""Names as the command line takes them, and how to make each."""


class _CoarseMean(PiecewiseMean):
    """The same on a grid of 8 steps, where each point is reported often enough to be counted."""

    grid: ClassVar[int] = 8


_FEW: Final = 4000
_BATCH: Final = 16
_CROWD: Final = 40
_ASKED: Final = 9
_VALUES: Final = 32


def _shuffled() -> Claim:
    """The place of one report in a shuffled batch: the same law, wherever it was before."""
    survey = KRandomizedResponse(epsilon=Fraction(1, 10), domain=ValueDomain(2))
    rule = Shuffle(survey, batch=_BATCH, delta=Fraction(9, 10))

    def draw(place: int, runs: int) -> NDArray[Any]:
        batch = write_frame(survey.digest, (np.arange(_BATCH) == place).astype(np.uint8)[:, None])
        return np.array([_place(rule.shuffle(batch)) for _ in range(runs)])

    def _place(batch: bytes) -> int:
        [found] = read_frames(batch, survey.digest, survey.width)
        return int(found.rows[:, 0].argmax()) if isinstance(found, Frames) else -1

    return Claim("Shuffle", Pure(0, neighbours=Neighbours.CHANGE_ONE), (Pair(0, 15),), draw)


def _crowd() -> Claim:
    """One report and copies of another, which are no crowd: a shuffler may tell neither."""
    survey = KRandomizedResponse(epsilon=_ONE, domain=ValueDomain(2))
    rule, names = Shuffle(survey, batch=_CROWD, delta=Fraction(9, 10)), [bytes(16), b"copy" * 4]

    def draw(own: int, runs: int) -> NDArray[Any]:
        rows = survey.randomize(survey.read(np.repeat(own, runs)))
        return np.array([_told(row[None]) for row in rows])

    def _told(row: NDArray[Any]) -> int:
        """What comes out, and 2 where the batch is refused."""
        own, copy = (write_frame(survey.digest, row, name) for name in names)
        with suppress(InputError):
            batch = rule.shuffle(own + copy * (_CROWD - 1))
            [found] = read_frames(batch, survey.digest, survey.width)
            return int(found.rows.max()) if isinstance(found, Frames) else -1
        return 2

    return Claim("Shuffle of copies", rule.guarantee, (Pair(0, 1),), draw)


def _kept(name: str) -> Claim:
    """The claim for life: of the answer that a device keeps, and all it ever sends is made of."""
    protocol = PROTOCOLS[name]()

    def draw(value: Any, runs: int) -> NDArray[Any]:
        return protocol.coded(protocol.randomize(np.repeat(protocol.read(value), runs, axis=0)))

    promised = Pure(protocol.epsilon, neighbours=Neighbours.CHANGE_ONE)
    return Claim(f"{type(protocol).__name__} kept", promised, protocol.pairs, draw)


def _lived() -> Claim:
    """All bits that a device ever sends about one value: it keeps an answer for each end."""
    protocol = Mean1Bit(epsilon=_ONE)

    def _life(value: Any) -> int:
        def once(draw: Callable[[], Any], end: bytes = b"") -> Any:
            return kept[end] if end in kept else kept.setdefault(end, draw())

        codes, kept = protocol.read(value), dict[bytes, Any]()
        days = (protocol.settle(codes, once) for _ in range(_ASKED))
        return sum(int(once(partial(protocol.randomize, d), d.tobytes())[0, 0]) for d in days)

    promised = Pure(2 * protocol.epsilon, neighbours=Neighbours.CHANGE_ONE)
    draw = lambda value, runs: np.array([_life(value) for _ in range(runs)])  # noqa: E731
    return Claim("Mean1Bit for life", promised, protocol.pairs, draw)


def _shared_sum() -> Claim:
    """The total of one server, given a share twice and asked again; the other tells all it has."""
    rule = SecretSharedSum(epsilon=_ONE, bits=2)

    def _once(number: int) -> float:
        servers = [SumServer(rule, place) for place in range(2)]
        shares = rule.share(number)
        for _ in range(2):  # who was counted once is not counted again
            exchange(servers, shares)
        told = servers[1]._total  # noqa: SLF001 - a server that tells all
        return sum(rule.combine([servers[0].total(), told]) for _ in range(_ASKED)) / _ASKED

    draw = lambda number, runs: np.array([_once(number) for _ in range(runs)])  # noqa: E731
    return Claim("SecretSharedSum", rule.guarantee, (Pair(0, 3),), draw)


def _popular() -> Claim:
    """The bit that a server learns of a device: flipped by one place of a table, at random."""
    search, n = PopularValues(epsilon=_ONE), mpz(77)

    def draw(bit: int, runs: int) -> NDArray[Any]:
        tables = [table_of(search, n, secrets.token_bytes(32))[1] for _ in range(runs)]
        return np.take_along_axis(np.array(tables), below(search.length, (runs, 1)), 1) ^ bit

    promised = Pure(search.epsilon, neighbours=Neighbours.CHANGE_ONE)
    return Claim("PopularValues", promised, (Pair(0, 1),), draw)


def _of_values(name: str) -> Claim:
    """The claim about one report, of every value of its domain, or of many where there are more."""
    one = PROTOCOLS[name]()
    size = one.domain.size if isinstance(one, FrequencyProtocol) else _VALUES
    return replace(one.claim, pairs=tuple(Pair(v, (v + 1) % size) for v in range(0, size, 2)))


PATHS: Final[Mapping[str, Callable[[], Claim]]] = {
    "local-shuffle": _shuffled,
    "local-shuffle-copies": _crowd,
    "local-secret-shared-sum": _shared_sum,
    "local-popular-values": _popular,
    "local-piecewise-mean-coarse": lambda: _CoarseMean(epsilon=_ONE).claim,
    "local-rappor-for-life": partial(_kept, "local-rappor"),
    "local-mean-1bit-for-life": _lived,
    **{
        f"{name}-values": partial(_of_values, name)
        for name in PROTOCOLS
        if name.endswith(("response", "encoding", "symmetric", "selection", "hashing", "sketch"))
    },
}
"""More claims about reports, by name: few runs show what these look for."""


def audit_protocols(
    protocols: Mapping[str, LocalProtocol | Claim],
    *,
    samples: int | None = None,
    alpha: float = 0.01,
) -> Iterator[Audit]:
    """Audit what one report claims; all of them together err with probability at most alpha."""
    each = alpha / max(1, len(protocols))
    for name, one in protocols.items():
        if isinstance(one, Claim):
            yield audit_claim(name, one, samples=_FEW, alpha=each)
            continue
        found = audit_claim(name, one.claim, samples=samples, alpha=each)
        price = priced(found.claim, Pure(one.epsilon))
        yield replace(found, evidence=(price, *found.evidence))
