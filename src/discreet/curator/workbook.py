"""A share of what is left of a budget, split over a number of questions.

Of a workbook with a name the ledger keeps the share, as accounts that its questions debit too.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from discreet.answer.present.number_text import percent
from discreet.curator.arguments import unknown
from discreet.curator.ledger.account_changes import OPENED
from discreet.curator.ledger.accounts import Account, Holder, cost_units, workbook, workbook_name
from discreet.curator.ledger.accounts import dataset as holder_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import MEASURES, ChargedOrder, Entry
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.errors import BudgetError, InputError, QueryRefused
from discreet.html_view import framed, note, share_bar
from discreet.privacy.budgets.charges import EPSILON, UNITS, Charge
from discreet.rationals import Real, positive, whole
from discreet.sql.reader.parse import without_comments

if TYPE_CHECKING:
    from discreet.answer.plan.explain import Explanation
    from discreet.answer.present.release import Release
    from discreet.curator.question_backend import QuestionBackend
    from discreet.curator.question_interface import Asked, QuestionInterface

Units = tuple[int, int]
"""An amount and a delta, in the ledger's units."""

MOST: Final = 100
"""Workbooks that one analyst may open of one dataset."""

_TRIES: Final = 12
_AIM, _CLOSE = Fraction(99, 100), Fraction(95, 100)
"""How much of its part a question is to use, and when that is near enough."""

_HOPELESS: Final = Fraction(10**30)

_DELTAS: Final = 50
"""A question's delta is at most so small a part of the cap's: what questions have by themselves."""


class Workbook:
    """Questions that share a part of a budget; each gets an equal part of what is left.

    Guarantee:
        The charges of its questions together take at most `share` of what every account had left
        when it was opened. Each is charged to the ledger like any other, which enforces the caps
        whatever else is asked. With a `name` the ledger keeps the shares too, as accounts of this
        analyst's workbook: opened again, here or over HTTP, it continues with what is left.
    Edge cases:
        A repeated question returns the same answer for nothing and is not counted, even if rows
        were appended. A question with an epsilon of its own may cost more or less: the rest is
        split anew. Threads wait for each other. Two workbooks know nothing of each other, unless
        they have one name: then they share what is left, and the questions.

    Example:
        >>> import pyarrow as pa
        >>> from discreet.curator.opening import Curator
        >>> from discreet.curator.budget import Budget
        >>> curator = Curator.in_memory()
        >>> rows = pa.table({"id": range(1000)})
        >>> curator.add("visits", rows, unit="id", budget=Budget(epsilon=1))
        >>> with curator.workbook("visits", share=0.5, questions=5) as book:
        ...     answer = book.sql("SELECT COUNT(*) AS n FROM visits")
        >>> answer.price.epsilon, book
        (Fraction(1, 10), workbook of visits: 1 of 5 questions asked, 20 % of its share spent)
    """

    def __init__(
        self,
        curator: "QuestionInterface",
        dataset: str,
        share: Real,
        questions: int,
        analyst: str | None,
        name: str | None = None,
    ) -> None:
        self._curator, self.dataset = curator, dataset
        self.questions = whole(questions, "questions", at_least=1)
        self.asked = 0
        """Questions that were charged."""
        part = read_share(share)
        self._lock = threading.RLock()
        self._prices: dict[str, Mapping[str, Any]] = {}
        self._told: dict[str, Release] = {}
        self._charges: dict[str, int] = {}
        self._spent: dict[Holder, Units] = {}
        self._asker: dict[str, Any] = {"analyst": analyst}
        left = {one.holder: one.left for one in self._touched()}
        shares = {one: part_of(rest, part) for one, rest in left.items() if rest is not None}
        if not shares:
            raise uncapped(dataset)
        self._allowed = {one: cost_units(cap) for one, cap in shares.items()}
        if name is not None:
            self._find: Callable[[], list[AskedQuestion]] = partial(
                self._backend.workbook, dataset, name, part, analyst
            )
            self._look({"workbook": name})

    @property
    def _backend(self) -> "QuestionBackend":
        return self._curator._backend  # noqa: SLF001 - of the same interface

    def _look(self, named: Mapping[str, Any]) -> None:
        """Read from the ledger what was asked, by whomever, and what that took."""
        told = self._find()
        self.asked, self._asker = len(told), {**self._asker, **named}
        for one in told:
            if one.text is not None and one.text not in self._charges:
                known = self._prices.setdefault(one.text, one.price)
                if one.answered and known["epsilon"] == one.price["epsilon"]:
                    self._charges[one.text] = one.charge
        books = [one for one in self._touched() if one.holder.kind == "workbook"]
        self._allowed = {one.holder: one.cap for one in books if one.cap is not None}
        self._spent = {one.holder: one.spent for one in books}

    def _touched(self) -> list[Account]:
        """The accounts that a question is charged to, by the price of one."""
        datasets = self._curator.datasets()
        if not datasets.get(self.dataset):
            raise unknown("dataset", self.dataset, datasets)
        table = datasets[self.dataset][0]
        question = self._curator.table(table).count()  # which is priced, and never asked
        try:
            return list(self._bill(question, {"epsilon": Fraction(1, 10)}))
        except QueryRefused as refused:
            raise (uncapped(self.dataset) if refused.code == "per-person" else refused) from None

    def _bill(self, question: "Asked", price: Mapping[str, Any]) -> dict[Account, Charge]:
        return self._curator.cost(question, **self._asker, **price)

    # --- asking ---------------------------------------------------------------------------------

    def sql(self, text: str, *, epsilon: Real | None = None) -> "Release":
        """Answer a question for an equal part of what is left, or for an epsilon of its own."""
        with self._lock:
            if "workbook" in self._asker:
                self._look({})
            price = self._price(text, epsilon)
            told = self._repeated(text, price)
            if told is not None:
                return told
            bill = self._bill(text, price)
            self._check(bill)
            before = {one.holder: one.spent for one in bill}
            try:
                answer = self._curator.sql(text, **self._asker, **price)
            finally:
                self._count(before, bill)
            self._prices[text], self._told[text] = price, answer
            return answer

    def _repeated(self, text: str, price: Mapping[str, Any]) -> "Release | None":
        """The answer to a question that was asked; asked anew it would be charged on newer data."""
        if self._prices.get(text, {}).get("epsilon") != price["epsilon"]:
            return None
        if text not in self._told and text in self._charges:
            self._told[text] = self._backend.stored(self._charges[text])
        return self._told.get(text)

    def explain(self, text: str, *, epsilon: Real | None = None) -> "Explanation":
        """Cost and expected error of a question at this workbook's price; charges nothing."""
        with self._lock:
            price = self._price(text, epsilon)
        return self._curator.explain(text, **self._asker, **price)

    def _check(self, bill: Mapping[Account, Charge]) -> None:
        """Refuse a question that exceeds the share, or follows the last one."""
        over = [one for one, cost in bill.items() if self._used(one, cost, 1) > 1]
        if over or self.asked >= self.questions:
            why = f"its {self.questions} questions are asked"
            raise self._refusal("this one costs more than is left of the share" if over else why)

    def _refusal(self, why: str) -> BudgetError:
        fix = "open another workbook, or pass a smaller epsilon"
        return BudgetError(f"{self!r}", why=why, fix=fix, asked=1.0, left=float(self.left))

    def _count(self, before: Mapping[Holder, Units], bill: Mapping[Account, Charge]) -> None:
        """Note what was charged: nothing where no account has moved.

        Why: concurrent charges may be counted as this question's, up to its price; so the share is
        never exceeded.
        """
        if "workbook" in self._asker:
            self._look({})
            return
        after, moved = {one.holder: one.spent for one in self._touched()}, False
        for account, cost in bill.items():
            was, old = before[account.holder], self._spent.get(account.holder, (0, 0))
            now = after.get(account.holder, was)
            amount = min(cost.units, now[0] - was[0])
            delta = min(cost.delta_units, now[1] - was[1])
            self._spent[account.holder] = old[0] + amount, old[1] + delta
            moved = moved or bool(amount or delta)
        self.asked += moved

    # --- prices ---------------------------------------------------------------------------------

    def _price(self, text: str, epsilon: Real | None) -> Mapping[str, Any]:
        if epsilon is not None:
            return {"epsilon": positive(epsilon, "epsilon")}
        return self._prices.get(text) or self._fitted(text)

    def _fitted(self, text: str) -> Mapping[str, Any]:
        """The largest epsilon, nearly, at which a question costs its part of what is left.

        Why: a cost grows with epsilon, or with its square. Each try is closer to the part, and one
        that exceeds it is not used.
        """
        turns = max(1, self.questions - self.asked)
        price: dict[str, Any] = {"epsilon": Fraction(1, 10), **self._delta(turns)}
        best = None
        for _ in range(_TRIES):
            bill = self._bill(text, price)
            used = max(self._used(one, cost, turns) for one, cost in bill.items())
            if used <= 1 and (best is None or price["epsilon"] > best["epsilon"]):
                best = dict(price)
            if _CLOSE <= used <= 1 or not 0 < used < _HOPELESS:
                break
            power = 1.0 if any(one.measure == EPSILON for one in bill) else 0.5
            price["epsilon"] *= Fraction(f"{float(_AIM / used) ** power:.6g}")
        if best is None:
            raise self._refusal("too little is left of its share for a question like this one")
        return best

    def _used(self, account: Account, cost: Charge, turns: int) -> Fraction:
        """A cost as a share of an equal part of what is left; of its delta, if that is more."""
        if account.holder not in self._allowed:
            return Fraction(0)
        parts = zip((cost.units, cost.delta_units), self._left(account.holder), strict=True)
        return max(
            Fraction(part * turns, rest) if rest else _HOPELESS if part else Fraction(0)
            for part, rest in parts
        )

    def _delta(self, turns: int) -> dict[str, Fraction]:
        """A delta that every account has left for one question, where they have any."""
        deltas = [
            min(Fraction(self._left(one.holder)[1], UNITS * turns), one.limit.delta / _DELTAS)
            for one in self._touched()
            if one.holder in self._allowed and one.limit is not None and one.limit.delta
        ]
        return {"delta": min(deltas)} if deltas else {}

    # --- what is left ---------------------------------------------------------------------------

    def _left(self, holder: Holder) -> Units:
        most, gone = self._allowed[holder], self._spent.get(holder, (0, 0))
        return most[0] - gone[0], most[1] - gone[1]

    @property
    def left(self) -> Fraction:
        """The part of its share that is left, of the account that runs out first."""
        parts = (
            Fraction(rest, most)
            for holder, allowed in self._allowed.items()
            for rest, most in zip(self._left(holder), allowed, strict=True)
            if most
        )
        return min(parts, default=Fraction(0))

    def __repr__(self) -> str:
        return (
            f"workbook of {self.dataset}: {self.asked} of {self.questions} questions asked, "
            f"{percent(float(1 - self.left))} of its share spent"
        )

    def _repr_html_(self) -> str:
        return framed(note(self), share_bar(float(1 - self.left)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is given back: unspent budget was never taken."""


# --- workbooks of the ledger ---------------------------------------------------------------------


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
        and the dataset that count it. The ledger enforces them under concurrent questions.
    Edge cases:
        Its accounts are opened with the note of its shares, or nothing is. If two callers open it
        at once, the first one counts. Accounts that an earlier version left out are opened.
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
            fix="use one of them, or leave the name out",
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
    """The error for a dataset of which no share can be computed."""
    return InputError(
        f"a workbook of {dataset}, which has no budget for all people together",
        why="every person has a budget of their own, of which no share can be told",
        fix="ask with an epsilon: curator.sql(..., epsilon=0.1)",
    )
