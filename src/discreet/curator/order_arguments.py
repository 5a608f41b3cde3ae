"""Keyword arguments of orders, and the order's JSON that they make."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import Any, Final, Required, TypedDict, TypeVar, cast, get_args, get_type_hints

from discreet.answer.plan.accuracy import Accuracy
from discreet.curator.arguments import expect
from discreet.engines.reading import Reading
from discreet.rationals import Real, rational


class CallerArguments(TypedDict, total=False):
    """The caller: `analyst`; and `request`, an idempotency key that is charged once."""

    analyst: str | None
    request: str | None


class QuestionArguments(CallerArguments, total=False):
    """The price of a question: `epsilon`, or the `accuracy` that decides it, and more.

    `weights` are the weights of columns in the total error (default 1). `as_of` is a version of the
    dataset (default the newest). A quantile spends a share of its price on an interval in values,
    unless `intervals=False`. `workbook` is one that this analyst opened, whose share pays too.
    """

    epsilon: Real | None
    delta: Real | None
    accuracy: Accuracy | None
    weights: Mapping[str, Real] | None
    as_of: int | None
    intervals: bool
    workbook: str | None


class PriceArguments(CallerArguments, total=False):
    """The price of an order that only `epsilon` and `delta` decide."""

    epsilon: Required[Real]
    delta: Real | None


class SynthesisArguments(PriceArguments, total=False):
    """The options of a synthetic table.

    `bins` are those of numbers and dates, 32 unless said. A person counts for at most `max_rows`
    rows: what the table's limits say, else 1. `impossible` lists combinations of values that no row
    has, `workload` sets of columns whose marginals matter. What would need more than `max_memory`
    bytes is refused before anything is charged.
    """

    columns: Sequence[str] | None
    bins: int | Mapping[str, int] | None
    max_rows: int | None
    impossible: Sequence[Mapping[str, Any]] | None
    workload: Sequence[Sequence[str]] | None
    max_memory: int | None


class WorkloadArguments(PriceArguments, total=False):
    """The options of many counting queries at once: `bins` and `max_rows` as for a synthesis."""

    bins: int | Mapping[str, int] | None
    max_rows: int | None


class OnlineArguments(PriceArguments, total=False):
    """The options of an epoch of online counting queries.

    Those from which on the public hypothesis is `accuracy` rows off are measured, `updates` times
    at most. Each crash, and each worker that goes on, uses up one of `restarts`. `queries` is how
    many are expected.
    """

    columns: Required[Sequence[str]]
    accuracy: Real | None
    bins: int | Mapping[str, int] | None
    max_rows: int | None
    updates: int | None
    restarts: int | None
    queries: int | None
    epoch: int | None


class StreamArguments(PriceArguments, total=False):
    """The options of a standing question.

    `column` has the dates of rows, `since` is the first day (default: the lower bound of the
    column). One person counts in at most `max_periods` periods (default 1), with `max_rows` rows in
    each.
    """

    every: Required[str]
    until: Required[dt.date]
    since: dt.date | None
    column: str | None
    max_periods: int | None
    max_rows: int | None


class AppendArguments(TypedDict, total=False):
    """Declarations about appended rows.

    `through` says that rows up to that day, and the day itself, are complete: standing questions go
    on. Rows that were appended before are refused unless they are to count `again`. Texts are read
    as those that were added, unless a `reading` says otherwise.
    """

    through: dt.date | None
    again: bool
    max_table_rows: int | None
    reading: Reading | Mapping[str, Any] | None


_EXACT: Final = ("epsilon", "delta", "accuracy")
_DAYS: Final = ("since", "until", "through")


def order_spec(options: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of an order from what a caller typed; what was left out is left out.

    Example:
        >>> order_spec({"table": "visits", "epsilon": 0.1, "delta": None})
        {'table': 'visits', 'epsilon': '1/10'}
    """
    said = {name: one for name, one in options.items() if one is not None}
    for name in [one for one in said if one in _EXACT]:
        said[name] = str(rational(said[name], name))
    for name in [one for one in said if one in _DAYS]:
        expect(said[name], dt.date, name, fix=f"pass {name}=date(2026, 12, 31)")
        said[name] = dt.date.isoformat(said[name])
    return said


F = TypeVar("F", bound=Callable[..., Any])


def spelled_out(method: F) -> F:
    """Let help and completion show the arguments that `**said` stands for; refuse all others."""
    given = signature(method)
    *before, said = given.parameters.values()
    (options,) = get_args(said.annotation)
    needed, hints = options.__required_keys__, get_type_hints(options)
    caller = CallerArguments.__annotations__
    order = sorted(hints, key=lambda name: (name not in needed, name in caller))
    fields = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if name in needed else None,
            annotation=hints[name],
        )
        for name in order
    ]
    whole = given.replace(parameters=[*before, *fields])

    @wraps(method)
    def checked(*args: Any, **named: Any) -> Any:
        if extra := sorted(named.keys() - whole.parameters.keys()):
            known = ", ".join(list(whole.parameters)[1:])
            raise TypeError(f"{method.__name__}() takes no {extra[0]!r}; it takes {known}")
        return method(*args, **named)

    checked.__signature__ = whole  # type: ignore[attr-defined] # what inspect reads
    checked.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{cleandoc(options.__doc__)}"
    return cast("F", checked)
