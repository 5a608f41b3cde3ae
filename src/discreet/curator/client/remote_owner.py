"""Owner operations on a curator behind a server: tables are uploaded, declarations are JSON."""

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack
from urllib.parse import quote, urlencode

from discreet.curator.arguments import AppendArguments, order_spec
from discreet.curator.budget import Budget
from discreet.curator.client import declarations, wire
from discreet.curator.client.remote_ledger import read_reply
from discreet.curator.data.sources import ENDINGS, open_source
from discreet.curator.ledger.accounts import Account
from discreet.curator.owner_interface import AccountChange, NewTable, OwnerBackend
from discreet.engines.default import save
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Limits

if TYPE_CHECKING:
    from discreet.curator.client.connection import ServerConnection

_NOT_SENT: Final = (".duckdb", ".db")


@dataclass(frozen=True, slots=True)
class RemoteOwner(OwnerBackend):
    """Lets a server do it, as far as the token of an owner reaches."""

    link: "ServerConnection"

    def add(self, source: Any, new: NewTable) -> None:
        """Upload a table, private or public."""
        _refuse("version_label", new.version_label, "what is uploaded is known by its content")
        _refuse("max_table_rows", new.max_table_rows, "a server takes the next power of ten")
        columns, reading = new.columns, new.columns.reading
        kinds = {name: Kind(one).value for name, one in columns.read_kinds().items()}
        said: dict[str, Any] = {
            "name": new.name,
            "columns": declarations.write_columns(columns.columns),
            "kinds": kinds,
            "reading": reading.to_dict(),
        }
        if new.source_table and _is_sent(source):
            said["source_table"] = new.source_table
        if new.unit is None:
            said["key"] = list(new.key)
        else:
            said |= {
                "unit": declarations.write_unit(new.unit),
                "limits": asdict(new.limits or Limits()),
                "required": sorted(columns.required),
                "dataset": new.dataset,
                "confirm": list(columns.confirm),
                **_capped(new.budget),
            }
        upload = self._uploaded(new.name, source, new.source_table, reading)
        place = "/v1/public-tables" if new.unit is None else "/v1/datasets"
        self.link.post(place, {**_known(said), "upload": upload}, safe=True)

    def append(self, name: str, rows: Any, **said: Unpack[AppendArguments]) -> int:
        """Upload rows for a table that is there; the version that begins with them."""
        _refuse("max_table_rows", said.get("max_table_rows"), "the bound follows the rows there")
        stated, through = said.get("reading"), order_spec({"through": said.get("through")})
        reading = Reading.from_dict(stated)
        read = {} if stated is None else {"reading": reading.to_dict()}
        body = {"table": name, "again": said.get("again", False), **read, **through}
        upload = self._uploaded(name, rows, None, reading)
        told = self.link.post("/v1/parts", {**body, "upload": upload}, safe=False)
        return int(read_reply(told, lambda facts: facts["version"]))

    def retire(self, dataset: str, reason: str) -> None:
        """End a dataset for ever."""
        place = f"/v1/datasets/{quote(dataset, safe='')}/retire"
        self.link.post(place, {"reason": reason}, safe=True)

    def change(self, change: AccountChange) -> Account:
        """Open an account, or change its cap for ever."""
        holder, names = change.holder, [one.name for one in change.members]
        dataset = holder.within or holder.name
        if change.reason is not None:
            said = dict[str, Any](declarations.write_budget(change.budget) if change.budget else {})
            said["reason"] = change.reason
            if holder.kind in ("analyst", "group"):
                said[holder.kind] = holder.name
            kind = "links" if holder.kind == "link" else "budgets"
            path = f"/v1/{kind}/{quote(dataset, safe='')}/raise"
        else:
            opened: dict[str, tuple[str, dict[str, Any]]] = {
                "analyst": ("grants", {"analyst": holder.name, "dataset": dataset}),
                "group": ("groups", {"name": holder.name, "dataset": dataset, "analysts": names}),
                "link": ("links", {"name": holder.name, "datasets": names}),
            }
            kind, said = opened[holder.kind]
            path, said = f"/v1/{kind}", {**said, **_capped(change.budget)}
        return read_reply(self.link.post(path, said), wire.read_account)

    def _uploaded(self, name: str, source: Any, table: str | None, reading: Reading) -> str:
        with _as_file(name, source, table, reading) as path:
            place = f"/v1/uploads?{urlencode({'name': path.name})}"
            return str(read_reply(self.link.upload(place, path), lambda facts: facts["upload"]))


def _refuse(what: str, said: object, why: str) -> None:
    if said is not None:
        what = f"{what} of a table behind a server"
        raise InputError(what, why=why, fix="leave it out, or state it on the server's machine")


def _capped(budget: Budget | None) -> dict[str, Any]:
    return {} if budget is None else {"budget": declarations.write_budget(budget)}


def _known(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in said.items() if fact is not None}


def _is_sent(source: Any) -> bool:
    """Whether a file is sent as it is; anything else is sent as a Parquet file."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    return path.is_file() and path.name.lower().endswith(ENDINGS) and path.suffix not in _NOT_SENT


@contextmanager
def _as_file(name: str, source: Any, table: str | None, reading: Reading) -> Iterator[Path]:
    """A file that can be sent: as it is, or made of what cannot be."""
    if _is_sent(source):
        yield Path(source)
        return
    opened = open_source(source, replace(reading, blanks="keep"), table, name)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        made = Path(folder) / f"{secrets.token_hex(4)}.parquet"
        save(opened.open(), made)
        yield made
