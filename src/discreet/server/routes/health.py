"""Whether the server runs, what it has answered, and what it can be asked."""

from typing import Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from discreet.server.logs import CONTENT_TYPE
from discreet.server.permissions import Reader, anyone

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """It runs."""

    status: Literal["ok"] = "ok"


@router.get("/health", dependencies=[Depends(anyone)])
async def health() -> Health:
    """Tell whether the server runs."""
    return Health()


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(call: Reader) -> Response:
    """Count replies by route, method and class of status, for Prometheus."""
    return Response(call.app_state.metrics.text(), media_type=CONTENT_TYPE)


@router.get("/openapi.json", dependencies=[Depends(anyone)], include_in_schema=False)
async def openapi(request: Request) -> dict[str, Any]:
    """Describe every route."""
    described: dict[str, Any] = request.app.openapi()
    return described
