"""Is the ledger unchanged? Reads every entry and trusts none of the derived tables.

`Replay` computes the totals again, from the entries alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from discreet.curator.ledger.account_cache import COMMITTED, ROOT, AccountTree
from discreet.curator.ledger.account_changes import KINDS, carry
from discreet.curator.ledger.accounts import COLUMNS, Account, Holder, cap_units, cost_units
from discreet.curator.ledger.accounts import dataset as dataset_holder
from discreet.curator.ledger.migrations import NOTED, Dialect, Execute
from discreet.curator.ledger.orders import MEASURES, Entry, Head, digest
from discreet.curator.ledger.witness import Sighting
from discreet.curator.progress import tell
from discreet.errors import DiscreetError
from discreet.privacy.budgets.charges import Charge, read_stated
from discreet.privacy.guarantees.neighbours import Neighbours

_ATTESTED: Final = 4
"""From this version on an entry says what it leaves of the accounts that it changes."""

_DEBITS: Final = frozenset({"charged", "shared"})
_OWN: Final = frozenset(KINDS.values()) | {"raised", "lowered", "admitted"}
_CHANGES: Final = _DEBITS | _OWN


class Replay:
    """Accounts, members and open charges as the entries say they are.

    Why: what a ledger claims is a function of its entries; the derived tables are there for speed.
    Replaying goes through the same rules that wrote them, so that an entry which overspends is
    refused here as it was there.
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
                account, cap = self.accounts[facts["account"]], Charge.from_dict(facts["cap"])
                capped = replace(account, cap=cap_units(cap), stated=cap.stated)
                self.accounts[facts["account"]] = carry(capped, [])
            case "admitted":
                key, member = facts["account"], facts["member"]
                spent = [self.accounts[member]] if member in self.accounts else []
                self.accounts[key] = carry(self.accounts[key], spent)
                self.members.add((member, key))
            case "charged":
                self._charge(entry)
            case "shared":
                within = Holder.read(next(iter(facts["debits"]))).within or ""
                self._debit(facts["debits"], None, dataset_holder(within).key)
                self.shares.update((facts["charge"], key) for key in facts["debits"])
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

        The next step of a released charge may fail, which counts against its caller, or the analyst
        of the charge; again only after an owner has readmitted them.
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


PAGE: Final = 2000
"""Entries read at a time."""

_ROWS: Final = """SELECT e.sequence, e.hash, e.body, c.request, c.question, {beside},
c.released, d.sequence, r.bytes, {measured} FROM entries e
LEFT JOIN charges c ON c.sequence = e.sequence
LEFT JOIN charges d ON d.released = e.sequence LEFT JOIN releases r ON r.charge = d.sequence
{measuring} WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?"""
_MEASURING: Final = """LEFT JOIN charges f ON f.measured = e.sequence
LEFT JOIN measurements m ON m.charge = f.sequence"""


@dataclass(frozen=True, slots=True)
class Problem:
    """The first problem found and its entry; 0 if it belongs to no single entry."""

    sequence: int
    what: str

    def __str__(self) -> str:
        return f"entry {self.sequence}: {self.what}" if self.sequence else self.what


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `verify`."""

    entries: int
    head: Head
    pending: int
    problem: Problem | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem is None


class _Wrong(Exception):  # noqa: N818 - carries a problem to its report
    def __init__(self, sequence: int, what: str) -> None:
        super().__init__(what)
        self.problem = Problem(sequence, what)


def verify(execute: Execute, dialect: Dialect, seen: Sighting | None) -> Report:
    """Check the chain, the totals, the charges and the stored releases; the first fault is named.

    Guarantee:
        An edited, removed, added or reordered entry, total, cap, charge or release is found, as
        long as the head that the witness saw (or that somebody noted) is not forged as well.
    """
    replay, head, count = Replay(), Head(), 0
    try:
        for row in _rows(execute):
            count += 1
            head = _follow(head, row, replay, seen)
        _check_tables(execute, replay, head, seen)
        # A damaged index would hide a charge from those who look for it.
        if dialect == "sqlite" and execute("PRAGMA integrity_check(1)") != [("ok",)]:
            raise _Wrong(0, "the file is damaged where no entry shows it")  # noqa: TRY301
    except _Wrong as wrong:
        return Report(count, head, len(replay.open), wrong.problem)
    return Report(count, head, len(replay.open))


def _rows(execute: Execute) -> Iterator[tuple[Any, ...]]:
    # Believed no further: see _check_tables.
    [(version, total)] = execute("SELECT version, sequence FROM ledger")
    sql = _ROWS.format(
        beside="c.analyst, c.dataset" if version > 1 else "NULL, NULL",
        measured="f.sequence, f.released, m.bytes" if version > 2 else "NULL, NULL, NULL",
        measuring=_MEASURING if version > 2 else "",
    )
    last = 0
    while page := execute(sql, (last, PAGE)):
        yield from page
        last = page[-1][0]
        tell("checking entries", last, total)


def _follow(head: Head, row: tuple[Any, ...], replay: Replay, seen: Sighting | None) -> Head:
    sequence, hash_, body = row[:3]
    if sequence != head.sequence + 1:
        raise _Wrong(head.sequence + 1, "it is missing")
    if digest(body) != hash_:
        raise _Wrong(sequence, "its text was changed")
    try:
        entry = Entry.read(body)
    except (LookupError, TypeError, ValueError) as wrong:
        raise _Wrong(sequence, "it cannot be read") from wrong
    if (entry.sequence, entry.previous) != (sequence, head.hash):
        raise _Wrong(sequence, "it does not follow the entry before it")
    if seen is not None and seen.head.sequence == sequence and seen.head.hash != hash_:
        raise _Wrong(sequence, "it is not the entry that the witness saw")
    _check_beside(entry, row)
    try:
        replay.take(entry)
    except (DiscreetError, LookupError, TypeError, ValueError, AttributeError) as wrong:
        raise _Wrong(sequence, "it breaks the rules of accounts") from wrong
    return Head(sequence, hash_)


def _check_beside(entry: Entry, row: tuple[Any, ...]) -> None:
    """Compare what the other tables say about one entry with the entry."""
    sequence, _, _, request, question, analyst, dataset, answered, *beside = row
    ends, release, measures, outcome, measured = beside
    facts, kind = entry.facts, entry.kind
    agrees = (
        (kind == "charged") is (question is not None)
        and (question is None or (facts["request"], facts["question"]) == (request, question))
        and (analyst is None or (entry.by, facts["dataset"]) == (analyst, dataset))
        and (kind == "released" or (kind == "failed" and "step" not in facts)) is (ends is not None)
        and (kind == "measured") is (measures is not None)
        and all(one in (None, facts.get("charge")) for one in (ends, measures))
    )
    if not agrees:
        raise _Wrong(sequence, "the table of charges disagrees with it")
    if answered is not None and answered <= sequence:
        raise _Wrong(sequence, "its answer is older than its charge")
    if kind == "released" and not _is_genuine(release, facts):
        raise _Wrong(sequence, "the stored release is not the one it speaks of")
    if kind == "failed" and release is not None:
        raise _Wrong(sequence, "there is a release of a question that failed")
    if kind == "measured" and (measured is None) is (outcome is None):
        raise _Wrong(sequence, "the stored measurement is lost, or was not removed")
    if measured is not None and not _is_genuine(measured, facts):
        raise _Wrong(sequence, "the stored measurement is not the one it speaks of")


def _is_genuine(stored: Any, facts: Mapping[str, Any]) -> bool:
    return stored is not None and digest(bytes(stored)) == facts["digest"]


def _check_tables(execute: Execute, replay: Replay, head: Head, seen: Sighting | None) -> None:
    kept = execute("SELECT id, version, sequence, hash FROM ledger")
    if kept != [(replay.ledger, replay.version, head.sequence, head.hash)]:
        raise _Wrong(0, f"the kept head is not entry {head.sequence}, the last one")
    if seen is not None and seen.ledger != replay.ledger:
        raise _Wrong(0, "the witness saw another ledger")
    if seen is not None and seen.head.sequence > head.sequence:
        raise _Wrong(head.sequence + 1, "it is missing, and the witness saw it")
    _check_accounts(execute, replay)
    counts = execute("SELECT (SELECT count(*) FROM charges), (SELECT count(*) FROM releases)")
    if counts != [(replay.charged, replay.released)]:
        raise _Wrong(0, "there are charges or releases without an entry")
    if replay.version > 2:
        _check_open(execute, replay)
    if replay.version > 3:
        notes = set(execute("SELECT sequence, kind, subject FROM subjects"))
        if notes != replay.notes:
            raise _Wrong(0, "what is noted about entries is not what they say")
    if replay.version > 4:
        rows = execute("SELECT charge, number, entry, bytes FROM steps")  # kept as they were told
        if {(*row[:3], digest(bytes(row[3]))) for row in rows} != replay.stepped:
            raise _Wrong(0, "the stored steps of charges are not those of the entries")


def _check_open(execute: Execute, replay: Replay) -> None:
    """Measurements without an answer, and failures that count."""
    if {charge for (charge,) in execute("SELECT charge FROM measurements")} != replay.measured:
        raise _Wrong(0, "there are measurements without an entry")
    counted = {(one, 1, who) for one, (who, _) in replay.failures.items()}
    forgiven = {(one, 2, None) for one in replay.forgiven}
    who = "COALESCE(failed_by, analyst)" if replay.version > 5 else "analyst"
    told = f"SELECT sequence, failed, CASE failed WHEN 1 THEN {who} END"
    if set(execute(f"{told} FROM charges WHERE failed <> 0")) != counted | forgiven:
        raise _Wrong(0, "the failures that are counted are not those of the entries")


def _check_accounts(execute: Execute, replay: Replay) -> None:
    columns = COLUMNS if replay.version > 3 else COLUMNS.replace("stated, entry", "NULL, 0")
    rows = {row[0]: row for row in execute(f"SELECT {columns} FROM accounts")}  # noqa: S608 - a constant
    for key, account in replay.accounts.items():
        if rows.pop(key, None) != account.row():
            raise _Wrong(
                0, f"the total or cap of {account.holder} is not what the entries add up to"
            )
    if rows:
        raise _Wrong(0, "there is an account without an entry")
    if set(execute("SELECT member, account FROM members")) != replay.members:
        raise _Wrong(0, "the members of groups or links are not those of the entries")
    if set(execute("SELECT charge, account FROM shares")) != replay.shares:
        raise _Wrong(0, "the shared answers are not those of the entries")
