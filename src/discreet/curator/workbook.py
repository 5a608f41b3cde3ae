"""A share of what is left of a budget, split over a number of questions."""

import threading
from collections.abc import Mapping
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from discreet.answer.present.number_text import percent
from discreet.answer.present.release import Release
from discreet.curator.canonical_json import named
from discreet.curator.ledger.accounts import Account, Holder, cost_units
from discreet.curator.ledger.accounts import analyst as holder_of_analyst
from discreet.curator.ledger.accounts import dataset as holder_of
from discreet.curator.ledger.charge_index import NEWEST, ChargedOrder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.planned_orders import OWNER
from discreet.curator.orders.stored_orders import StoredOrder
from discreet.errors import BudgetError, InputError, QueryRefused
from discreet.plan.builder import count
from discreet.privacy.budgets.charges import EPSILON, UNITS, Charge
from discreet.rationals import Real, positive, whole

if TYPE_CHECKING:
    from discreet.answer.plan.explain import Explanation
    from discreet.curator.curator import Curator

Units = tuple[int, int]
"""An amount and a delta, in the ledger's units."""

_TRIES: Final = 12
_AIM, _CLOSE = Fraction(99, 100), Fraction(95, 100)
"""How much of its part a question is to use, and when that is near enough."""

WORKBOOK: Final = "workbook opened"
"""The kind of entry that says which shares a named workbook has."""

_PAGE: Final = 1000

_HOPELESS: Final = Fraction(10**30)

_DELTAS: Final = 50
"""A question's delta is at most so small a part of the cap's: what questions have by themselves."""


class Workbook:
    """Questions that share a part of a budget; each gets an equal part of what is left.

    Guarantee:
        The charges of its questions together take at most `share` of what every account had left
        when it was opened. Each is charged to the ledger like any other, which keeps the caps
        whatever else is asked meanwhile. With a `name` the ledger keeps the shares, and an account
        under the smallest of them: opened again, it goes on with what is left.
    Edge cases:
        The same question again is the same answer, for nothing, and is not counted, also where
        rows were appended since. A question with an epsilon of its own may be dearer or cheaper:
        the rest is split anew. Threads wait for each other. Two workbooks know nothing of each
        other, unless they have one name: then they share what is left, and the questions.

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
        curator: "Curator",
        dataset: str,
        share: Real,
        questions: int,
        analyst: str | None,
        name: str | None = None,
    ) -> None:
        self._curator, self._analyst, self.dataset = curator, analyst, dataset
        self.questions = whole(questions, "questions", at_least=1)
        self.asked = 0
        """Questions that were charged."""
        part = positive(share, "share")
        if part > 1:
            raise InputError(
                f"a share of {float(part):g}",
                why="a workbook takes a part of what is left, and 1 is all of it",
                fix="pass a share such as 0.2",
            )
        self._lock = threading.RLock()
        self._prices: dict[str, Mapping[str, Any]] = {}
        self._told: dict[str, Release] = {}
        self._charges: dict[str, int] = {}
        self._spent: dict[Holder, Units] = {}
        self._ledger = self._owned(name)
        shares = {
            one.holder: _part(left, part)
            for one in self._touched()
            if (left := one.left) is not None
        }
        if not shares:
            raise self._uncapped()
        self._allowed = {one: cost_units(cap) for one, cap in shares.items()}
        if self._ledger is not None:
            self._kept(self._ledger, part, shares)

    def _owned(self, name: str | None) -> Ledger | None:
        """The ledger that keeps a named workbook, under an analyst of its own; else None."""
        if name is None:
            return None
        ledger = self._curator.ledger
        if self._analyst is not None or not isinstance(ledger, Ledger):
            raise InputError(
                "a workbook with a name, of an analyst or over HTTP",
                why="its share is an account of its own, which the owner opens",
                fix=f"leave the name out, or open it as the owner; there grant({name!r}, ...) too",
            )
        self._analyst = f"workbook {named(name, 'the name of a workbook')}"
        return ledger

    def _kept(self, ledger: Ledger, part: Fraction, shares: Mapping[Holder, Charge]) -> None:
        """Note the shares of a new workbook and open its account, or find those of an old one.

        Noted first: whoever opens it after a crash between the two opens the account.
        """
        account = self._account(ledger)
        opened = self._noted(ledger)  # read second: another process may open it just now
        if not opened and account is not None:
            raise InputError(
                f"{self._analyst} is an analyst of {self.dataset} already",
                why="the account of a workbook holds its own questions alone",
                fix="pass another name",
            )
        if not opened:
            caps = {one.key: [str(n) for n in cost_units(cap)] for one, cap in shares.items()}
            facts = {"share": str(part), "shares": caps}
            ledger.record(WORKBOOK, by=OWNER, facts={**self._about, **facts})
            opened = self._noted(ledger)
        first = opened[0]
        if first["share"] != str(part):
            raise InputError(
                f"{self._analyst} with a share of {float(part):g}",
                why=f"it was opened with {float(Fraction(first['share'])):g}, which stays",
                fix="pass that share, or another name",
            )
        self._allowed = {Holder.read(k): (int(u), int(d)) for k, (u, d) in first["shares"].items()}
        account = self._account(ledger)
        if account is None or account.limit is None:
            self._open(ledger, shares)
        self._look(ledger)

    def _open(self, ledger: Ledger, shares: Mapping[Holder, Charge]) -> None:
        """Open the account under the smallest share of all accounts that count like the dataset's.

        Why: the ledger keeps these shares then, also where two processes ask at once.
        """
        like = shares[holder_of(self.dataset)]
        about = like.measure, like.neighbours
        alike = [one for one, cap in shares.items() if (cap.measure, cap.neighbours) == about]
        caps = zip(*(self._allowed[one] for one in alike if one in self._allowed), strict=True)
        amounts = (Fraction(min(units), UNITS) for units in caps)
        cap = Charge(*amounts, measure=like.measure, neighbours=like.neighbours)
        try:
            ledger.open_account(self._holder, cap, by=OWNER)
        except InputError:
            if self._account(ledger) is None:  # else another process has opened it
                raise

    def _noted(self, ledger: Ledger) -> list[Mapping[str, Any]]:
        found = [one.facts for one in ledger.noted(WORKBOOK)]
        return [one for one in found if all(one.get(k) == v for k, v in self._about.items())]

    @property
    def _about(self) -> dict[str, str]:
        return {"dataset": self.dataset, "workbook": str(self._analyst)}

    @property
    def _holder(self) -> Holder:
        return holder_of_analyst(str(self._analyst), within=self.dataset)

    def _account(self, ledger: Ledger) -> Account | None:
        return next((one for one in ledger.accounts() if one.holder == self._holder), None)

    def _look(self, ledger: Ledger) -> None:
        """Read from the ledger what was asked, by whomever, and what that took."""
        account = self._account(ledger)
        assert account is not None  # noqa: S101 - narrowing: it was opened
        if account.cap is not None:
            self._allowed[account.holder] = account.cap
        told, before = list[ChargedOrder](), NEWEST
        names, who = [self.dataset], self._analyst
        while page := ledger.asked(names, analyst=who, before=before, limit=_PAGE):
            told, before = [*told, *page], page[-1].sequence
        self.asked, self._spent = len(told), {}
        for one in told:
            for key, took in one.debits.items() if one.order.analyst == self._analyst else ():
                gone = self._spent.get(Holder.read(key), (0, 0))
                self._spent[Holder.read(key)] = gone[0] + took[0], gone[1] + took[1]
            text = one.order.asked
            if one.order.kind == "query" and text is not None and text not in self._charges:
                price = StoredOrder.parse(one.order.plan).price
                known = self._prices.setdefault(
                    text, {"epsilon": price.epsilon, "delta": price.delta}
                )
                if one.answered is not None and known["epsilon"] == price.epsilon:
                    self._charges[text] = one.sequence
        self._spent[account.holder] = account.spent

    def _touched(self) -> list[Account]:
        """The accounts that a question is charged to, by the price of one."""
        datasets = self._curator.datasets()
        if not datasets.get(self.dataset):
            raise InputError(
                f"there is no dataset {self.dataset}",
                why=f"known are: {', '.join(datasets) or 'none yet'}",
                fix="name one of these",
            )
        table = datasets[self.dataset][0]
        question = self._curator.table(table).agg(n=count())  # which is priced, and never asked
        price: dict[str, Any] = {"epsilon": Fraction(1, 10), "analyst": self._analyst}
        try:
            return list(self._curator.cost(question, **price))
        except QueryRefused as refused:
            raise (self._uncapped() if refused.code == "per-person" else refused) from None

    def _uncapped(self) -> InputError:
        return InputError(
            f"a workbook of {self.dataset}, which has no budget for all people together",
            why="every person has a budget of their own, of which no share can be told",
            fix="ask with an epsilon: curator.sql(..., epsilon=0.1)",
        )

    def _bill(self, text: str, price: Mapping[str, Any]) -> dict[Account, Charge]:
        return self._curator.cost(text, analyst=self._analyst, **price)

    # --- asking ---------------------------------------------------------------------------------

    def sql(self, text: str, *, epsilon: Real | None = None) -> "Release":
        """Answer a question for an equal part of what is left, or for an epsilon of its own."""
        with self._lock:
            if self._ledger is not None:
                self._look(self._ledger)
            price = self._price(text, epsilon)
            told = self._repeated(text, price)
            if told is not None:
                return told
            bill = self._bill(text, price)
            self._check(bill)
            before = {one.holder: one.spent for one in bill}
            try:
                answer = self._curator.sql(text, analyst=self._analyst, **price)
            finally:
                self._count(before, bill)
            self._prices[text], self._told[text] = price, answer
            return answer

    def _repeated(self, text: str, price: Mapping[str, Any]) -> "Release | None":
        """The answer to a question that was asked; asked anew it would be charged on newer data."""
        if self._prices.get(text, {}).get("epsilon") != price["epsilon"]:
            return None
        if text not in self._told and text in self._charges and self._ledger is not None:
            stored = self._ledger.release(self._charges[text])
            if stored is not None:
                self._told[text] = Release.from_bytes(stored)
        return self._told.get(text)

    def explain(self, text: str, *, epsilon: Real | None = None) -> "Explanation":
        """Cost and expected error of a question at this workbook's price; charges nothing."""
        with self._lock:
            price = self._price(text, epsilon)
        return self._curator.explain(text, analyst=self._analyst, **price)

    def _check(self, bill: Mapping[Account, Charge]) -> None:
        """Refuse what exceeds the share, or comes after the last question."""
        over = [one for one, cost in bill.items() if self._used(one, cost, 1) > 1]
        if over or self.asked >= self.questions:
            why = f"its {self.questions} questions are asked"
            raise self._refusal("this one costs more than is left of the share" if over else why)

    def _refusal(self, why: str) -> BudgetError:
        fix = "open another workbook, or pass a smaller epsilon"
        return BudgetError(f"{self!r}", why=why, fix=fix, asked=1.0, left=float(self.left))

    def _count(self, before: Mapping[Holder, Units], bill: Mapping[Account, Charge]) -> None:
        """Note what was charged: nothing where no account has moved.

        Why: what others are charged meanwhile may be taken for this question's, up to its price;
        so the share is never exceeded.
        """
        if self._ledger is not None:
            self._look(self._ledger)
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

        Why: a cost grows with epsilon, or with its square. Each try comes nearer to the part, and
        one that exceeds it is not taken.
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is given back: unspent budget was never taken."""


def _part(left: Charge, part: Fraction) -> Charge:
    """A part of a charge, in whole units rounded down."""
    amounts = (Fraction(int(one * part), UNITS) for one in (left.units, left.delta_units))
    return Charge(*amounts, measure=left.measure, neighbours=left.neighbours)
