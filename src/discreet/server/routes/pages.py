"""The page: HTML, styles and modules from this package, and Vega's script from vl-convert.

Nothing here depends on who asks or on any data. Only files that were there when the first of them
was asked for are served, by their names, so no path leads anywhere else.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from string import Template
from threading import Lock
from typing import Final

from fastapi import APIRouter, Depends, Request, Response

from discreet.server.error_replies import missing
from discreet.server.permissions import anyone

router = APIRouter(include_in_schema=False, dependencies=[Depends(anyone)])

_FOLDER: Final = Path(__file__).parent.parent / "page"
_HTML: Final = "text/html; charset=utf-8"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_PAGES: Final = {
    "/": ("index", "Sign in", "login/login.js"),
    "/ask": ("ask", "Ask", "ask/ask.js"),
    "/budget": ("budget", "Budget", "budget/budget.js"),
    "/data": ("data", "Data", "data/data.js"),
    "/ledger": ("ledger", "Ledger", "ledger/ledger.js"),
    "/lab": ("lab", "Lab", "lab/lab.js"),
    "/dossier": ("dossier", "Dossier", "lab/dossier.js"),
    "/help": ("help", "Help", "frame.js"),
    "/statement": ("statement", "Privacy statement", "statement/statement.js"),
}
"""Where a page is, the file of its content, its title and the script that fills it."""

_PLAIN: Final = "text/plain; charset=utf-8"
_BANNER: Final = (
    "/*! Vega, Vega-Lite, Vega-Embed and what they need; licences: vega-licence.txt */\n"
)
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
    """All files that may be served, by their path below /static."""
    found = (path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _TYPES)
    return {
        path.relative_to(_FOLDER).as_posix(): Asset.of(_TYPES[path.suffix], path.read_bytes())
        for path in found
    }


@cache
def page(path: str) -> Asset:
    """A page: its content in the frame that all of them have."""
    name, title, module = _PAGES[path]
    content, frame = ((_FOLDER / f"{one}.html").read_text("utf-8") for one in (name, "frame"))
    style = '\n  <link rel="stylesheet" href="/static/lab/lab.css">' if "lab/" in module else ""
    whole = Template(frame).substitute(title=title, module=module, style=style, content=content)
    return Asset.of(_HTML, whole.encode())


def vega() -> Asset:
    """Vega, Vega-Lite and Vega-Embed as one script; bundling takes seconds, once a process."""
    with _making:
        return _bundle()


@lru_cache(maxsize=1)
def _bundle() -> Asset:
    import vl_convert  # noqa: PLC0415 - heavy

    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return Asset.of(_TYPES[".js"], (_BANNER + script).encode())


@cache
def licence() -> Asset:
    """The licences of the script, as the package that carries it states them."""
    package = metadata.distribution("vl-convert-python")
    found = [file for file in package.files or () if "licen" in file.name.lower()]
    texts = [
        f"{file.name} of {package.name} {package.version}\n\n{file.read_text()}" for file in found
    ]
    own = (_FOLDER / "vega-licence.txt").read_text("utf-8")
    return Asset.of(_PLAIN, "\n\n".join([own, *texts]).encode())


def show(request: Request) -> Response:
    """One of the pages."""
    return _sent(request, page(request.url.path))


for _path in _PAGES:
    router.add_api_route(_path, show, methods=["GET"])


@router.get("/favicon.ico")
def icon(request: Request) -> Response:
    """The favicon."""
    return _sent(request, assets()["icon.svg"])


@router.get("/static/{path:path}")
def asset(request: Request, path: str) -> Response:
    """A file of the page."""
    match path:
        case "vega.js":
            found: Asset | None = vega()
        case "vega-licence.txt":
            found = licence()
        case _:
            found = assets().get(path)
    if found is None:
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
