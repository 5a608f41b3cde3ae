"""Named workbooks: the ledger keeps their shares, as accounts that their questions debit too."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from discreet.curator.canonical_json import named
from discreet.curator.ledger.accounts import MEASURES, cost_units, workbook
from discreet.curator.ledger.accounts import dataset as holder_of
from discreet.curator.ledger.charge_index import ChargedOrder
from discreet.curator.ledger.entries import Entry
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.stored_orders import StoredOrder
from discreet.errors import InputError
from discreet.privacy.budgets.charges import UNITS, Charge
from discreet.rationals import Real, positive
from discreet.sql.reader.parse import without_comments

OPENED: Final = "workbook opened"
"""The kind of entry that says which shares a workbook has."""

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
        The shares are noted first: whoever opens it after a crash opens the missing accounts. Of
        two who open it at once the first note counts.
    """
    if "/" in named(name, "the name of a workbook"):
        raise InputError("a workbook's name with a /", why="it parts names", fix="leave it out")
    note = _noted(ledger, dataset, analyst, name)
    if note is None:
        facts = {"share": str(share), "caps": _caps(ledger, dataset, analyst, share)}
        about = {"dataset": dataset, "workbook": f"{analyst}/{name}"}
        ledger.record(OPENED, by=analyst, facts={**about, **facts})
        note = _noted(ledger, dataset, analyst, name)
        assert note is not None  # noqa: S101 - narrowing: it was noted
    if note.facts["share"] != str(share):
        raise InputError(
            f"workbook {name} with a share of {float(share):g}",
            why=f"it was opened with {float(Fraction(note.facts['share'])):g}, which stays",
            fix="pass that share, or another name",
        )
    caps = note.facts["caps"]
    books = [workbook(analyst, name, MEASURES[one], within=dataset) for one in caps]
    for book, (measure, units) in zip(books, caps.items(), strict=True):
        if not _is_open(ledger, book):
            like = ledger.account(holder_of(dataset)).neighbours
            amounts = (Fraction(int(one), UNITS) for one in units)
            cap = Charge(*amounts, measure=MEASURES[measure], neighbours=like)
            try:
                ledger.open_account(book, cap, by=analyst)
            except InputError:
                if not _is_open(ledger, book):  # else another process has opened it
                    raise
    found = ledger.paid_by(books, after=note.sequence)
    return [_asked(one, analyst) for one in found]


def _is_open(ledger: Ledger, book: Any) -> bool:
    with suppress(InputError):
        return ledger.account(book) is not None
    return False


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
