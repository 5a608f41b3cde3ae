"""The OpenAPI description, with permissions read from the middleware's own table."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

_SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token that an owner made, dpt_...; the first comes from "
        "`discreet serve --init`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "discreet",
        "description": "The cookie of the page, from POST /v1/session (__Host-discreet away from "
        "this machine); what changes something needs X-CSRF-Token as well.",
    },
}


def describe(app: FastAPI, plain: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The OpenAPI document with who is allowed; made once."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    found = plain()
    found.setdefault("components", {})["securitySchemes"] = _SCHEMES
    for gate in app.state.gates:
        for method in gate.methods & {one.upper() for one in found["paths"].get(gate.template, {})}:
            operation = found["paths"][gate.template][method.lower()]
            if gate.guard is None:
                operation["security"] = []
            else:
                operation["security"] = [{name: []} for name in _SCHEMES]
                who = ", ".join(sorted(gate.guard.roles))
                operation["description"] = f"{operation.get('description', '')}\n\nFor: {who}."
    return found
