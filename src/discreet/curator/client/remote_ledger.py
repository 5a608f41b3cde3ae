"""A server's replies, read: what they say, and the ledger as far as an auditor reads it."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar
from urllib.parse import urlencode

from discreet.curator.client import wire
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import Entry, Head
from discreet.curator.ledger.verify import Report
from discreet.errors import DiscreetError, ServiceError

if TYPE_CHECKING:
    from httpx import Response

    from discreet.curator.client.connection import ServerConnection

T = TypeVar("T")

BUDGETS: Final = "/v1/budgets?odds=false"
_PAGE: Final = 1000


class RemoteLedger:
    """A server's ledger, as far as it can be read."""

    def __init__(self, link: "ServerConnection") -> None:
        self._link = link

    def entries(self, *, after: int = 0, limit: int = _PAGE) -> tuple[Entry, ...]:
        """Entries in order, those that follow number `after`."""
        found: list[Entry] = []
        while len(found) < limit:
            size = min(_PAGE, limit - len(found))
            start = found[-1].sequence if found else after
            path = f"/v1/ledger?{urlencode({'after': start, 'limit': size})}"
            page = read_reply(
                self._link.get(path), lambda told: [*map(wire.read_entry, told["entries"])]
            )
            found += page
            if len(page) < size:
                break
        return tuple(found)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts."""
        return read_accounts(self._link.get(BUDGETS))

    def verify(self) -> Report:
        """Let the server read everything and compare."""
        return read_reply(self._link.post("/v1/ledger/verify", {}, safe=True), wire.read_report)

    def export(self, file: TextIO) -> Head:
        """Write every entry as a line of JSON with its hash."""
        head = Head()
        with self._link.stream("/v1/ledger/export") as lines:
            for line in lines:
                text = line.decode()
                file.write(text)
                head = _head(text)
        return head


def read_reply(reply: "Response", read: Callable[[Any], T]) -> T:
    """The content of a reply; ServiceError if it is malformed."""
    try:
        return read(reply.json())
    except DiscreetError as wrong:
        if isinstance(wrong, ServiceError):
            raise
        raise foreign() from None
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise foreign() from None


def read_accounts(reply: "Response") -> tuple[Account, ...]:
    """All accounts of a reply."""
    return read_reply(
        reply, lambda facts: tuple(wire.read_account(one) for one in facts["accounts"])
    )


def _head(line: str) -> Head:
    try:
        facts = json.loads(line)
        return Head(facts["entry"]["sequence"], facts["hash"])
    except (LookupError, TypeError, ValueError):
        raise foreign() from None


def foreign() -> ServiceError:
    """The reply is not one of ours."""
    return ServiceError(
        "the server's reply cannot be read",
        why="it is not what a server of this version sends",
        fix="use a client and a server of the same version",
    )
