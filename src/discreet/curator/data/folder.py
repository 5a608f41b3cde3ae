"""Recognise and lock a curator's folder.

curator.json     what was settled when the folder was made
tables.json      what the owner said about data
data/            tables that were copied in
ledger.sqlite    accounts, charges and releases (or an address in curator.json)
people.key       the secret under which accounts of people stand, where each has a budget
"""

import json
import secrets
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from discreet.curator.data import registry
from discreet.curator.data.registry import Registration, Registry
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.remote_witness import RemoteWitness, WitnessAddress, is_address
from discreet.curator.ledger.witness import Witness
from discreet.errors import InputError, LedgerError
from discreet.privacy import Neighbours

_FORMAT = 1
_SETTINGS = "curator.json"
_DATA = "data"
_LEDGER = "ledger.sqlite"
_HEAD = "ledger.head"
_KEY = "people.key"
_PATIENCE = 30.0
_UNUSED = 86_400.0
"""Seconds after which a file that no table was made of is removed."""

_SECRETS = {"password", "sslpassword"}


@dataclass(frozen=True, slots=True)
class Folder:
    """A curator's folder and what was settled when it was made.

    `ledger` is the address of a ledger in Postgres, None for the one in the folder. `witness` is a
    file elsewhere that remembers the ledger's newest head, None for one in the folder. `elsewhere`
    is a witness on another machine, if there is one.
    """

    path: Path
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    ledger: str | None = None
    witness: str | None = None
    elsewhere: WitnessAddress | None = None

    @property
    def _head(self) -> Path:
        name = f"{_LEDGER}.head" if self.ledger is None else _HEAD
        return self.path / name if self.witness is None else Path(self.witness)

    @property
    def data(self) -> Path:
        """The folder that tables are copied to."""
        made = self.path / _DATA
        made.mkdir(exist_ok=True)
        return made

    def open_ledger(self, address: str | None, patience: float) -> Ledger:
        """The ledger; a full `address` may say how to log in, which is not kept."""
        if address is None and self.ledger is None:
            self._check_ledger()
        place = address or self.ledger or self.path / _LEDGER
        elsewhere = None if self.elsewhere is None else RemoteWitness(self.elsewhere)
        return Ledger.open(place, witness=self._head, elsewhere=elsewhere, patience=patience)

    def write(self, write: Callable[[Path, bytes], None] = registry.write_durably) -> None:
        """Keep what was settled."""
        facts = {"format": _FORMAT, "neighbours": self.neighbours.value, "ledger": self.ledger}
        facts |= {"witness": self.witness} if self.witness else {}
        met = {} if self.elsewhere is None else {"elsewhere": asdict(self.elsewhere)}
        write(self.path / _SETTINGS, registry.as_json({**facts, **met}))

    def unmake(self) -> None:
        """Take back a beginning that led to no ledger, so that it can be made with another one."""
        head = self._head
        if self.ledger is not None and not (head.exists() and head.stat().st_size):
            for file in (head, self.path / _SETTINGS):
                file.unlink(missing_ok=True)

    def adopt_ledger(self, *, by: str, reason: str) -> Ledger:
        """Trust the ledger as it is, after a loss for which its owner is responsible."""
        place = self.ledger or self.path / _LEDGER
        return Ledger.adopt(place, witness=self._head, by=by, reason=reason)

    def retire_witness(self, *, by: str, reason: str) -> Ledger:
        """Adopt the ledger without its witness on another machine; it says so, then the folder."""
        ledger = self.adopt_ledger(by=by, reason=reason)
        ledger.retire_witness(by=by, reason=reason)
        replace(self, elsewhere=None).write()
        return ledger

    def _check_ledger(self) -> None:
        """Refuse to begin a ledger for tables that have been asked about in another."""
        if self.tables().tables and not (self.path / _LEDGER).exists():
            raise LedgerError(
                f"{_LEDGER} in {self.path.name} is gone",
                why="the tables there have budgets, and what is spent of them is not known",
                fix="put back the newest copy; to begin anew, use a new folder",
            )

    def person_key(self) -> str:
        """The secret key of the accounts of people; whoever makes it first has made it.

        Edge cases: where it was lost after somebody was charged, another one is made, which the
        ledger does not know: then nothing is answered.
        """
        file = self.path / _KEY
        if not file.exists():
            registry.write_first(file, secrets.token_hex(32).encode(), mode=0o600)
        return file.read_text(encoding="ascii")

    def tables(self) -> Registry:
        """The current declarations of the owner."""
        stored = registry.load(self.path / "tables.json")
        return _located(stored, self._found)

    def stamp(self) -> tuple[int, int, int]:
        """Changes whenever another process changes the tables."""
        try:
            facts = (self.path / "tables.json").stat()
        except FileNotFoundError:
            if is_curator(self.path):
                return 0, 0, 0  # nothing was said yet
            raise LedgerError(
                f"{self.path.name} is gone",
                why="it was moved, renamed or removed while it was in use",
                fix="open it where it is now",
            ) from None
        return facts.st_ino, facts.st_mtime_ns, facts.st_size

    def save(self, tables: Registry) -> None:
        """Keep what the owner said; what lies in this folder moves with it."""
        registry.save(_located(tables, self._written), self.path / "tables.json")

    def restamp(self, one: Registration) -> None:
        """Keep the newest stamp of a file, unless its table is no longer what it was."""
        with self.held():
            tables = self.tables()
            known = tables.tables.get(one.table.name)
            if known is not None and _unstamped(known) == _unstamped(one):
                self.save(tables.with_changed(one))

    def is_littered(self) -> bool:
        """Whether there are files among the data that no table names."""
        named, data = self.tables().file_names(), self.path / _DATA
        return data.is_dir() and any(path.name not in named for path in data.iterdir())

    def sweep(self, added: Collection[str], *, unused: float = _UNUSED) -> None:
        """Remove data that was being copied in when its process was killed.

        A file stays that a table names, that is younger than a day (somebody may be adding it), or
        whose content the ledger says was added: its table may be restored.
        """
        with suppress(OSError), self.held():
            named = self.tables().file_names()
            for path in (self.path / _DATA).iterdir():
                if path.stat().st_mtime >= time.time() - unused or path.name in named:
                    continue
                whole, salt = registry.fingerprint(path), path.stem.rpartition("-")[2]
                if not {whole, registry.salted(salt, whole)} & set(added):
                    path.unlink()

    def _written(self, source: str) -> str:
        inside = (self.path / _DATA).resolve()
        name = Path(source).name
        return f"{_DATA}/{name}" if Path(source).parent == inside else source

    def _found(self, source: str) -> str:
        """The current path of a source; copied files may have moved with the folder."""
        here = (self.path / _DATA / Path(source).name).resolve()
        if source == f"{_DATA}/{Path(source).name}":
            return str(here)
        moved = Path(source).parent.name == _DATA and not Path(source).exists() and here.exists()
        return str(here) if moved else source

    def held(self) -> AbstractContextManager[int]:
        """Keep other processes from changing tables meanwhile."""
        # A file that remembers nothing serves as a lock that works on every system.
        return Witness(self.path / "tables.lock").held()


def _located(tables: Registry, where: Callable[[str], str]) -> Registry:
    """The same tables with their sources named otherwise."""

    def moved(one: Registration) -> Registration:
        if one.address:
            return one
        parts = tuple(replace(part, source=where(part.source)) for part in one.parts)
        last = one.pending and replace(one.pending, source=where(one.pending.source))
        return replace(one, source=where(one.source), parts=parts, pending=last)

    return Registry({name: moved(one) for name, one in tables.tables.items()})


def _unstamped(one: Registration) -> Registration:
    """A table's declaration without the times of its files."""
    return replace(one, stamp="", parts=tuple(replace(part, stamp="") for part in one.parts))


def is_curator(path: Path) -> bool:
    """Whether a curator lives in a folder."""
    with suppress(OSError, ValueError):  # no folder has such a name
        return (path / _SETTINGS).is_file()
    return False


def open_folder(
    path: Path,
    *,
    neighbours: Neighbours | None = None,
    ledger: str | None = None,
    witness: str | None = None,
) -> Folder:
    """Open a curator's folder; make one where there is nothing. Anything else is left alone."""
    try:
        place = path.absolute()  # the program may go to another folder while it is open
        file = None if is_address(witness) else witness
        if not is_curator(place):
            _check_empty(place)
            address = ledger and without_password(ledger)
            made = Folder(place, neighbours or Neighbours.ADD_REMOVE, address, file)
            if witness is not None and file is None:
                made = replace(made, elsewhere=WitnessAddress.meet(witness))
            place.mkdir(mode=0o700, parents=True, exist_ok=True)  # whoever reads it reads the data
            made.write(registry.write_first)
        return _introduced(_check(_read(place), neighbours, ledger, file), witness, ledger)
    except (OSError, ValueError) as wrong:
        raise InputError(
            f"{path.name[:80]!r} cannot be a curator's folder",
            why=getattr(wrong, "strerror", None) or "no file system has such a name",
            fix="name a folder that can be written to",
        ) from None


def _introduced(folder: Folder, witness: str | None, ledger: str | None) -> Folder:
    """The folder with a witness on another machine, which it may get later; but not another one.

    A ledger that has one already refuses before the folder names another.
    """
    if witness is None or not is_address(witness):
        return folder
    if folder.elsewhere is None:
        with folder.held():  # whoever else is introduced now has to have the same secret
            folder = _read(folder.path)
            if folder.elsewhere is None:
                folder.open_ledger(ledger, _PATIENCE).close()
                folder = replace(folder, elsewhere=WitnessAddress.meet(witness))
                folder.write()
    if folder.elsewhere is None or folder.elsewhere.url != witness:
        raise _made_with(folder, "another witness")
    return folder


def _check_empty(path: Path) -> None:
    """Refuse a place where something else is; what a crash left of a beginning is nothing.

    Another process that makes the folder now has its settings there before anything else.
    """
    begun = _SETTINGS.removesuffix("json")  # and what it is called while it is being written
    is_empty = path.is_dir() and all(one.name.startswith(begun) for one in path.iterdir())
    if path.exists() and not is_empty and not is_curator(path):
        raise LedgerError(
            f"{path.name} is not a curator's folder",
            why=f"it is {'full of other things' if path.is_dir() else 'a file'}",
            fix="name the folder of a curator, or one that does not exist yet",
        )


def without_password(address: str) -> str:
    """An address without the secret in it; libpq finds one in PGPASSWORD or .pgpass.

    Example:
        >>> without_password("postgresql://ann:secret@db/clinic?sslmode=require&password=secret")
        'postgresql://ann@db/clinic?sslmode=require'
    """
    scheme, _, rest = address.partition("://")
    before, _, query = rest.partition("?")
    login, at, place = before.rpartition("@")
    said = query.split("&") if query else []
    kept = [one for one in said if unquote(one.partition("=")[0]).strip().lower() not in _SECRETS]
    asked = f"?{'&'.join(kept)}" if kept else ""
    return f"{scheme}://{login.partition(':')[0]}{at}{place}{asked}"


def _read(path: Path) -> Folder:
    try:
        stored = json.loads((path / _SETTINGS).read_text(encoding="utf-8"))
        if stored["format"] == _FORMAT:
            kept = Neighbours(stored["neighbours"]), stored["ledger"], stored.get("witness")
            met = stored.get("elsewhere")
            return Folder(path, *kept, None if met is None else WitnessAddress(**met))
        why = f"it has format {int(stored['format'])}, and this release reads {_FORMAT}"
    except (OSError, KeyError, TypeError, ValueError) as wrong:
        why = f"it is damaged ({type(wrong).__name__})"
    raise LedgerError(
        f"{_SETTINGS} in {path.name} cannot be read",
        why=why,
        fix="restore it from a copy, or open it with the release that wrote it",
    )


def _check(
    folder: Folder, neighbours: Neighbours | None, ledger: str | None, witness: str | None
) -> Folder:
    for what, said, kept in (
        ("other neighbours", neighbours, folder.neighbours),
        ("another ledger", ledger and without_password(ledger), folder.ledger),
        ("another witness", witness, folder.witness),
    ):
        if said is not None and said != kept:
            raise _made_with(folder, what)
    return folder


def _made_with(folder: Folder, what: str) -> LedgerError:
    return LedgerError(
        f"{folder.path.name} was made with {what}",
        why="what was spent there is counted there, and by them",
        fix="open it without saying so, or make a curator in a new folder",
    )
