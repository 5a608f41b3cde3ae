"""Named workbooks: the ledger keeps their shares, as accounts that their questions debit too."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.curator.ledger.account_changes import OPENED
from discreet.curator.ledger.accounts import Holder, cost_units, workbook, workbook_name
from discreet.curator.ledger.accounts import dataset as holder_of
from discreet.curator.ledger.charge_index import ChargedOrder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import MEASURES, Entry
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.errors import InputError
from discreet.privacy.budgets.charges import UNITS, Charge
from discreet.rationals import Real, positive
from discreet.sql.reader.parse import without_comments

MOST: Final = 100
"""Workbooks that one analyst may open of one dataset."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that a workbook has paid for: the number of its charge, its text and its price."""

    charge: int
    text: str | None
    price: Mapping[str, Fraction]
    answered: bool


def open_workbook(
    ledger: Ledger, dataset: str, analyst: str, name: str, share: Fraction
) -> list[AskedQuestion]:
    """Open a workbook, or find it; the questions that it has paid for, oldest first.

    Guarantee:
        In every measure it has an account under the smallest share of all accounts of the analyst
        and the dataset that count it. The ledger keeps them, whoever asks at once.
    Edge cases:
        Its accounts are opened with the note of its shares, or nothing is. Of two who open it at
        once the first one counts. Accounts that an earlier version left out are opened.
    """
    workbook_name(name)
    note = _noted(ledger, dataset, analyst, name)
    if note is None:
        caps = _caps(ledger, dataset, analyst, share)
        facts = {"share": str(share), "caps": caps}
        about = {"dataset": dataset, "workbook": f"{analyst}/{name}"}
        try:
            books = _books(ledger, dataset, analyst, name, caps)
            ledger.open_workbook(books, by=analyst, note={**about, **facts})
        except InputError:
            if _noted(ledger, dataset, analyst, name) is None:  # else somebody else has opened it
                raise
        note = _noted(ledger, dataset, analyst, name)
        assert note is not None  # noqa: S101 - narrowing: it was noted
    if note.facts["share"] != str(share):
        raise InputError(
            f"workbook {name} with a share of {float(share):g}",
            why=f"it was opened with {float(Fraction(note.facts['share'])):g}, which stays",
            fix="pass that share, or another name",
        )
    books = _books(ledger, dataset, analyst, name, note.facts["caps"])
    known = {one.holder for one in ledger.accounts()}
    if missing := {book: cap for book, cap in books.items() if book not in known}:
        ledger.open_workbook(missing, by=analyst, note={})
    found = ledger.paid_by(list(books), after=note.sequence)
    return [_asked(one, analyst) for one in found]


def _books(
    ledger: Ledger, dataset: str, analyst: str, name: str, caps: Mapping[str, list[str]]
) -> dict[Holder, Charge]:
    """The accounts of a workbook and their caps."""
    like, books = ledger.account(holder_of(dataset)).neighbours, dict[Holder, Charge]()
    for measure, units in caps.items():
        amounts = (Fraction(int(one), UNITS) for one in units)
        cap = Charge(*amounts, measure=MEASURES[measure], neighbours=like)
        books[workbook(analyst, name, MEASURES[measure], within=dataset)] = cap
    return books


def _noted(ledger: Ledger, dataset: str, analyst: str, name: str) -> Entry | None:
    """The first entry of a workbook, None where there is none."""
    notes = [one for one in ledger.noted(OPENED) if one.facts["dataset"] == dataset]
    found = [one for one in notes if one.facts["workbook"] == f"{analyst}/{name}"]
    if any(
        "caps" not in one.facts and one.facts["workbook"] == f"workbook {name}" for one in notes
    ):
        raise InputError(
            f"workbook {name} was opened by an earlier version",
            why="its share was the account of an analyst, which is still in the ledger",
            fix="pass another name",
        )
    if not found and sum(one.by == analyst for one in notes) >= MOST:
        raise InputError(
            f"{analyst} has {MOST} workbooks of {dataset}",
            why="each is an account of the ledger for ever",
            fix="go on with one of them, or leave the name out",
        )
    return found[0] if found else None


def _caps(ledger: Ledger, dataset: str, analyst: str, share: Fraction) -> dict[str, list[str]]:
    """The smallest share in each measure, in the ledger's units."""
    caps = dict[str, tuple[int, int]]()
    for one in ledger.touched(dataset, analyst):
        if (left := one.left) is not None:
            units = cost_units(part_of(left, share))
            before = caps.get(one.measure.name, units)
            caps[one.measure.name] = min(before[0], units[0]), min(before[1], units[1])
    if not caps:
        raise uncapped(dataset)
    return {measure: [str(units), str(delta)] for measure, (units, delta) in caps.items()}


def _asked(one: ChargedOrder, analyst: str) -> AskedQuestion:
    text, price = one.order.asked, StoredOrder.parse(one.order.plan).price
    if text is not None and one.order.analyst != analyst:  # who asked first wrote the comments
        text = without_comments(text)
    said = {"epsilon": price.epsilon, "delta": price.delta}
    return AskedQuestion(one.sequence, text, said, one.answered is not None)


def read_share(share: Real) -> Fraction:
    """A share of what is left: above 0, and 1 at most."""
    part = positive(share, "share")
    if part <= 1:
        return part
    raise InputError(
        f"a share of {float(part):g}",
        why="a workbook takes a part of what is left, and 1 is all of it",
        fix="pass a share such as 0.2",
    )


def part_of(left: Charge, part: Fraction) -> Charge:
    """A part of a charge, in whole units rounded down."""
    amounts = (Fraction(int(one * part), UNITS) for one in (left.units, left.delta_units))
    return Charge(*amounts, measure=left.measure, neighbours=left.neighbours)


def uncapped(dataset: str) -> InputError:
    """The error for a dataset of which no share can be told."""
    return InputError(
        f"a workbook of {dataset}, which has no budget for all people together",
        why="every person has a budget of their own, of which no share can be told",
        fix="ask with an epsilon: curator.sql(..., epsilon=0.1)",
    )
