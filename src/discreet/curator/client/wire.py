"""JSON forms shared by server and clients, written and read here alone.

Numbers that a price or a budget rests on travel as texts ("0.1", "1/3"), so that both ends mean the
same rational; a JSON number is read as the decimal it prints as. Reading trusts nothing.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeVar

import pyarrow as pa

from discreet import errors
from discreet.answer.estimate.error_bars import ExpectedError
from discreet.answer.plan import explain
from discreet.answer.plan.accuracy import Accuracy
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.arguments import expect
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import Entry
from discreet.curator.ledger.verify import Report
from discreet.curator.orders.planned_orders import OrderExplanation, Terms
from discreet.curator.workbook import AskedQuestion
from discreet.errors import DiscreetError, InputError, ServiceError
from discreet.plain_json import from_fields, to_fields
from discreet.plan import canonical
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.public_facts import PublicFacts
from discreet.plan.schema import Limits, Schema
from discreet.privacy import Neighbours, Pure
from discreet.privacy.budgets.charges import Charge
from discreet.rationals import Real, rational, read_text

T = TypeVar("T")

SHARE: Final = "Discreet-Budget-Share"
"""The header that tells what share of a budget an answer took."""

BYTES: Final = f"{Release.media_type}, {BaseRelease.media_type}"
"""What to accept for a release of any kind as its `to_bytes` writes it."""


# --- numbers ------------------------------------------------------------------------------------


def read_number(value: object, name: str) -> Fraction:
    """A number, or a text such as "0.1", "1e-6" or "1/3".

    Example:
        >>> read_number(0.1, "epsilon"), read_number("1/3", "epsilon")
        (Fraction(1, 10), Fraction(1, 3))
    """
    if not isinstance(value, str):
        return rational(value, name)  # type: ignore[arg-type] # it judges any type
    if (found := read_text(value)) is not None:
        return found
    raise InputError(f"{name} is not a number", why="it is some other text", fix='write "0.1"')


def write_number(value: Real | None, name: str) -> str | None:
    """A number as the exact text that `read_number` reads."""
    return None if value is None else str(rational(value, name))


def read_own(kind: type[T], facts: Mapping[str, Any]) -> T:
    """A dataclass by the fields that it has; a reply may say more."""
    return from_fields(kind, {one.name: facts[one.name] for one in fields(kind)})  # type: ignore[arg-type]


def _perhaps(value: object, read: Callable[[Any], T]) -> T | None:
    return None if value is None else read(value)


# --- questions ----------------------------------------------------------------------------------


def write_asked(asked: Sequence[AskedQuestion]) -> list[dict[str, Any]]:
    """The questions of a workbook as JSON."""
    return [to_fields(one) for one in asked]


def read_asked(facts: Mapping[str, Any]) -> list[AskedQuestion]:
    """The questions that `write_asked` wrote."""
    return [from_fields(AskedQuestion, one) for one in facts["asked"]]


def write_terms(terms: Terms) -> dict[str, Any]:
    """The price or accuracy of a question as JSON."""
    weights = {name: str(rational(one, "weight")) for name, one in (terms.weights or {}).items()}
    facts = {
        "epsilon": write_number(terms.epsilon, "epsilon"),
        "delta": write_number(terms.delta, "delta"),
        "accuracy": _perhaps(terms.accuracy, _write_accuracy),
        "weights": weights or None,
        "as_of": terms.as_of,
        "intervals": None if terms.intervals else False,
        "workbook": terms.workbook,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def read_terms(facts: Mapping[str, Any]) -> Terms:
    """The terms that `write_terms` wrote."""
    return Terms(
        _perhaps(facts.get("epsilon"), lambda value: read_number(value, "epsilon")),
        _perhaps(facts.get("delta"), lambda value: read_number(value, "delta")),
        _perhaps(facts.get("accuracy"), _read_accuracy),
        _perhaps(
            facts.get("weights"),
            lambda said: {name: read_number(weight, "weight") for name, weight in said.items()},
        ),
        facts.get("as_of"),
        facts.get("intervals", True),
        facts.get("workbook"),
    )


def plain_json(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec that JSON has words for; numbers that JSON rounds travel as exact texts."""
    expect(spec, Mapping, "the spec of an order", fix='pass a mapping: {"...": ...}')
    try:
        found: dict[str, Any] = json.loads(json.dumps(dict(spec), default=_exact, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            "the spec of an order is not plain JSON",
            why="it holds something that JSON has no word for",
            fix="use texts, numbers, lists and mappings",
        ) from None
    return found


def _exact(value: object) -> str:
    if isinstance(value, Fraction | Decimal):
        return str(value)
    raise TypeError


def write_order_explanation(told: OrderExplanation) -> dict[str, Any]:
    """The explanation of an order of any kind."""
    return to_fields(told)


def read_order_explanation(facts: Mapping[str, Any]) -> OrderExplanation:
    """The explanation that `write_order_explanation` wrote."""
    return read_own(OrderExplanation, facts)


def _write_accuracy(accuracy: Accuracy) -> dict[str, Any]:
    of = accuracy.of
    facts = {
        "within": write_number(accuracy.within, "within"),
        "of": _sizes(of) if isinstance(of, Release) else write_number(of, "of"),
        "confidence": write_number(accuracy.confidence, "confidence"),
        "columns": None if accuracy.columns is None else list(accuracy.columns),
        "rows": accuracy.rows,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _read_accuracy(facts: Mapping[str, Any]) -> Accuracy:
    of, within = facts.get("of"), facts["within"]
    is_share = isinstance(within, str) and within.rstrip().endswith("%")
    known: dict[str, Any] = {"columns": facts.get("columns"), "rows": facts.get("rows")}
    if facts.get("confidence") is not None:
        known["confidence"] = read_number(facts["confidence"], "confidence")
    if of is not None:
        known["of"] = _sized(of) if isinstance(of, Mapping) else read_number(of, "of")
    return Accuracy(within if is_share else read_number(within, "within"), **known)


def _sizes(release: Release) -> dict[str, float]:
    """The smallest size of each column of an earlier release: all that an accuracy needs."""
    found = {}
    for name in release.table.column_names:
        values = release.table.column(name).to_pylist()
        known = [abs(v) for v in values if isinstance(v, int | float) and math.isfinite(v)]
        if known:
            found[name] = min(known)
    return found


def _sized(sizes: Mapping[str, Any]) -> Release:
    """A release of one row with these sizes, to be measured against."""
    table = pa.table({name: pa.array([_size(size)]) for name, size in sizes.items()})
    return Release(table, {}, {}, Price(1), Pure(1), ())


def _size(size: object) -> float:
    if isinstance(size, int) and not isinstance(size, bool) and abs(size) < 1 << 63:
        return size
    if isinstance(size, float) and math.isfinite(size):
        return size
    raise InputError(
        "a size that an accuracy is relative to cannot be read",
        why="it has to be a finite number",
        fix="pass a number for each column",
    )


# --- errors -------------------------------------------------------------------------------------

_MORE: Final = ("code", "start", "end", "asked", "left")


def write_error(error: DiscreetError) -> dict[str, Any]:
    """An error, with the name of its class and its fields."""
    facts = {"kind": type(error).__name__, "what": error.what, "why": error.why, "fix": error.fix}
    found = {name: getattr(error, name, None) for name in _MORE}
    return facts | {name: value for name, value in found.items() if value is not None}


def read_error(facts: Any) -> DiscreetError:
    """The error that `write_error` wrote; ServiceError for anything else."""
    match facts:
        case {"kind": str(kind), "what": str(), "why": str(), "fix": str()}:
            found = getattr(errors, kind, None)
            if isinstance(found, type) and issubclass(found, DiscreetError):
                return _raised(found, facts)
    return ServiceError(
        "the server's reply cannot be read",
        why="this package does not know this error",
        fix="see that the address is that of a discreet server of this version",
    )


def _raised(kind: type[DiscreetError], facts: Mapping[str, Any]) -> DiscreetError:
    said = {name: facts[name] for name in ("what", "why", "fix")}
    if kind is errors.QueryRefused:
        said |= {"code": str(facts.get("code", ""))}
        said |= {name: facts.get(name) for name in ("start", "end")}
    if kind is errors.BudgetError:
        said |= {name: float(facts.get(name, math.nan)) for name in ("asked", "left")}
    return kind(**said)


# --- accounts and the ledger --------------------------------------------------------------------


def write_account(account: Account) -> dict[str, Any]:
    """An account: readable amounts, and under `exact` their units."""
    cap, left, spent = account.limit, account.left, account.total
    return {
        "holder": account.holder.facts,
        "measure": account.measure.name,
        "neighbours": account.neighbours.value,
        "cap": None if cap is None else float(cap.amount),
        "spent": float(spent.amount),
        "left": None if left is None else float(left.amount),
        "exact": list(account.row()[:-1]),  # which entry changed it is the ledger's own
    }


def read_account(facts: Mapping[str, Any]) -> Account:
    """The account that `write_account` wrote."""
    return Account.read([*facts["exact"], 0])


def write_bill(bill: Mapping[Account, Charge]) -> list[dict[str, Any]]:
    """The charge to each account as JSON."""
    return [{"account": write_account(a), "cost": cost.to_dict()} for a, cost in bill.items()]


def read_bill(facts: Sequence[Mapping[str, Any]]) -> dict[Account, Charge]:
    """The bill that `write_bill` wrote."""
    return {read_account(one["account"]): Charge.from_dict(one["cost"]) for one in facts}


def write_entry(entry: Entry) -> dict[str, Any]:
    """An entry of the ledger."""
    return to_fields(entry)


def read_entry(facts: Mapping[str, Any]) -> Entry:
    """The entry that `write_entry` wrote, ignoring other fields."""
    return read_own(Entry, facts)


def write_report(report: Report) -> dict[str, Any]:
    """The result of `verify` as JSON."""
    return {"ok": report.ok, **to_fields(report)}


def read_report(facts: Mapping[str, Any]) -> Report:
    """The report that `write_report` wrote."""
    return read_own(Report, facts)


_NODES: Final[dict[str, type]] = {
    one.__name__: one
    for one in (
        *(explain.Explanation, explain.ExplainedSet, explain.ExplainedMeasurement),
        *(explain.Finding, explain.Option, ExpectedError, Price),
        *(ContributionBounds, Limits, PublicFacts, NoiseKind, Neighbours),
    )
}
_TAGS: Final = {kind: tag for tag, kind in _NODES.items()}


def write_explanation(told: explain.Explanation) -> dict[str, Any]:
    """An explanation as JSON."""
    return dict(canonical.plain(told, tags=_TAGS))


def read_explanation(facts: object) -> explain.Explanation:
    """The explanation that `write_explanation` wrote; some error where it is another."""
    found = canonical.read_plain(facts, Schema({}), nodes=_NODES)
    if not isinstance(found, explain.Explanation):
        raise TypeError
    return found
