"""The ledger as lines of JSON that anybody can check without this package.

Each line is {"hash": h, "entry": {...}}: h is SHA-256 of the entry's text exactly as it stands in
the line, and the entry's "previous" is the h of the line before, 64 zeros in the first.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from discreet.curator.canonical_json import digest
from discreet.curator.ledger.entries import Entry, Head
from discreet.curator.ledger.migrations import Execute
from discreet.curator.progress import tell
from discreet.errors import LedgerError

_PAGE: Final = 1000
_ROWS: Final = """SELECT sequence, hash, body FROM entries WHERE sequence > ?
ORDER BY sequence LIMIT ?"""


def write_lines(execute: Execute, file: TextIO) -> Head:
    """Write every entry as a line; the head they lead to is the answer."""
    head = Head()
    [(total,)] = execute("SELECT sequence FROM ledger")
    while page := execute(_ROWS, (head.sequence, _PAGE)):
        for sequence, hash_, body in page:
            file.write(f'{{"hash":"{hash_}","entry":{body}}}\n')
            head = Head(sequence, hash_)
        tell("writing entries", head.sequence, total)
    return head


def read_lines(lines: Iterable[str]) -> Iterator[Entry]:
    """Read what `write_lines` wrote; LedgerError at the first line that does not follow."""
    head = Head()
    for line in lines:
        try:
            hash_ = json.loads(line)["hash"]
            body = line.rstrip("\n").removeprefix(f'{{"hash":"{hash_}","entry":').removesuffix("}")
            entry = Entry.read(body)
        except (LookupError, TypeError, ValueError) as wrong:
            raise _broken(head) from wrong
        follows = entry.sequence == head.sequence + 1 and entry.previous == head.hash
        if not follows or digest(body) != hash_:
            raise _broken(head)
        head = Head(entry.sequence, hash_)
        yield entry


def _broken(head: Head) -> LedgerError:
    return LedgerError(
        f"line {head.sequence + 1} of the export does not follow the one before it",
        why="a line was changed, removed or moved",
        fix="export the ledger again",
    )
