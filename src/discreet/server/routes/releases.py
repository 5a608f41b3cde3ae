"""Stored answers: free to read again, in any form."""

from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from discreet.answer.present.release import Release, as_table
from discreet.answer.present.release_files import write_rows
from discreet.curator.ledger.charging import final_failure
from discreet.curator.ledger.orders import NEWEST, ChargedOrder
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.curator.orders.synthesis_orders import SynthesisRelease
from discreet.curator.reports.json_views import filed_facts
from discreet.errors import InputError
from discreet.server.answer_replies import pending, send_file, tell
from discreet.server.permissions import Asker
from discreet.server.routes.questions import TELLS, Charge

router = APIRouter(tags=["releases"])

Format = Literal["json", "arrow", "csv", "parquet", "chart", "statement", "python"]

_PARQUET = "application/vnd.apache.parquet"
_CHART = "application/vnd.vegalite.v6+json"
_NAMED = 'attachment; filename="release-{}.{}"'
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
    call: Asker,
    before: Annotated[int, Query(gt=0, le=NEWEST, description="Older than this one.")] = NEWEST,
    limit: Annotated[int, Query(gt=0, le=200)] = 50,
    kind: Annotated[list[str] | None, Query(max_length=20, description=_OF_KIND)] = None,
) -> JSONResponse:
    """List what was asked, newest first: one's own, or for owners everybody's."""
    session, caller = call.session, call.caller
    own = {} if caller.role == "owner" else {"analyst": caller.name}  # nobody else's name
    with call.planning():
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
    call: Asker,
    form: Annotated[Format | None, Query(alias="format")] = None,
    merged: Annotated[bool, Query(description=_MERGED)] = False,  # noqa: FBT002 - a choice of the client's
) -> Response:
    """Read an answer again: as JSON, Arrow, CSV, Parquet, a chart, a statement, or Python."""
    session, filed = call.session, call.charged(charge, "release")
    if filed.failed:
        raise final_failure()
    kinds = (kind for media, kind in _FORMATS.items() if media in call.accept)
    chosen = form or next(kinds, "json")
    if chosen == "python":
        return Response(_snippet(filed, str(request.base_url)), media_type="text/x-python")
    computing = call.planning(filed.size) if merged or chosen == "chart" else nullcontext()
    with computing, call.reading(filed.size):
        release = session.release(charge)
        if release is None:
            return pending(charge)
        if merged:
            release = session.merged(filed.order, as_table(release), call.caller.name)
        if chosen == "statement":
            return Response(release.statement(), media_type="text/plain")
        if chosen in {"chart", "csv", "parquet"}:
            rows = release if isinstance(release, SynthesisRelease) else as_table(release)
            return _written(chosen, rows, charge)
        accepted = as_table(release).media_type if chosen == "arrow" else ""
        return tell(replace(call, accept=accepted), release, filed, share=session.share(filed))


def _written(form: Format, rows: Release | SynthesisRelease, charge: int) -> Response:
    """A chart, or a file to keep."""
    if form == "chart":
        return JSONResponse(rows.chart().to_dict(), media_type=_CHART)
    table, headers = rows.to_arrow(), {"Content-Disposition": _NAMED.format(charge, form)}
    if form == "csv":
        return send_file(lambda file: write_rows(table, file, "csv"), "text/csv", headers)
    return send_file(lambda file: write_rows(table, file, "parquet"), _PARQUET, headers)


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
    exact = ["from fractions import Fraction"] if "Fraction" in price else []
    if filed.order.asked is not None:
        canonical, ask = [], [f"answer = curator.sql({filed.order.asked!r}, {price})"]
    else:
        canonical = ["from discreet.plan import canonical"]
        ask = [f"query = canonical.read({asked.query!r}, curator.schema)"]
        ask += [f"answer = curator.ask(query, {price})"]
    opened = f'dp.Curator({address.rstrip("/")!r}, token=os.environ["DISCREET_TOKEN"])'
    imports = ["import os", *exact, "", "import discreet as dp", *canonical, ""]
    return "\n".join([*imports, f"curator = {opened}", *ask, "print(answer)", ""])


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
