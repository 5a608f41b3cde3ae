"""Stored answers: free to read again, in any form."""

from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from discreet.answer.present.release import Release, as_table, inert
from discreet.curator.ledger.charge_index import NEWEST, ChargedOrder
from discreet.curator.ledger.charging import final_failure
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.curator.orders.synthesis_release import SynthesisRelease
from discreet.curator.reports.json_views import filed_facts
from discreet.errors import InputError
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Asker
from discreet.server.question_models import TELLS
from discreet.server.questions import asking_of, async_session_of, pending, tell
from discreet.server.routes.questions import Charge
from discreet.server.sending import send_file

router = APIRouter(tags=["releases"])

Rows = Release | SynthesisRelease

Format = Literal["json", "arrow", "csv", "parquet", "chart", "statement", "python"]

_PARQUET = "application/vnd.apache.parquet"
_CHART = "application/vnd.vegalite.v6+json"
_FORMATS: dict[str, Format] = {
    Release.media_type: "arrow",
    "text/csv": "csv",
    _PARQUET: "parquet",
    _CHART: "chart",
    "text/x-python": "python",
}
_SOUGHT = 2000
"""The newest charges, among which those of some kinds are found."""

_OF_KIND = "Of these kinds of orders alone, among the newest 2,000 charges."
_MERGED = "With what the caller was told for the same question at other prices."
_TEXT = {"schema": {"type": "string"}}
_CONTENT = {
    **TELLS[200]["content"],
    "text/csv": _TEXT,
    "text/plain": _TEXT,
    "text/x-python": _TEXT,
    _PARQUET: {"schema": {"type": "string", "format": "binary"}},
    _CHART: {"schema": {"type": "object"}},
}


class Listed(BaseModel):
    """A question that was charged; whether its answer is there, or there will be none."""

    id: int
    time: str
    analyst: str
    dataset: str
    kind: str
    sql: str | None
    epsilon: float
    delta: float
    budget_share: float | None = Field(description="The share of the cap that was charged for it.")
    released: bool
    failed: bool


@router.get("/releases", response_model=list[Listed])
def listed(
    request: Request,
    caller: Asker,
    before: Annotated[int, Query(gt=0, le=NEWEST, description="Older than this one.")] = NEWEST,
    limit: Annotated[int, Query(gt=0, le=200)] = 50,
    kind: Annotated[list[str] | None, Query(max_length=20, description=_OF_KIND)] = None,
) -> JSONResponse:
    """List what was asked, newest first: one's own, or for owners everybody's."""
    session = async_session_of(request, caller)
    own = {} if caller.role == "owner" else {"analyst": caller.name}  # nobody else's name
    with asking_of(request, caller).planning(0):
        found = list(session.newest(before=before, limit=_SOUGHT if kind else limit))
        chosen = [one for one in found if not kind or one.order.kind in kind][:limit]
        return JSONResponse(
            [{**filed_facts(one), **own, "budget_share": session.share(one)} for one in chosen]
        )


@router.get(
    "/releases/{charge}",
    response_class=Response,
    responses={**TELLS, 200: {**TELLS[200], "content": _CONTENT}},
)
def again(
    charge: Charge,
    request: Request,
    caller: Asker,
    form: Annotated[Format | None, Query(alias="format")] = None,
    merged: Annotated[bool, Query(description=_MERGED)] = False,  # noqa: FBT002 - a choice of the client's
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Read an answer again: as JSON, Arrow, CSV, Parquet, a chart, a statement, or Python."""
    session = async_session_of(request, caller)
    filed = session.find(charge)
    if filed is None:
        raise missing(f"release {charge}")
    if filed.failed:
        raise final_failure()
    kinds = (kind for media, kind in _FORMATS.items() if media in (accept or ""))
    chosen = form or next(kinds, "json")
    if chosen == "python":
        return Response(_snippet(filed, str(request.base_url)), media_type="text/x-python")
    asking = asking_of(request, caller)
    computing = asking.planning(filed.size) if merged or chosen == "chart" else nullcontext()
    with computing, app_state_of(request).reading(filed.size, caller.name):
        release = session.release(charge)
        if release is None:
            return pending(charge)
        if merged:
            release = session.merged(filed.order, as_table(release), caller.name)
        if chosen == "statement":
            return Response(release.statement(), media_type="text/plain")
        if chosen in _WRITERS:
            rows = release if isinstance(release, SynthesisRelease) else as_table(release)
            return _WRITERS[chosen](rows, filed)
        accepted = as_table(release).media_type if chosen == "arrow" else None
        return tell(release, filed, caller, accepted, charged=False, share=session.share(filed))


def _csv(release: Rows, filed: ChargedOrder) -> Response:
    import pyarrow.csv  # noqa: PLC0415 - for those who download one

    table = inert(release.to_arrow())
    return _file(partial(pyarrow.csv.write_csv, table), "text/csv", filed, "csv")


def _parquet(release: Rows, filed: ChargedOrder) -> Response:
    import pyarrow.parquet as pq  # noqa: PLC0415 - for those who download one

    return _file(partial(pq.write_table, release.to_arrow()), _PARQUET, filed, "parquet")


_WRITERS: dict[str, Callable[[Rows, ChargedOrder], Response]] = {
    "csv": _csv,
    "parquet": _parquet,
    "chart": lambda rows, _: JSONResponse(rows.chart().to_dict(), media_type=_CHART),
}


def _file(
    write: Callable[[IO[bytes]], object], media: str, filed: ChargedOrder, ending: str
) -> Response:
    name = f"release-{filed.sequence}.{ending}"
    return send_file(write, media, {"Content-Disposition": f'attachment; filename="{name}"'})


def _snippet(filed: ChargedOrder, address: str) -> str:
    """Python that asks the same question of the same server, for nothing."""
    if filed.order.kind != "query":
        raise InputError(
            f"release {filed.sequence} has no Python",
            why="it was made by another kind of order than a question",
            fix="place it with curator.order(kind, spec)",
        )
    asked = StoredOrder.parse(filed.order.plan)
    epsilon, delta = _typed(asked.price.epsilon), _typed(asked.price.delta)
    weights = ", ".join(f"{name!r}: {_typed(one)}" for name, one in asked.weights.items())
    price = f"epsilon={epsilon}, delta={delta}" + (f", weights={{{weights}}}" if weights else "")
    lines: list[Any] = ["import os"]
    if "Fraction" in price:
        lines.append("from fractions import Fraction")
    lines += ["", "import discreet as dp"]
    if filed.order.asked is None:
        lines.append("from discreet.plan import canonical")
    opened = f'dp.Curator({address.rstrip("/")!r}, token=os.environ["DISCREET_TOKEN"])'
    lines += ["", f"curator = {opened}"]
    if filed.order.asked is not None:
        lines += [f"answer = curator.sql({filed.order.asked!r}, {price})"]
    else:
        lines += [
            f"query = canonical.read({asked.query!r}, curator.schema)",
            f"answer = curator.ask(query, {price})",
        ]
    return "\n".join([*lines, "print(answer)", ""])


def _typed(exact: Fraction) -> str:
    """A number as it is typed, exactly.

    Example:
        >>> _typed(Fraction(1, 10)), _typed(Fraction(1, 3)), _typed(Fraction(2))
        ('0.1', "Fraction('1/3')", '2')
    """
    if exact.denominator == 1:
        return str(exact.numerator)
    short = repr(float(exact))
    return short if Fraction(short) == exact else f"Fraction({str(exact)!r})"
