"""A record of a dataset's use in the vocabulary of the public registry of DP deployments.

The registry asks owners for facts that a curator already holds: unit, parameters, model,
mechanisms, accounting. What only people know (who they are, what it is for) is passed in. JSON is
YAML, so the record can be submitted unchanged.

Reference: OpenDP, Differential Privacy Deployments Registry (fields of a tier 3 entry).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from discreet.curator.ledger import accounts
from discreet.curator.ledger.orders import NEWEST
from discreet.curator.reports.privacy_promise import private_tables, promised, unit_words
from discreet.errors import InputError
from discreet.plan.kinds import Type
from discreet.plan.schema import EachRow, Limits, PersonPeriod, Table, range_words
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import EPSILON

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.ledger.accounts import Account
    from discreet.curator.ledger.ledger import Ledger
    from discreet.curator.ledger.orders import Entry

SECTORS: Final = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
_TOLD: Final = {
    "basic": ("name", "data_curators", "description", "intended_use", "data_product_region"),
    "administrative": ("registry_authors",),
}
"""Required texts that only people know."""

_ADJACENT = {
    Neighbours.ADD_REMOVE: "one is the other with all rows of one unit added or removed",
    Neighbours.CHANGE_ONE: "one is the other with the rows of one unit changed into others",
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """Facts about a deployment that only people know; `authors` have filled in the record."""

    name: str = ""
    organisation: str = ""
    description: str = ""
    intended_use: str = ""
    region: str = ""
    sector: str = ""
    justification: str = ""
    sources: str = ""
    authors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sector and self.sector not in SECTORS:
            raise InputError(
                f"a sector called {self.sector}",
                why=f"the registry knows {', '.join(SECTORS)}",
                fix="name one of these, or none",
            )


def deployment_record(
    curator: "Curator", dataset: str, purpose: Purpose | None = None
) -> dict[str, Any]:
    """A tier 3 entry about one dataset, from what the curator and its ledger know.

    It has every field that the registry requires and no unknown one.
    """
    account = curator.budget(dataset)
    private = private_tables(curator, dataset)
    entries = curator.ledger.entries(limit=NEWEST)
    charged = [one for one in entries if one.kind == "charged" and one.facts["dataset"] == dataset]
    said = purpose or Purpose(dataset)
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", (said.name or dataset).lower()).strip("_")
        or "deployment",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(said, charged or entries),
            "dp_variant": _variant(account, private),
            "privacy_loss": _loss(account, private, len(charged)),
            "deployment_model": _model(curator.ledger, dataset, charged),
            "accounting": _accounting(account),
            "implementation": _implementation(charged, private, said),
            "administrative": {
                **({"sources": said.sources} if said.sources else {}),
                "registry_authors": list(said.authors or (said.organisation,)),
            },
        },
    }


def blanks(record: Mapping[str, Any]) -> list[str]:
    """Required texts that are empty: the registry takes them, and readers learn nothing."""
    places = [("deployment", section, name) for section, names in _TOLD.items() for name in names]
    return [".".join(one) for one in places if record[one[0]][one[1]][one[2]] in ("", [""])]


def _basic(said: Purpose, entries: "Sequence[Entry]") -> dict[str, Any]:
    sector = {"data_product_sector": said.sector} if said.sector else {}
    return {
        "name": said.name,
        "data_curators": [said.organisation],
        "description": said.description,
        "intended_use": said.intended_use,
        "data_product_type": "SQL queries",
        "data_product_region": said.region,
        "publication_date": entries[0].time[:10],
        **sector,
    }


_VARIANTS: Final = {"epsilon": "Pure DP", "rho": "Zero-concentrated DP", "mu-squared": "Custom"}
_KEPT: Final = {"rho": "approximate zero-concentrated DP", "mu-squared": "approximate Gaussian DP"}


def _variant(account: "Account", tables: Sequence[Table]) -> dict[str, Any]:
    cap = account.limit
    exact = _VARIANTS[account.measure.name]
    return {
        "variant_name": "Approximate DP" if cap is not None and cap.delta else exact,
        "data_domain": "\n".join(
            f"- {table.name}.{column}: {_domain(of)}"
            for table in tables
            for column, of in table.columns.items()
        ),
        "unprotected_quantities": "Names and types of columns, bounds, listed keys, limits, and "
        "public tables; all were stated by the owner and none was read off the data.",
    }


def _domain(of: Type) -> str:
    known = "" if of.range is None else f", {range_words(of.range, of.kind)}"
    listed = "" if of.keys is None else f", {len(of.keys)} listed keys"
    return f"{of.kind.value}{', may be NULL' if of.nullable else ''}{known}{listed}"


def _loss(account: "Account", tables: Sequence[Table], questions: int) -> dict[str, Any]:
    spent = account.total
    own = account.is_per_person
    units = "; ".join(f"{table.name}: {unit_words(table.unit)}" for table in tables)
    whose, taken = ("A budget of every person", "cost") if own else ("A cap", "spent")
    return {
        "privacy_unit": _level(tables),
        "privacy_unit_details": f"{units}. Of two adjacent datasets "
        f"{_ADJACENT[account.neighbours]}.",
        "privacy_parameters": promised(account),
        "privacy_parameters_details": f"{whose} for ever over all analysts together"
        f"{_kept(account)}. {questions} questions have {taken} {float(spent.amount):.6g} "
        f"{account.measure.name} and delta {float(spent.delta):.3g}{'' if own else ' of it'}.",
    }


def _level(tables: Sequence[Table]) -> str:
    for table in tables:
        match table.unit:
            case EachRow():
                return "Record-level"
            case PersonPeriod(_, _, every):
                return f"User-{every}-level"
    return "User-level"


def _kept(account: "Account") -> str:
    cap = account.limit
    if cap is None or account.measure == EPSILON or not cap.delta:
        return ""
    return (
        f", kept as {_KEPT[account.measure.name]} with {account.measure.name} "
        f"{float(cap.amount):.6g} and delta {float(cap.delta):.3g}"
    )


def _model(ledger: "Ledger", dataset: str, charged: "Sequence[Entry]") -> dict[str, Any]:
    holders = [one.holder for one in ledger.accounts()]
    inside = [one for one in holders if one.kind in ("analyst", "group") and one.within == dataset]
    links = [
        one.name
        for one in holders
        if one.kind == "link" and accounts.dataset(dataset) in ledger.members(one)
    ]
    linked = f" Other datasets hold the same people (links: {', '.join(links)})." if links else ""
    return {
        "model_name": "Central",
        "model_name_details": "One curator holds the data and answers questions about them.",
        "actors": "The owner, who holds the data and is trusted with them; analysts, who see "
        "answers and are not trusted, alone or together; an auditor, who sees the ledger and no "
        "answers.",
        "release_type": "Many releases",
        "release_type_details": "The budget never resets. When it is spent no question is "
        "answered, unless the owner raises it, which the ledger keeps with the reason.",
        "data_source_type": "Static",
        "data_source_type_details": "Files that change after they were added are refused.",
        "access_type": "Interactive",
        "access_type_details": f"{len({entry.by for entry in charged})} analysts have asked; "
        f"{len(inside)} have, alone or in groups, caps of their own within the cap of the dataset, "
        f"which holds even if all of them collude.{linked}",
    }


def _accounting(account: "Account") -> dict[str, Any]:
    kept = _KEPT.get(account.measure.name, "sums of epsilon")
    return {
        "post_processing": "Averages and other derived numbers are computed from released ones.",
        "composition": "Every question is charged durably before data is read and is never "
        f"refunded; a privacy filter by {kept}, valid for adaptively chosen questions, guards the "
        "cap. The same question asked again is answered with the same numbers at no cost.",
    }


def _implementation(
    charged: "Sequence[Entry]", tables: Sequence[Table], said: Purpose
) -> dict[str, Any]:
    kinds = Counter(
        part["kind"].partition("/")[0] for entry in charged for part in entry.facts["measurements"]
    )
    used = "; ".join(f"{count} measurements with {kind}" for kind, count in kinds.most_common())
    return {
        "preprocessing_and_hyperparameter_tuning": "\n".join(
            f"- {table.name}: {limit_words(table.limits)}" for table in tables
        ),
        "mechanisms": "Exact discrete Laplace and rounded Gaussian noise on integers, and exact "
        f"choices for quantiles and unknown groups, by discreet {version('discreet')}. No "
        "floating-point number meets a private value. Noise takes the same work whatever its "
        "size; constant time is not promised to somebody who shares the processor. Guarantees "
        f"charged: {used or 'none yet'}.",
        "justification": said.justification,
    }


def limit_words(limits: Limits) -> str:
    """One person's contribution limits in words."""
    if limits.max_groups is None or limits.max_rows is None:
        return "limits on one person's rows and groups are chosen privately for each question"
    return f"one person counts in {limits.max_groups} groups with {limits.max_rows} rows each"
