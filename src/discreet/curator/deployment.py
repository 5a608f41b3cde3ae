"""A record of a dataset's use in the vocabulary of the public registry of DP deployments.

The registry asks owners for facts that a curator already holds: unit, parameters, model,
mechanisms, accounting. What only people know (who they are, what it is for) is passed in.

Reference: OpenDP, Differential Privacy Deployments Registry (fields of a tier 3 entry).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.answer.facts import range_words
from discreet.curator import accounts
from discreet.plan.kinds import Type
from discreet.plan.schema import EachRow, Limits, Path, Person, Table
from discreet.privacy import Neighbours
from discreet.privacy.charges import RHO

if TYPE_CHECKING:
    from discreet.curator.accounts import Account
    from discreet.curator.curator import Curator
    from discreet.curator.entries import Entry
    from discreet.curator.ledger import Ledger

_PAGE = 1000
_ADJACENT = {
    Neighbours.ADD_REMOVE: "one is the other with all rows of one unit added or removed",
    Neighbours.CHANGE_ONE: "one is the other with the rows of one unit changed into others",
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """What only people know about a deployment."""

    name: str = ""
    organisation: str = ""
    organisation_type: str = ""
    description: str = ""
    intended_use: str = ""
    region: str = ""
    sector: str = ""


def deployment_record(
    curator: "Curator", dataset: str, purpose: Purpose | None = None
) -> dict[str, Any]:
    """A tier 3 entry about one dataset, from what the curator and its ledger know."""
    account = curator.budget(dataset)
    tables = [curator.schema.tables[name] for name in curator.datasets()[dataset]]
    private = [table for table in tables if isinstance(table, Table)]
    entries = [one for one in _entries(curator.ledger) if one.facts.get("dataset") == dataset]
    charged = [entry for entry in entries if entry.kind == "charged"]
    return {
        "deployment": {
            "basic": _basic(purpose or Purpose(dataset), entries),
            "dp_variant": _variant(account, private),
            "privacy_loss": _loss(account, private, len(charged)),
            "deployment_model": _model(curator.ledger, dataset, charged),
            "implementation": _implementation(charged, private),
            "administrative": {"status": "Draft", "tier": 3},
        }
    }


def _entries(ledger: "Ledger") -> "Iterator[Entry]":
    after = 0
    while page := ledger.entries(after=after, limit=_PAGE):
        yield from page
        after = page[-1].sequence


def _basic(purpose: Purpose, entries: "Sequence[Entry]") -> dict[str, Any]:
    who = {
        "data_curator_name": purpose.organisation,
        "data_curator_type": purpose.organisation_type,
    }
    return {
        "name": purpose.name,
        "data_curators": [who],
        "description": purpose.description,
        "intended_use": purpose.intended_use,
        "data_product_type": "Interactive API",
        "data_product_region": purpose.region,
        "data_product_sector": purpose.sector,
        "publication_date": entries[0].time[:10] if entries else "",
    }


def _variant(account: "Account", tables: Sequence[Table]) -> dict[str, Any]:
    cap = account.limit
    concentrated = "Approximate zero-concentrated DP" if cap and cap.delta else None
    pure = "Approximate DP" if cap and cap.delta else "Pure DP"
    name = (concentrated or "Zero-concentrated DP") if account.measure == RHO else pure
    return {
        "variant_name": name,
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
    limit, spent = account.limit, account.total
    amounts: dict[str, float] = {} if limit is None else {account.measure.name: float(limit.amount)}
    if limit is not None and limit.delta:
        amounts["delta"] = float(limit.delta)
    by_row = any(isinstance(table.unit, EachRow) for table in tables)
    return {
        "privacy_unit": "Record-level" if by_row else "User-level",
        "privacy_unit_details": f"{_units(tables)}. Of two adjacent datasets "
        f"{_ADJACENT[account.neighbours]}.",
        "privacy_parameters": amounts,
        "privacy_parameters_details": f"A cap for ever over all analysts together. {questions} "
        f"questions have spent {float(spent.amount):.6g} {account.measure.name} and delta "
        f"{float(spent.delta):.3g} of it.",
    }


def _units(tables: Sequence[Table]) -> str:
    words = []
    for table in tables:
        match table.unit:
            case Person(column):
                words.append(f"a person with all rows, as {table.name}.{column} names them")
            case Path(column, target, key):
                words.append(f"{table.name}.{column} leads to them by {target}.{key}")
            case EachRow():
                words.append(f"a single row of {table.name}")
    return "; ".join(words)


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
        "release_type": "Many releases",
        "data_source_type": "Static",
        "access_type": "Interactive",
        "access_type_details": f"{len({entry.by for entry in charged})} analysts have asked; "
        f"{len(inside)} have, alone or in groups, caps of their own within the cap of the dataset, "
        f"which holds even if all of them collude.{linked}",
    }


def _implementation(charged: "Sequence[Entry]", tables: Sequence[Table]) -> dict[str, Any]:
    kinds = Counter(
        part["kind"].partition("/")[0] for entry in charged for part in entry.facts["measurements"]
    )
    used = "; ".join(f"{count} measurements with {kind}" for kind, count in kinds.most_common())
    return {
        "preprocessing_and_hyperparameter_tuning": "\n".join(
            f"- {table.name}: {_limits(table.limits)}" for table in tables
        ),
        "mechanisms": "Exact discrete Laplace and discrete Gaussian noise on integers; exact "
        f"choices for quantiles and unknown groups. Guarantees charged: {used or 'none yet'}.",
        "accounting": "Every question is charged durably before data is read and is never "
        "refunded; a privacy filter for adaptively chosen questions guards the cap.",
        "justification": "",
    }


def _limits(limits: Limits) -> str:
    if limits.max_groups is None or limits.max_rows is None:
        return "limits on one person's rows and groups are chosen privately for each question"
    return f"one person counts in {limits.max_groups} groups with {limits.max_rows} rows each"
