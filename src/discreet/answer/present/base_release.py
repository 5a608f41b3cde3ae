"""The base class of releases, one for every kind of order."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from discreet.answer.plan.price import Price
from discreet.plain_json import Ways
from discreet.privacy import Guarantee
from discreet.rationals import read_exact

PRICE_WRITTEN: Final[Ways] = {Price: lambda one: [str(one.epsilon), str(one.delta)]}
PRICE_READ: Final[Ways] = {Price: lambda pair: Price(*(read_exact(str(one)) for one in pair))}
"""How stored releases have a price."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A description of one measurement, and its guarantee."""

    what: str
    noise: str
    guarantee: Guarantee


class BaseRelease(ABC):
    """A release with its price and guarantee; reading it again never changes it.

    `repr` is for people. The same release gives the same bytes, which are stored with the charge;
    releases are equal when their bytes are, unless a kind compares its fields.
    """

    __slots__ = ()

    media_type: ClassVar[str] = "application/octet-stream"
    """Media type of its bytes in HTTP replies."""

    price: Price
    guarantee: Guarantee
    costs: tuple[Cost, ...]

    @abstractmethod
    def statement(self) -> str:
        """The privacy statement: protection, and what the release does not say."""

    def on_version(self, dataset: str, version: int) -> "BaseRelease":
        """The release with the version of its dataset, if it names one."""
        del dataset, version
        return self

    def with_share(self, share: float | None) -> "BaseRelease":
        """The release with the share of a budget that it took, if known."""
        del share
        return self

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The stored form."""

    @staticmethod
    @abstractmethod
    def from_bytes(stored: bytes, /) -> "BaseRelease":
        """The release that `to_bytes` wrote; InputError for other bytes."""

    @abstractmethod
    def json_facts(self) -> dict[str, Any]:
        """The content as plain JSON, rounded for reading."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())
