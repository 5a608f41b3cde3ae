"""The totals again, from the entries alone."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from discreet.curator.ledger.account_cache import COMMITTED, ROOT, AccountTree
from discreet.curator.ledger.account_changes import KINDS, carry
from discreet.curator.ledger.accounts import MEASURES, Account, Holder, cap_units, cost_units
from discreet.curator.ledger.accounts import dataset as dataset_holder
from discreet.curator.ledger.entries import Entry
from discreet.curator.ledger.migrations import NOTED
from discreet.privacy.budgets.charges import Charge, read_stated
from discreet.privacy.guarantees.neighbours import Neighbours

_ATTESTED: Final = 4
"""From this version on an entry says what it leaves of the accounts that it changes."""

_DEBITS: Final = frozenset({"charged", "shared"})
_OWN: Final = frozenset(KINDS.values()) | {"raised", "lowered", "admitted"}
_CHANGES: Final = _DEBITS | _OWN


class Replay:
    """Accounts, members and open charges as the entries say they are.

    Why: what a ledger claims is a function of its entries; the tables beside them are there for
    speed. Replaying goes through the same rules that wrote them, so that an entry which overspends
    is refused here as it was there.
    """

    def __init__(self) -> None:
        self.ledger: str | None = None
        self.version = 0
        self.accounts: dict[str, Account] = {}
        self.members: set[tuple[str, str]] = set()
        self.shares: set[tuple[int, str]] = set()
        self.open: dict[int, tuple[str, str]] = {}
        self.measured: set[int] = set()
        self.failures: dict[int, tuple[str, str]] = {}
        self.forgiven: set[int] = set()
        self.charged = 0
        self.released = 0
        self.notes: set[tuple[int, str, str]] = set()
        self._tree = AccountTree()
        self.done: dict[int, tuple[str, str]] = {}
        self.steps: dict[int, int] = {}
        self.stepped: set[tuple[int, int, int, str]] = set()

    def take(self, entry: Entry) -> None:
        """Apply one entry; any error means that it could not have been written by the rules."""
        facts = entry.facts
        self._apply(entry, facts)
        subject = facts.get(NOTED[entry.kind]) if entry.kind in NOTED else None
        if isinstance(subject, str):
            self.notes.add((entry.sequence, entry.kind, subject))
        if "after" in facts or (self.version >= _ATTESTED and entry.kind in _CHANGES):
            self._attest(entry)

    def _attest(self, entry: Entry) -> None:
        """Check that the accounts an entry attests are those that the rules give."""
        for key, said in entry.facts["after"].items():
            self.accounts[key] = replace(self.accounts[key], entry=entry.sequence)
            if self.accounts[key].digest != said:
                raise ValueError(key)
        if self.version >= COMMITTED:
            root = self._tree.take(entry.sequence, entry.facts)
            if entry.facts[ROOT] != root:
                raise ValueError(root)
        if entry.kind in _DEBITS and entry.facts["after"].keys() != entry.facts["debits"].keys():
            raise ValueError(entry.sequence)
        if entry.kind in _OWN and entry.facts["after"].keys() != {entry.facts["account"]}:
            raise ValueError(entry.sequence)

    def _apply(self, entry: Entry, facts: Mapping[str, Any]) -> None:
        match entry.kind:
            case "founded":
                self.ledger, self.version = facts["ledger"], facts["version"]
            case "migrated":
                self.version = facts["to"]
                self._tree = AccountTree.of(self.accounts.values(), self.members)
            case "opened" | "granted" | "grouped" | "linked" | "set aside":
                self._open(entry.kind, facts)
            case "raised" | "lowered":
                self._cap(facts)
            case "admitted":
                self._admit(facts["account"], facts["member"])
            case "charged":
                self._charge(entry)
            case "shared":
                self._share(entry)
            case "measured":
                self._measure(facts["charge"])
            case "released":
                self.done[facts["charge"]] = self.open.pop(facts["charge"])
                self.measured.discard(facts["charge"])
                self.released += 1
            case "stepped":
                self._step(entry)
            case "failed":
                self._fail(entry.by, facts)
            case "readmitted":
                self._readmit(facts)

    def _open(self, kind: str, facts: Mapping[str, Any]) -> None:
        holder, members = Holder.read(facts["account"]), facts["members"]
        if KINDS[holder.kind] != kind:
            raise ValueError(kind)
        limit = None if facts["cap"] is None else Charge.from_dict(facts["cap"])
        if limit is None:
            about = MEASURES[facts["measure"]], Neighbours(facts["neighbours"])
            each = facts.get("per_person")
            account = Account(holder, *about, None, stated=each and read_stated(each))
        else:
            account = Account.under(holder, limit)
        before = [self.accounts.get(key) for key in [facts["account"], *members]]
        self.accounts[facts["account"]] = carry(account, [one for one in before if one])
        self.members.update((member, facts["account"]) for member in members)

    def _cap(self, facts: Mapping[str, Any]) -> None:
        account, cap = self.accounts[facts["account"]], Charge.from_dict(facts["cap"])
        capped = replace(account, cap=cap_units(cap), stated=cap.stated)
        self.accounts[facts["account"]] = carry(capped, [])

    def _admit(self, key: str, member: str) -> None:
        spender = self.accounts.get(member)
        self.accounts[key] = carry(self.accounts[key], [spender] if spender else [])
        self.members.add((member, key))

    def _charge(self, entry: Entry) -> None:
        facts = entry.facts
        own = dataset_holder(facts["dataset"]).key
        if own not in facts["debits"]:
            raise ValueError(own)
        prices = _priced(tuple(tuple(sorted(price.items())) for price in facts["prices"]))
        self._debit(facts["debits"], prices, own)
        self.open[entry.sequence] = entry.by, facts["dataset"]
        self.charged += 1

    def _measure(self, charge: int) -> None:
        if charge not in self.open or charge in self.measured:
            raise ValueError(charge)
        self.measured.add(charge)

    def _step(self, entry: Entry) -> None:
        """Steps follow a release, one by one."""
        charge, number = entry.facts["charge"], entry.facts["number"]
        if charge not in self.done or number != self.steps.get(charge, 0) + 1:
            raise ValueError(charge)
        self.steps[charge] = number
        self.stepped.add((charge, number, entry.sequence, entry.facts["digest"]))

    def _fail(self, by: str, facts: Mapping[str, Any]) -> None:
        """A charge that was measured has an answer, sooner or later; a cancelled one counts not.

        The next step of a released charge may fail, which counts against whoever asked for it, or
        the analyst of the charge; again only after an owner has readmitted them.
        """
        charge = facts["charge"]
        if "step" in facts:
            analyst, within = self.done[charge]
            asker = by or analyst, within
            if charge in self.failures or facts["step"] != self.steps.get(charge, 0) + 1:
                raise ValueError(charge)
            self.forgiven.discard(charge)
        else:
            asker = self.open.pop(charge)
            if charge in self.measured:
                raise ValueError(charge)
        if facts.get("cancelled") is True:
            self.forgiven.add(charge)
        else:
            self.failures[charge] = asker

    def _readmit(self, facts: Mapping[str, Any]) -> None:
        asker = facts["analyst"], facts["dataset"]
        failed = sorted(charge for charge, who in self.failures.items() if who == asker)
        if (len(failed), failed) != (facts["failures"], facts.get("charges", failed)):
            raise ValueError(asker)
        for charge in failed:
            del self.failures[charge]
        self.forgiven.update(failed)

    def _share(self, entry: Entry) -> None:
        debits = entry.facts["debits"]
        self._debit(debits, None, dataset_holder(Holder.read(next(iter(debits))).within or "").key)
        self.shares.update((entry.facts["charge"], key) for key in debits)

    def _debit(
        self, debits: Mapping[str, Any], prices: Mapping[Any, tuple[int, int]] | None, own: str
    ) -> None:
        for key, (units, delta) in debits.items():
            base = self.accounts[own]  # whoever was never granted one has what the dataset counts
            account = self.accounts.get(key) or Account(
                Holder.read(key), base.measure, base.neighbours, None
            )
            cost = int(units), int(delta)
            if prices is not None and prices[account.measure, account.neighbours] != cost:
                raise ValueError(key)
            self.accounts[key] = account.after(cost)


@lru_cache(maxsize=4096)
def _priced(prices: tuple[tuple[tuple[str, str], ...], ...]) -> dict[Any, tuple[int, int]]:
    charges = [Charge.from_dict(dict(price)) for price in prices]
    return {(charge.measure, charge.neighbours): cost_units(charge) for charge in charges}
