"""Entries of the ledger as people read them: one sentence, and facts with rounded numbers.

The exact numbers, plans and digests stay in the entry itself; nothing is computed from these words.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from discreet.answer.present.number_text import cost, percent
from discreet.curator.ledger.accounts import Holder
from discreet.curator.ledger.orders import Entry, Order
from discreet.curator.orders.order_kinds import kind_of
from discreet.errors import DiscreetError
from discreet.plan.schema import counted
from discreet.privacy.budgets.charges import UNITS

Facts = Mapping[str, Any]
Told = tuple[str, list[tuple[str, str]]]
_UNREAD: Final = (DiscreetError, KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What reading an entry of a later version can raise: it is shown plainly then."""


@dataclass(frozen=True, slots=True)
class EntryWords:
    """A sentence about an entry; `facts` are (name, text) in the order in which they are read."""

    sentence: str
    facts: tuple[tuple[str, str], ...] = ()


def entry_words(entry: Entry) -> EntryWords:
    """Say what an entry is about; one that this version does not know is shown plainly.

    Example:
        >>> entry_words(Entry(7, "", "", "released", "ann", {"charge": 5, "size": 12})).sentence
        'The answer to entry 5 was stored.'
        >>> entry_words(Entry(8, "", "", "blessed", "ann", {"moon": "full"})).sentence
        'blessed: moon full'
    """
    with suppress(*_UNREAD):
        if entry.kind == "charged":
            return _charged(entry)
        if entry.kind in _SENTENCES:
            why = f" Reason: {entry.facts['reason']}" if entry.facts.get("reason") else ""
            sentence = _SENTENCES[entry.kind](entry.facts) + why
            return EntryWords(sentence, tuple(_known(entry.facts)))
    plain = ", ".join(f"{name} {_short(value)}" for name, value in entry.facts.items())
    return EntryWords(f"{entry.kind}: {plain}" if plain else entry.kind)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


# --- charges ------------------------------------------------------------------------------------


def _charged(entry: Entry) -> EntryWords:
    order = Order.from_dict(entry.by, entry.facts)
    told: Told = (f"placed an order of kind {order.kind} about", [])
    with suppress(*_UNREAD):
        told = _ORDERS[order.kind](json.loads(order.plan), order)
    what, more = told
    paid = ", ".join(f"{cost(one.amount)} {one.measure.name}" for one in order.prices)
    with suppress(*_UNREAD):
        price = kind_of(order).price_of(order)
        paid = f"epsilon {cost(price.epsilon)}"
        paid += f", delta {cost(price.delta)}" if price.delta else ""
    unit = f" {order.prices[0].measure.name}" if len(order.prices) == 1 else ""
    taken = {str(Holder.read(key)): _taken(took) for key, took in entry.facts["debits"].items()}
    debits = "; ".join(f"{amount}{unit} from {whose}" for whose, amount in taken.items())
    facts = [("Question", order.asked or ""), *more, ("Price", paid), ("Taken", debits)]
    if order.data_version > 1:
        facts.append(("Version of the data", str(order.data_version)))
    kept = tuple((name, text) for name, text in facts if text)
    return EntryWords(f"{entry.by} {what} {order.dataset} for {paid}.", kept)


def _taken(took: list[str]) -> str:
    units, delta = (Fraction(int(one), UNITS) for one in took)
    return cost(units) + (f" and delta {cost(delta)}" if delta else "")


def _columns(plan: Facts) -> list[tuple[str, str]]:
    return [("Columns", ", ".join(one["name"] for one in plan["domain"]))]


_ORDERS: Final[Mapping[str, Callable[[Any, Order], Told]]] = {
    "query": lambda _, order: ("asked about" if order.asked else "asked in Python about", []),
    "synthesis": lambda plan, _: ("made a synthetic table of", _columns(plan)),
    "workload": lambda plan, _: (
        f"asked {counted(len(plan['queries']), 'count')} at once of",
        _columns(plan),
    ),
    "online": lambda plan, _: ("opened online counting queries about", _columns(plan["plan"])),
    "stream": lambda plan, _: (
        f"began a standing question for every {plan['every']} about",
        [("One person counts in", counted(plan["max_periods"], plan["every"]))],
    ),
    "participation": lambda *_: ("counted who still takes part in", []),
    "profile": lambda *_: ("looked at every column of", []),
    "training": lambda plan, _: ("trained a model on", [("Features", ", ".join(plan["features"]))]),
    "fit": lambda plan, _: (
        f"fitted {' and '.join(name for name, _ in plan[0]['steps'])} to",
        [("Fitted", f"{plan[0]['target']} from {', '.join(plan[0]['features'])}")],
    ),
    "release": lambda plan, _: (
        (
            f"released {counted(len(plan['tables']), 'table')} at "
            f"{counted(1 + len(plan['levels']), 'level')} of"
        ),
        [
            ("Tables", ", ".join(name for name, _ in plan["tables"])),
            ("Levels", ", ".join(map(str, [plan["top"], *plan["levels"]]))),
        ],
    ),
}

# --- everything else ----------------------------------------------------------------------------


def _cap(facts: Facts) -> str:
    """A cap as its owner typed it."""
    if facts.get("per_person"):
        return f"{_stated(facts['per_person'])} for each person"
    cap = facts.get("cap")
    if not cap:
        return "counted, with no cap"
    stated = cap.get("stated")
    return _stated(stated) if stated else f"{cost(Fraction(cap['amount']))} {cap['measure']}"


def _stated(text: str) -> str:
    epsilon, delta = map(Fraction, text.split())
    return f"epsilon {cost(epsilon)}" + (f", delta {cost(delta)}" if delta else "")


def _whose(facts: Facts) -> str:
    return str(Holder.read(facts["account"]))


def _failed(facts: Facts) -> str:
    if "step" in facts:
        return f"Step {facts['step']} of entry {facts['charge']} failed; its charge stands."
    why = "was cancelled" if facts.get("cancelled") else "failed"
    return f"Entry {facts['charge']} {why} and has no answer; its charge stands."


def _token(facts: Facts, done: str) -> str:
    scope = facts.get("datasets")
    seen = "all datasets" if scope is None else ", ".join(scope)
    return f"A token of {facts['name']} ({facts['role']}, {seen}) was {done}."


def _appended(facts: Facts) -> str:
    through = facts.get("through")
    until = f", complete through {through}" if through else ""
    return f"Rows were appended to {facts['table']}: version {facts['version']}{until}."


_SENTENCES: Final[Mapping[str, Callable[[Facts], str]]] = {
    "founded": lambda _: "The ledger began.",
    "migrated": lambda _: "The ledger was brought to a newer form.",
    "adopted": lambda _: "An earlier copy of the ledger was taken up again.",
    "witness named": lambda facts: f"A witness at {facts['url']} signs the ledger from now on.",
    "witness retired": lambda _: "The witness elsewhere no longer signs the ledger.",
    "opened": lambda facts: f"A budget was opened for {_whose(facts)}: {_cap(facts)}.",
    "granted": lambda facts: f"A limit was given to {_whose(facts)}: {_cap(facts)}.",
    "grouped": lambda facts: f"A limit was given to {_whose(facts)}: {_cap(facts)}.",
    "linked": lambda facts: (
        f"Datasets of the same people were linked as {_whose(facts)}: {_cap(facts)}."
    ),
    "set aside": lambda facts: f"A share was set aside for {_whose(facts)}: {_cap(facts)}.",
    "raised": lambda facts: f"The budget of {_whose(facts)} was raised to {_cap(facts)}.",
    "lowered": lambda facts: f"The budget of {_whose(facts)} was lowered to {_cap(facts)}.",
    "admitted": lambda facts: f"{Holder.read(facts['member'])} joined {_whose(facts)}.",
    "shared": lambda facts: f"The answer to entry {facts['charge']} was told to somebody else too.",
    "measured": lambda facts: f"Noise was drawn for entry {facts['charge']}, once and for all.",
    "released": lambda facts: f"The answer to entry {facts['charge']} was stored.",
    "stepped": lambda facts: f"Step {facts['number']} of entry {facts['charge']} was answered.",
    "failed": _failed,
    "readmitted": lambda facts: f"{facts['analyst']} may ask about {facts['dataset']} again.",
    "added": lambda facts: (
        f"The table {facts['table']} was added "
        + (f"to {facts['dataset']}." if facts.get("dataset") else "as a public table.")
    ),
    "appended": _appended,
    "retired": lambda facts: f"{facts['dataset']} was retired: nothing new is asked of it.",
    "people budget": lambda facts: f"Each person in {facts['dataset']} got a budget of their own.",
    "person limit": lambda facts: (
        f"One person in {facts['dataset']} "
        + ("was removed for ever." if facts.get("final") else "got a lower limit.")
    ),
    "workbook opened": lambda facts: (
        f"The workbook {facts['workbook'].removeprefix('workbook ')} got "
        f"{percent(float(Fraction(facts['share'])))} of what is left to {facts['dataset']}."
    ),
    "token made": lambda facts: _token(facts, "made"),
    "token revoked": lambda facts: _token(facts, "revoked"),
}


def _known(facts: Facts) -> list[tuple[str, str]]:
    """The facts that say more than the sentence."""
    told = []
    if facts.get("members"):
        told.append(("Members", ", ".join(Holder.read(one).name for one in facts["members"])))
    if "expires" in facts:
        until = datetime.fromtimestamp(facts["expires"], UTC)
        told.append(("Works until", f"{until:%Y-%m-%d %H:%M} UTC"))
    if "max_table_rows" in facts:
        told.append(("Rows at most", f"{facts['max_table_rows']:,} (public)"))
    return told
