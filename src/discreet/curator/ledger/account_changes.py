"""Opening accounts, setting their caps and letting members in. Each is an entry with its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from discreet.curator.confusables import skeletons
from discreet.curator.ledger.account_cache import ATTESTED, BY_ENTRY, after, read_attested
from discreet.curator.ledger.accounts import COLUMNS, Account, Holder, cap_units, read_holder
from discreet.curator.ledger.accounts import dataset as dataset_holder
from discreet.curator.ledger.orders import named
from discreet.curator.ledger.transaction import Transaction
from discreet.errors import BudgetError, InputError
from discreet.privacy.budgets.charges import Charge

KINDS = {
    "dataset": "opened",
    "analyst": "granted",
    "group": "grouped",
    "link": "linked",
    "workbook": "set aside",
}
"""How the ledger calls the opening of an account."""

OPENED: Final = "workbook opened"
"""The kind of entry that says which shares a workbook has."""


def find(transaction: Transaction, holder: Holder) -> Account | None:
    """The account of a holder."""
    sql = f"SELECT {ATTESTED} FROM accounts {BY_ENTRY} WHERE key = ?"  # noqa: S608 - constants
    rows = transaction.read(sql, (read_holder(holder).key,))
    found = read_attested(rows[0]) if rows else None
    if transaction.tree is not None:
        transaction.tree.check(holder.key, found)
    return found


def existing(transaction: Transaction, holder: Holder) -> Account:
    """The account of a holder; InputError if there is none."""
    account = find(transaction, holder)
    if account is not None:
        return account
    raise InputError(
        f"{holder} has no account",
        why="none was opened for it",
        fix="open one, or look at the names in ledger.accounts()",
    )


def open_account(
    transaction: Transaction,
    holder: Holder,
    cap: Charge | None,
    *,
    by: str,
    members: Sequence[Holder] = (),
    reason: str = "",
    per_person: bool = False,
) -> Account:
    """Open an account under a cap; `per_person` says that each person has it for themselves.

    A link or a group starts with what its members have spent. `cap` None, for groups and links,
    counts and never refuses. An analyst who has asked without an account keeps what is spent.
    """
    named(by, "by")
    known = find(transaction, holder)
    check_members(holder, members)
    under = Account.per_person if per_person else Account.under
    account = _uncapped(transaction, holder, members) if cap is None else under(holder, cap)
    if known is not None and (known.cap is not None or holder.kind != "analyst"):
        raise _taken(holder)
    if holder.within is not None:
        existing(transaction, dataset_holder(holder.within))
    check_unlike(transaction, [*([] if known else [holder]), *members])
    before = [known] if known else [find(transaction, member) for member in members]
    if holder.kind == "link" and None in before:
        raise InputError(
            f"{holder} names a dataset without an account",
            why="only datasets of this ledger can be linked",
            fix="open the dataset first",
        )
    found = [one for one in before if one is not None]
    if sum(one.is_per_person and one.spent != (0, 0) for one in found) > 1:
        raise unshared()
    opened = carry(account, found)
    facts = _facts(opened, members, reason)
    opened = _put(transaction, opened, KINDS[holder.kind], by, facts, new=known is None)
    for member in members:
        transaction.insert("members (member, account)", (member.key, holder.key))
    return opened


def unshared() -> InputError:
    """The refusal to link datasets whose people could not share the accounts that they have.

    Why: what two datasets charged one person separately may exceed a limit together; and balances
    are folded in one order, for all datasets from the first charge on.
    """
    return InputError(
        "a link of datasets whose people cannot share accounts",
        why="all need the same unit and Budget.per_person, and may be in no other link; at most "
        "one may have been asked about; and the link has no budget of its own",
        fix="link datasets right after they are added",
    )


def open_workbook(
    transaction: Transaction, caps: Mapping[Holder, Charge], *, by: str, note: Mapping[str, Any]
) -> None:
    """Open all accounts of a workbook and note its shares, or nothing; {} notes nothing."""
    named(by, "by")
    accounts = [Account.under(holder, cap) for holder, cap in caps.items()]
    for holder in caps:
        existing(transaction, dataset_holder(str(holder.within)))
        if find(transaction, holder) is not None:
            raise _taken(holder)
    check_unlike(transaction, list(caps))
    if note:
        transaction.append(OPENED, by, note)
    for account in accounts:
        _put(transaction, account, KINDS["workbook"], by, _facts(account, (), ""), new=True)


def check_unlike(transaction: Transaction, holders: Sequence[Holder]) -> None:
    """Refuse new names that are hard to distinguish from others: a cap would hold one of two.

    The other one is not named: the caller may not know of it.
    """
    known, taken = _taken_names(transaction)
    new: dict[tuple[str, str | None, int, str], str] = {}
    for holder in holders:
        read = _as_read(holder)
        others = {taken.get(one) or new.setdefault(one, holder.key) for one in read}
        if holder.key not in known and others != {holder.key}:
            raise InputError(
                f"{holder} reads like another one that is known",
                why="people cannot tell names apart that differ in case, width, look-alike or "
                "invisible letters alone, and a cap would hold one of the two",
                fix="use the name that is known, or quite another",
            )


_LEDGERS: Final = 8
_TAKEN: dict[str, tuple[tuple[int, int], set[str], dict[Any, str]]] = {}
"""The names of a ledger's accounts and members as they are read, by how many there are."""


def _taken_names(transaction: Transaction) -> tuple[set[str], dict[Any, str]]:
    """Known names, by the form in which look-alikes are equal.

    Why: accounts and members only grow, so they are counted first; reading ten thousand names takes
    a tenth of a second, and each new name requires it.
    """
    [counts] = transaction.read(
        "SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM members)"
    )
    before, known, taken = _TAKEN.get(transaction.ledger, ((0, 0), set(), {}))
    if counts == before:
        return known, taken
    rows = transaction.read("SELECT key FROM accounts UNION SELECT member FROM members")
    keys = {key for (key,) in rows}
    if known - keys:  # an older copy of the ledger was adopted
        known, taken = set(), {}
    taken = dict(taken)
    for key in keys - known:
        for one in _as_read(Holder.read(key)):
            taken.setdefault(one, key)
    while len(_TAKEN) >= _LEDGERS:
        _TAKEN.pop(next(iter(_TAKEN)), None)
    _TAKEN[transaction.ledger] = counts, keys, taken
    return keys, taken


def _as_read(holder: Holder) -> list[tuple[str, str | None, int, str]]:
    read = enumerate(skeletons(holder.name))
    return [(holder.kind, holder.within, way, name) for way, name in read]


def _uncapped(transaction: Transaction, holder: Holder, members: Sequence[Holder]) -> Account:
    """An account that counts, as its dataset or its first member does, and never refuses."""
    like = dataset_holder(holder.within) if holder.within else next(iter(members), holder)
    if holder.kind in ("group", "link") and like != holder:
        model = existing(transaction, like)
        return Account(holder, model.measure, model.neighbours, None)
    raise InputError(
        f"{holder} without a cap",
        why="only groups, and links of at least one dataset, may count without one",
        fix="pass a cap",
    )


def set_cap(
    transaction: Transaction, holder: Holder, cap: Charge, *, by: str, reason: str
) -> Account:
    """Raise or lower a cap, not below what is spent; an entry says who did it and why."""
    named(by, "by")
    named(reason, "reason")
    account = existing(transaction, holder)
    if account.is_per_person:
        raise InputError(
            f"a new cap for {holder}",
            why="its people have budgets of their own, for life",
            fix="lower a person's limit (limit_person), or ask less",
        )
    if not account.counts_like(cap):
        raise _otherwise(account, holder)
    capped = replace(account, cap=cap_units(cap), stated=cap.stated)
    _check_covers(capped)
    grown = account.cap is not None and (capped.cap or account.cap) >= account.cap
    facts = {"account": holder.key, "cap": cap.to_dict(), "reason": reason}
    return _put(transaction, capped, "raised" if grown else "lowered", by, facts)


def admit(
    transaction: Transaction, holder: Holder, member: Holder, *, by: str, reason: str = ""
) -> Account:
    """Let an analyst into a group or a dataset into a link, with what is already spent."""
    named(by, "by")
    check_members(holder, [member])
    account = existing(transaction, holder)
    spender = find(transaction, member)
    if spender is None and member.kind == "dataset":
        spender = existing(transaction, member)
    sql = "SELECT 1 FROM members WHERE member = ? AND account = ?"
    if transaction.read(sql, (member.key, holder.key)):
        return account
    check_unlike(transaction, [member])
    grown = carry(account, [] if spender is None else [spender])
    facts = {"account": holder.key, "member": member.key, "reason": reason}
    grown = _put(transaction, grown, "admitted", by, facts)
    transaction.insert("members (member, account)", (member.key, holder.key))
    return grown


def check_members(holder: Holder, members: Sequence[Holder]) -> None:
    """Groups have analysts of their dataset, links have datasets, others have nobody."""
    for one in (holder, *members):
        read_holder(one)
    match holder.kind:
        case "group":
            right = all(m.kind == "analyst" and m.within == holder.within for m in members)
        case "link":
            right = all(m.kind == "dataset" for m in members)
        case _:
            right = not members
    if right and len(set(members)) == len(members):
        return
    raise InputError(
        f"members of {holder}",
        why="a group has analysts of its dataset and a link has datasets, each once",
        fix="pass such holders",
    )


def carry(account: Account, spenders: Sequence[Account]) -> Account:
    """The account with what was already spent; InputError if that cannot be counted or covered."""
    spent = account.spent
    for one in spenders:
        if one.spent != (0, 0) and not account.counts_like(one):
            raise _otherwise(one, account.holder)
        spent = spent[0] + one.spent[0], spent[1] + one.spent[1]
    carried = replace(account, spent=spent)
    _check_covers(carried)
    return carried


def _check_covers(account: Account) -> None:
    try:
        _ = account.filter
    except BudgetError:
        raise InputError(
            f"the cap of {account.holder} is below what is spent",
            why=f"{float(account.total.amount):.6g} {account.measure.name} and delta "
            f"{float(account.total.delta):.6g} are gone",
            fix="set a cap of at least that",
        ) from None


def _put(
    transaction: Transaction,
    account: Account,
    kind: str,
    by: str,
    facts: Mapping[str, object],
    *,
    new: bool = False,
) -> Account:
    """Write an account and the entry that says why it is so."""
    entry = transaction.append(kind, by, {**facts, "after": after([account])})
    account = replace(account, entry=entry.sequence)
    if new:
        transaction.insert(f"accounts ({COLUMNS})", account.row())
    else:
        key, *values = account.row()
        columns = COLUMNS.removeprefix("key, ")
        marks = ", ".join("?" * len(values))
        sql = f"UPDATE accounts SET ({columns}) = ({marks}) WHERE key = ?"  # noqa: S608 - constants
        transaction.update(sql, (*values, key))
    return account


def _facts(account: Account, members: Sequence[Holder], reason: str) -> dict[str, object]:
    stated = account.stated if account.is_per_person else None
    return {
        **({} if stated is None else {"per_person": " ".join(map(str, stated))}),
        "account": account.holder.key,
        "measure": account.measure.name,
        "neighbours": account.neighbours.value,
        "cap": None if account.limit is None else account.limit.to_dict(),
        "members": [member.key for member in members],
        "reason": reason,
    }


def _taken(holder: Holder) -> InputError:
    return InputError(
        f"{holder} has an account already",
        why="an account is opened once, so that what was spent stays spent",
        fix="change its cap (raise_budget, or `discreet budget raise`), or use another name",
    )


def _otherwise(account: Account, holder: Holder) -> InputError:
    return InputError(
        f"{holder} would not count as {account.holder} does",
        why=f"{account.holder} counts {account.measure.name} under {account.neighbours.value}, "
        "and what is spent cannot be converted",
        fix="state the budget in the same measure, for the same neighbours",
    )
