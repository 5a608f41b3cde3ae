"""The base class of releases, one for every kind of order."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from discreet.answer.plan.price import Price
from discreet.errors import InputError
from discreet.privacy import Guarantee


@dataclass(frozen=True, slots=True)
class Cost:
    """One thing that was measured, in words, and its guarantee."""

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
        """The release with the version of the dataset that it was answered on, where it says so."""
        del dataset, version
        return self

    def with_share(self, share: float | None) -> "BaseRelease":
        """The release with the share of a budget that it took, where it says so."""
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


@contextmanager
def reading_stored(what: str) -> Iterator[None]:
    """Refuse in one way bytes that are not what `to_bytes` of a release wrote."""
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError) as wrong:
        raise InputError(
            f"stored bytes cannot be read as {what}",
            why="they are damaged, or something else, or another version of the package wrote them",
            fix="restore them from an intact copy, or use the version that wrote them",
        ) from wrong
