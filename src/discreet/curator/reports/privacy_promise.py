"""The promise to the people in a dataset, as text to print."""

from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from discreet.answer.present.release_text import BY_ROW, by_period
from discreet.curator.ledger.accounts import Account
from discreet.plan.schema import EachRow, KeyPath, Person, PersonPeriod, Table, Unit
from discreet.privacy import Filter, Neighbours
from discreet.privacy.budgets.charges import EPSILON, Charge
from discreet.privacy.guarantees.interpretation import read

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

_USUAL: Final = Fraction(1, 10**6)
_DIGITS: Final = 6


def promise(curator: "Curator", dataset: str) -> str:
    """The privacy unit, the bound on its loss, and what that does not cover."""
    tables = private_tables(curator, dataset)
    units = [unit_words(one.unit) for one in tables]
    less = dict.fromkeys(one for table in tables for one in _less(table.unit))
    account = curator.budget(dataset)
    limit = account.limit or account.each
    assert limit is not None  # noqa: S101 - datasets, or their people, always have a cap
    about = {
        Neighbours.ADD_REMOVE: "whether they are in the data at all",
        Neighbours.CHANGE_ONE: "what the data says about them",
    }[limit.neighbours]
    return " ".join(
        (
            f"Answers about the dataset {dataset} have differential privacy.",
            f"They protect {' and '.join(dict.fromkeys(units))}: {about} stays hidden in noise.",
            "All answers that will ever be given about it, together, keep this promise.",
            *less,
            _odds(limit),
            "The guarantee limits what taking part adds to what is known. It does not hide facts",
            "about people at large, which the answers are meant to show.",
        )
    )


def private_tables(curator: "Curator", dataset: str) -> list[Table]:
    """The tables of a dataset."""
    tables = (curator.schema.tables[name] for name in curator.datasets()[dataset])
    return [one for one in tables if isinstance(one, Table)]


def _less(unit: Unit) -> list[str]:
    """What the odds of a person mean where less than a whole person is protected."""
    match unit:
        case EachRow():
            return [BY_ROW]
        case PersonPeriod():
            return by_period(unit.who)
    return []


def unit_words(unit: Unit) -> str:
    """The privacy unit in words.

    Example:
        >>> unit_words(Person("patient"))
        'each person that patient names, with all their rows'
    """
    match unit:
        case Person(column):
            return f"each person that {column} names, with all their rows"
        case KeyPath(column, table, key):
            return f"each person to whom {column} leads by {table}.{key}, with all their rows"
        case PersonPeriod(column, period, every):
            return (
                f"each person that {column} names in each {every} of {period}, {every} by {every}"
            )
        case EachRow():
            return "each row by itself, and nobody whole"


@lru_cache(maxsize=1024)
def _odds(limit: Charge) -> str:
    # The delta that was typed; a cap keeps half of it for questions and half for this sentence.
    said = 2 * limit.delta if limit.stated is None else limit.stated[1]
    slip = None if limit.measure == EPSILON else said or _USUAL
    return read(Filter(limit).guarantee, delta=slip)


def promised(account: Account) -> dict[str, float]:
    """Epsilon, delta, rho or mu^2 of a cap as its owner typed it; nothing if there is no cap.

    Caps that older ledgers kept without what was typed are converted, and rounded up.

    Example:
        >>> from discreet.curator.ledger.accounts import dataset
        >>> from discreet.curator.budget import Budget
        >>> promised(Account.under(dataset("visits"), Budget(epsilon=3, delta=1e-6).cap()))
        {'epsilon': 3.0, 'delta': 1e-06}
    """
    cap = account.limit or account.each
    if cap is None:
        return {}
    if cap.stated is not None:
        named = zip(("epsilon", "delta"), cap.stated, strict=True)
        return {name: float(amount) for name, amount in named if amount}
    if cap.measure == EPSILON or not cap.delta:
        slip = {"delta": float(cap.delta)} if cap.delta else {}
        return {cap.measure.name: float(cap.amount), **slip}
    return dict(_converted(cap))


@lru_cache(maxsize=256)
def _converted(cap: Charge) -> tuple[tuple[str, float], ...]:
    # A budget in epsilon and delta leaves half of delta to questions and half to the filter.
    delta, upwards = 2 * cap.delta, Context(prec=_DIGITS, rounding=ROUND_CEILING)
    epsilon = Filter(cap).guarantee.epsilon(delta).upper
    return ("epsilon", float(upwards.create_decimal(repr(float(epsilon))))), ("delta", float(delta))
