"""The page: HTML, styles and modules from this package, and Vega's script from vl-convert.

Nothing here depends on who asks or on any data. Only files that were there when the first of them
was asked for are served, by their names, so no path leads anywhere else.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Final

from fastapi import APIRouter, Depends, Request, Response

from discreet.server.guard import anyone
from discreet.server.replies import missing

router = APIRouter(include_in_schema=False, dependencies=[Depends(anyone)])

_FOLDER: Final = Path(__file__).parent.parent / "page"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_PAGES: Final = {
    "/": "index.html",
    "/ask": "ask.html",
    "/budget": "budget.html",
    "/data": "data.html",
    "/ledger": "ledger.html",
    "/lab": "lab.html",
}
_VEGA: Final = "vega.js"
_making = Lock()


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent, plain and compressed, and a tag that changes with it."""

    kind: str
    plain: bytes
    packed: bytes
    tag: str

    @staticmethod
    def of(kind: str, plain: bytes) -> "Asset":
        """Compress once, for all who will ask."""
        tag = hashlib.sha256(plain).hexdigest()[:32]
        return Asset(kind, plain, gzip.compress(plain, 9, mtime=0), tag)


@cache
def assets() -> dict[str, Asset]:
    """Everything that may be served, by its path below /static."""
    found = (path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _TYPES)
    return {
        path.relative_to(_FOLDER).as_posix(): Asset.of(_TYPES[path.suffix], path.read_bytes())
        for path in found
    }


def vega() -> Asset:
    """Vega, Vega-Lite and Vega-Embed as one script; bundling takes seconds, once a process."""
    with _making:
        return _bundle()


@lru_cache(maxsize=1)
def _bundle() -> Asset:
    import vl_convert  # noqa: PLC0415 - heavy

    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return Asset.of(_TYPES[".js"], script.encode())


def show(request: Request) -> Response:
    """One of the pages."""
    return _sent(request, assets()[_PAGES[request.url.path]])


for _path in _PAGES:
    router.add_api_route(_path, show, methods=["GET"])


@router.get("/favicon.ico")
def icon(request: Request) -> Response:
    """What browsers ask for unbidden."""
    return _sent(request, assets()["icon.svg"])


@router.get("/static/{path:path}")
def asset(request: Request, path: str) -> Response:
    """A file of the page."""
    found = vega() if path == _VEGA else assets().get(path)
    if found is None or path.endswith(".html"):
        raise missing("such file")
    return _sent(request, found)


def _sent(request: Request, asset: Asset) -> Response:
    """The file, or that the one the browser has is still right."""
    tag = f'"{asset.tag}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    body = asset.plain
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["Content-Encoding"] = asset.packed, "gzip"
    return Response(body, media_type=asset.kind, headers=headers)
