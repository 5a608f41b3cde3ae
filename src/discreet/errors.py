"""The one exception tree.

    DiscreetError ├── InputError (also a ValueError)   a parameter or a schema is wrong ├──
    QueryRefused                     a question cannot be answered privately, or not at all ├──
    EngineError                      the engine that holds the data failed ├── BudgetError the price
    does not fit what is left ├── LedgerError                      what was spent cannot be read,
    written or trusted ├── AccessError                      the caller is not authenticated or not
    allowed ├── ServiceError                     a server could not be reached, or broke off └──
    InvariantBroken                  a guarantee could not be kept; nothing was released

Every message says what happened, why, and what to do. Messages name parameters, columns and
public bounds; they never hold a value from private data, because an error is an output too.
"""

import copyreg


class DiscreetError(Exception):
    """Anything this package raises on purpose.

    Example:
        >>> raise InputError("scale is -1", why="noise has a width", fix="pass scale > 0")
        Traceback (most recent call last):
        discreet.errors.InputError: scale is -1: noise has a width. Fix: pass scale > 0.
    """

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        super().__init__(f"{what}: {why}. Fix: {fix}.")
        self.what = what
        self.why = why
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        # Without `__init__`, whose arguments differ: an error crosses a process pool whole.
        made = copyreg.__newobj__  # type: ignore[attr-defined] # typeshed leaves it out
        return made, (type(self), *self.args), self.__dict__


class InputError(DiscreetError, ValueError):
    """A parameter or a schema is wrong; nothing was computed."""


class QueryRefused(DiscreetError):  # noqa: N818 - a sentence reads better than a suffix
    """A question cannot be answered privately, or not at all; nothing was charged.

    `code` names the reason for programs. `start` and `end` are offsets into the SQL text of the
    part that is refused (None for questions that were not asked in SQL). `fix` is the nearest
    question that works.
    """

    def __init__(
        self,
        what: str,
        *,
        why: str,
        fix: str,
        code: str,
        start: int | None = None,
        end: int | None = None,
    ) -> None:
        super().__init__(what, why=why, fix=fix)
        self.code = code
        self.start = start
        self.end = end


class EngineError(DiscreetError):
    """The engine that holds the data failed; the text never holds what it said about the data."""


class BudgetError(DiscreetError):
    """The price does not fit what is left; nothing was charged.

    `asked` and `left` are in the unit of the budget that refused.
    """

    def __init__(self, what: str, *, why: str, fix: str, asked: float, left: float) -> None:
        super().__init__(what, why=why, fix=fix)
        self.asked = asked
        self.left = left


class LedgerError(DiscreetError):
    """The ledger cannot be read, written or trusted, so nothing is answered."""


class AccessError(DiscreetError):
    """The caller is not authenticated or not allowed; nothing was computed."""


class ServiceError(DiscreetError):
    """A server could not be reached, is busy, or broke off.

    What was charged before it broke off stays charged once: asking the same again, with the same
    request name, finds the answer.
    """


class InvariantBroken(DiscreetError):  # noqa: N818 - a sentence reads better than a suffix
    """A guarantee could not be kept, so nothing was released (fail closed)."""
