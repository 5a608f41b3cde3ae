"""The fields of a record in the public registry of DP deployments, and a check against them.

The registry refuses a record that lacks a field it requires, has one it does not know, or says
something else where it offers a choice. So does `faults`, before the record leaves the house.

Reference: OpenDP, deployments-registry-data, schemas/deployments-schema.yaml, as of July 2026.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "number", "integer", "number or text", "date", "texts"]

STATUSES: Final = (
    *("Converted", "Draft", "Pending", "Changes Required", "Approved"),
    *("Approved (Update Requested)", "Approved (Pending)"),
)
PRODUCTS: Final = (
    *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
    *("Interactive API", "SQL queries"),
)
SECTORS: Final = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
VARIANTS: Final = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field that holds a value."""

    kind: Kind = "text"
    required: bool = False
    choices: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A field that holds fields."""

    fields: "Mapping[str, Leaf | Section]" = field(default_factory=dict)
    required: bool = False


NEEDED: Final = Leaf(required=True)
TEXT: Final = Leaf()

_BASIC: Final = Section(
    {
        "name": NEEDED,
        "data_curators": Leaf("texts", required=True),
        "description": NEEDED,
        "intended_use": NEEDED,
        "data_product_type": Leaf(required=True, choices=PRODUCTS),
        "data_product_region": NEEDED,
        "publication_date": Leaf("date", required=True),
        "data_product_sector": Leaf(choices=SECTORS),
    },
    required=True,
)
_LOSS: Final = Section(
    {
        "privacy_unit": TEXT,
        "privacy_unit_details": TEXT,
        "privacy_parameters": Section(
            {"epsilon": Leaf("number"), "delta": Leaf("number or text"), "rho": Leaf("number")}
        ),
        "privacy_parameters_details": TEXT,
    }
)
_MODEL: Final = Section(
    {
        "model_name": Leaf(choices=("Local", "Central", "Shuffle", "Federated", "Varies")),
        "model_name_details": TEXT,
        "actors": TEXT,
        "release_type": Leaf(choices=("One release", "Many releases")),
        "release_type_details": TEXT,
        "data_source_type": Leaf(choices=("Static", "Dynamic")),
        "data_source_type_details": TEXT,
        "access_type": Leaf(choices=("Interactive", "Non-interactive")),
        "access_type_details": TEXT,
    }
)
RECORD: Final = Section(
    {
        "url_slug": NEEDED,
        "status": Leaf(required=True, choices=STATUSES),
        "tier": Leaf("integer", required=True, choices=(1, 2, 3)),
        "deployment": Section(
            {
                "basic": _BASIC,
                "dp_variant": Section(
                    {
                        "variant_name": Leaf(choices=VARIANTS),
                        "data_domain": TEXT,
                        "unprotected_quantities": TEXT,
                    }
                ),
                "privacy_loss": _LOSS,
                "deployment_model": _MODEL,
                "accounting": Section({"post_processing": TEXT, "composition": TEXT}),
                "implementation": Section(
                    {
                        "preprocessing_and_hyperparameter_tuning": TEXT,
                        "mechanisms": TEXT,
                        "justification": TEXT,
                    }
                ),
                "administrative": Section(
                    {
                        "sources": TEXT,
                        "notes": TEXT,
                        "registry_authors": Leaf("texts", required=True),
                    }
                ),
            },
            required=True,
        ),
    }
)
"""What a record may and must have."""


def faults(record: Any) -> list[str]:
    """What the registry would refuse in a record, each with its place; nothing if it is right.

    Example:
        >>> faults({"url_slug": "visits", "status": "Draft", "tier": 4, "deployment": {}})
        ['tier is none of 1, 2, 3', 'deployment.basic is missing']
    """
    return list(_section(RECORD, record, ""))


def blanks(record: Mapping[str, Any]) -> list[str]:
    """Required texts that are empty: the registry takes them, and readers learn nothing."""
    return [
        place
        for place, leaf, value in _leaves(RECORD, record, "")
        if leaf.required and _blank(value)
    ]


def _blank(value: Any) -> bool:
    return value == "" or (isinstance(value, list) and not any(value))


def _leaves(section: Section, value: Any, place: str) -> Iterator[tuple[str, Leaf, Any]]:
    for name, one in section.fields.items():
        if name in value and isinstance(one, Section):
            yield from _leaves(one, value[name], f"{place}{name}.")
        elif name in value and isinstance(one, Leaf):
            yield f"{place}{name}", one, value[name]


def _section(section: Section, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{place.rstrip('.') or 'the record'} is not an object"
        return
    yield from (f"{place}{name} is unknown" for name in value if name not in section.fields)
    for name, one in section.fields.items():
        if name not in value:
            if one.required:
                yield f"{place}{name} is missing"
        elif isinstance(one, Section):
            yield from _section(one, value[name], f"{place}{name}.")
        else:
            yield from _leaf(one, value[name], f"{place}{name}")


def _leaf(leaf: Leaf, value: Any, place: str) -> Iterator[str]:
    if not _is(leaf.kind, value):
        yield f"{place} is not {_WORDS[leaf.kind]}"
    elif leaf.choices and value not in leaf.choices:
        yield f"{place} is none of {', '.join(map(str, leaf.choices))}"


_WORDS: Final[dict[Kind, str]] = {
    "text": "a text",
    "number": "a number",
    "integer": "a whole number",
    "number or text": "a number",
    "date": "a date as 2026-12-31",
    "texts": "a list of one text or more",
}


def _is(kind: Kind, value: Any) -> bool:
    match kind:
        case "text":
            return isinstance(value, str)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "number or text":
            return _is("number", value) or _is("text", value)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "date":
            return isinstance(value, str) and _is_date(value)
        case "texts":
            texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
            return texts and bool(value)


def _is_date(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
