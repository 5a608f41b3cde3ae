"""The catalogues of those who are connected, each with the tables that one caller may ask about."""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from discreet.server.app_state import AppState
from discreet.server.permissions import Caller
from discreet.server.postgres.catalogue import Catalogue
from discreet.server.postgres.session_settings import VERSION, SessionSettings
from discreet.server.slots import Slots

if TYPE_CHECKING:
    from discreet.plan.schema import Schema

DATABASE: Final = "discreet"
_MOST: Final = 16
_AT_ONCE: Final = 2


class Catalogues:
    """One catalogue for each name and scope, made again when what was declared changes."""

    def __init__(self, app_state: AppState) -> None:
        self.app_state = app_state
        self._slots = Slots(_AT_ONCE, each=1)
        self._lock = threading.Lock()
        self._known: OrderedDict[object, tuple[Schema, Catalogue]] = OrderedDict()

    def run(self, sql: str, caller: Caller, settings: SessionSettings) -> pa.Table:
        """Answer a query; few at a time, and one of each name."""
        patience = self.app_state.settings.patience
        with self._slots.taken(patience=patience, caller=caller.name):
            return self._of(caller).run(sql, settings.__getitem__)

    def _of(self, caller: Caller) -> Catalogue:
        schema = self.app_state.curator.window(None, caller.datasets).curator.schema
        key = caller.name, caller.datasets
        with self._lock:
            known = self._known.pop(key, None)
            if known is None or known[0] != schema:
                version = f"PostgreSQL {VERSION} (discreet)"
                known = schema, Catalogue(schema, caller.name, DATABASE, version)
            self._known[key] = known
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
            return known[1]
