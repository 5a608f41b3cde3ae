"""Totals and caps that are believed only if the entry that left them so says the same.

Every entry that changes accounts has their digests under "after", and every account names the
newest such entry. Whoever writes another total would have to edit an entry too, and with it the
chain. This is what readers check; a charge also checks that no later entry speaks of the account:
see `account_tree`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from discreet.curator.canonical_json import digest
from discreet.curator.ledger.accounts import COLUMNS, Account
from discreet.curator.ledger.entries import Entry
from discreet.curator.ledger.store import damaged

ATTESTED: Final = f"{COLUMNS}, attest.hash, attest.body"
"""What `read_attested` reads."""

BY_ENTRY: Final = "LEFT JOIN entries attest ON attest.sequence = accounts.entry"


def after(accounts: Iterable[Account]) -> dict[str, str]:
    """What an entry says about accounts as it leaves them."""
    return {one.holder.key: one.digest for one in accounts}


def read_attested(row: Sequence[Any]) -> Account:
    """An account, if its newest entry says the same; LedgerError if not."""
    *values, hash_, body = row
    account = Account.read(values)
    said = None if body is None else _said(body)
    if said is None or said[0] != hash_ or said[1].get(account.holder.key) != account.digest:
        raise damaged(f"the total or cap of {account.holder} is not what its newest entry left")
    return account


@lru_cache(maxsize=256)
def _said(body: str) -> tuple[str, Mapping[str, str]]:
    return digest(body), Entry.read(body).facts.get("after", {})
