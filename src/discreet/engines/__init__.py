"""Engines run what the plan compiles to and stream exact integers back."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.engines.conformance import Change, Load


def check_engine(load: "Load", change: "Change | None" = None, *, thinned: int = 1) -> None:
    """Check an engine against everything that is asked of one; InvariantBroken if it differs.

    `load(schema, tables)` makes an engine over tables of Arrow and opens it. `change(engine, name)`
    deletes the stored rows of a table, as somebody else would; it is left out where nobody can.
    Questions over shuffled and missing rows are `thinned`, where a statement takes seconds.
    """
    from discreet.engines import conformance  # noqa: PLC0415 - it reads SQL, which is heavy

    conformance.check_engine(load, change, thinned=thinned)
