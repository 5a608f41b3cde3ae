"""Balances of people as a table of the curator's folder: a shortcut, and never the record.

The ledger and the data say what everybody has spent. This table has the balances up to one entry of
the ledger, so a process that opens the folder replays only what came since. A table that is
missing, damaged, or of another ledger is as good as none.
"""

import hashlib
import hmac
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Head, digest
from discreet.curator.ledger.witness import sync_file
from discreet.curator.people.person_limits import Population

_STATED: Final = b"balances"


@dataclass(frozen=True, slots=True, eq=False)
class StoredBalances:
    """Spent amounts at an entry of the ledger; by keyed hashes, without names.

    `owners` are the hashes of the people that accounts are of, which are the same unless each
    person has an account for every period.
    """

    sequence: int
    hashes: NDArray[np.bytes_]
    owners: NDArray[np.bytes_]
    spent: NDArray[np.int64]


class BalanceTable:
    """One file for each population, written whole and read whole.

    Guarantee:
        What is loaded was saved under the same secret key, for the same population, and at an
        entry that this ledger has: then it is the fold up to that entry.
    """

    def __init__(self, folder: Path, population: Population, key: str) -> None:
        name = digest(repr(population))[:16]
        self._path = folder / f"people-{name}.parquet"
        self._population, self._key = population, key

    def save(self, balances: StoredBalances, ledger: Ledger) -> None:
        """Write all balances; where that fails, they are folded in again another time."""
        head = _head(ledger, balances.sequence)
        if head is None:
            return
        texts = (balances.hashes, balances.owners)
        hashes, owners = (pa.array(one.tolist(), pa.binary(32)) for one in texts)
        table = pa.table({"account": hashes, "owner": owners, "spent": balances.spent})
        proof = self._proof(head, balances)
        table = table.replace_schema_metadata({_STATED: f"{head.sequence} {proof}".encode()})
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError, pa.ArrowException):
            pq.write_table(table, fresh, compression="zstd")
            sync_file(fresh)
            fresh.replace(self._path)
        with suppress(OSError):
            fresh.unlink(missing_ok=True)

    def load(self, ledger: Ledger) -> StoredBalances | None:
        """The newest balances that were saved; None where there are none to trust."""
        try:
            table = pq.read_table(self._path)
            sequence, _, proof = (table.schema.metadata or {})[_STATED].decode().partition(" ")
            hashes, owners = (_digits(table.column(name)) for name in ("account", "owner"))
            spent = table.column("spent").to_numpy().copy()
            found = StoredBalances(int(sequence), hashes, owners, spent)
        except (OSError, pa.ArrowException, LookupError, ValueError):
            return None
        head = _head(ledger, found.sequence)
        if head is None or not hmac.compare_digest(proof, self._proof(head, found)):
            return None
        return found

    def _proof(self, head: Head, balances: StoredBalances) -> str:
        about = (self._population, head)
        mac = hmac.new(self._key.encode(), repr(about).encode(), hashlib.sha256)
        for one in (balances.hashes, balances.owners, balances.spent):
            mac.update(np.ascontiguousarray(one).view(np.uint8).data)
        return mac.hexdigest()


def _head(ledger: Ledger, sequence: int) -> Head | None:
    """The ledger as it was at an entry, None where it has no such."""
    found = ledger.entries(after=sequence - 1, limit=1) if sequence else ()
    return found[0].head if found and found[0].sequence == sequence else None


def _digits(column: pa.ChunkedArray) -> NDArray[np.bytes_]:
    fixed = column.combine_chunks()
    return np.frombuffer(fixed.buffers()[1] or b"", dtype="S32")[: len(fixed)].copy()
