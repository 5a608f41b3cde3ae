"""The fields of a record in the public registry of DP deployments, as a JSON Schema.

The registry refuses a record that lacks a required field, has an unknown one, or has a value
outside a list of choices. The package builds records of this one shape and needs no validator.

Reference: OpenDP, deployments-registry-data, schemas/deployments-schema.yaml, as of July 2026.
"""

from collections.abc import Mapping
from typing import Any, Final

STATUSES: Final = (
    *("Converted", "Draft", "Pending", "Changes Required", "Approved"),
    *("Approved (Update Requested)", "Approved (Pending)"),
)
PRODUCTS: Final = (
    *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
    *("Interactive API", "SQL queries"),
)
VARIANTS: Final = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_TEXTS: Final = {"type": "array", "items": _TEXT, "minItems": 1}


def _one_of(*choices: str | int) -> dict[str, Any]:
    return {"enum": list(choices)}


def _section(required: Mapping[str, Any], optional: Mapping[str, Any]) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _texts(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, _TEXT)


_BASIC: Final = _section(
    {
        **_texts("name", "description", "intended_use", "data_product_region"),
        "data_curators": _TEXTS,
        "data_product_type": _one_of(*PRODUCTS),
        "publication_date": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "format": "date"},
    },
    {
        "data_product_sector": _one_of(
            "Technology", "Healthcare", "Education", "Government", "Energy", "Finance"
        )
    },
)
_PARAMETERS: Final = _section(
    {}, {"epsilon": _NUMBER, "delta": {"type": ["number", "string"]}, "rho": _NUMBER}
)
_LOSS: Final = _section(
    {},
    {
        **_texts("privacy_unit", "privacy_unit_details", "privacy_parameters_details"),
        "privacy_parameters": _PARAMETERS,
    },
)
_MODEL: Final = _section(
    {},
    {
        "model_name": _one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
        "release_type": _one_of("One release", "Many releases"),
        "data_source_type": _one_of("Static", "Dynamic"),
        "access_type": _one_of("Interactive", "Non-interactive"),
        **_texts("model_name_details", "actors", "release_type_details"),
        **_texts("data_source_type_details", "access_type_details"),
    },
)
_DEPLOYMENT: Final = _section(
    {"basic": _BASIC},
    {
        "dp_variant": _section(
            {},
            {"variant_name": _one_of(*VARIANTS), **_texts("data_domain", "unprotected_quantities")},
        ),
        "privacy_loss": _LOSS,
        "deployment_model": _MODEL,
        "accounting": _section({}, _texts("post_processing", "composition")),
        "implementation": _section(
            {}, _texts("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification")
        ),
        "administrative": _section({"registry_authors": _TEXTS}, _texts("sources", "notes")),
    },
)
SCHEMA: Final = _section(
    {
        "url_slug": _TEXT,
        "status": _one_of(*STATUSES),
        "tier": {"type": "integer", "enum": [1, 2, 3]},
        "deployment": _DEPLOYMENT,
    },
    {},
)
"""What a record may and must have."""
