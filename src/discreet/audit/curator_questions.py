"""All that is asked of curators, and of histograms without one, by name."""

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa

from discreet.audit.learning_questions import LEARNING, SUMS, TRAINER, trained_by
from discreet.audit.replayed_questions import (
    BUDGET,
    FIRST,
    PEOPLE,
    Ask,
    CuratorQuestion,
    Price,
    Tables,
    stated,
    table_of,
)
from discreet.audit.workload_questions import WORKLOADS
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.curator.orders.census.census_plan import releases
from discreet.errors import BudgetError
from discreet.plan.schema import Bounds, EachRow, Limits, PersonPeriod
from discreet.privacy import EPSILON, ZCDP, Charge, Neighbours


def _of_accounts(question: CuratorQuestion, tables: Tables) -> Any:
    """What is asked of curators who open one folder, one after another."""
    said: dict[str, Any] = {"limits": Limits(max_groups=1, max_rows=2), "unit": "person"}
    said["budget"] = Budget(10 * BUDGET, question.delta)
    if question.per_person:
        said["budget"] = Budget.per_person(BUDGET, 2 * question.delta)
    with TemporaryDirectory() as folder:
        with Curator(folder) as curator:
            bits = {"value": Bounds(0, 9), **dict.fromkeys(("side", "odd"), Bounds(0, 1))}
            for name, rows in zip(("visits", "bills"), tables, strict=True):
                curator.add(name, table_of(rows), columns=bits, **said)
            if (alone := question.own_limit) is not None:
                curator.limit_person(question.people, epsilon=alone, dataset="visits")
        told = question.told(folder)
        with Curator(folder) as curator:
            if question.per_person:  # all charges are folded in from the first one on
                own = ZCDP(curator.statement_for(question.people, dataset="visits").spent)
                return [told, lambda: own]
            spent = [curator.budget(name).total for name in ("visits", "bills")]
    most = Budget(BUDGET, 2 * question.delta).cap()
    amount, delta = (sum(getattr(one, name) for one in spent) for name in ("amount", "delta"))
    return [told, most, Charge(amount, delta, measure=most.measure)]


def _charged_often(folder: str, price: Price) -> list[Any]:
    """So many questions that their charges are folded in at once, of curator after curator."""
    told: list[Any] = []
    for first in (0, 6 * _TURNS):  # some are asked again, and some by the second curator alone
        with Curator(folder) as curator:
            for turn in range(first, first + 6 * _TURNS + 2):
                said = {**price, "epsilon": price["epsilon"] * (1 - Fraction(turn, 999))}
                told += curator.sql(_SQL["count"][0], **said).table.to_pylist()
    return told


def _of_share(question: CuratorQuestion, tables: Tables) -> Any:
    """What is asked of a curator in workbooks, which have a fifth of a budget."""
    most = Budget(5 * BUDGET, 10 * question.delta, measure="epsilon")
    limits: dict[str, Any] = {"limits": Limits(max_groups=1, max_rows=2), "unit": "person"}
    with Curator.in_memory() as curator:
        curator.add("visits", table_of(tables[0]), budget=most, **limits)
        curator.grant("a", "visits", Budget(9 * BUDGET, 18 * question.delta, measure="epsilon"))
        return [question.told(curator), Charge(BUDGET, 2 * question.delta, measure=EPSILON)]


def _in_workbook(sql: str, epsilon: Fraction, **named: Any) -> Ask:
    """A question at many prices, until the share has no more epsilon or delta."""

    def ask(curator: Curator, _: Price) -> list[Any]:
        book = curator.workbook("visits", share=Fraction(1, 5), questions=99, **named)
        told: list[Any] = [named]
        for turn in range(4 * _TURNS):
            with suppress(BudgetError):
                one = book.sql(sql, epsilon=epsilon * (1 - Fraction(turn, 999)))
                told += one.table.to_pylist()
        return told

    return ask


def _resumed(folder: str, price: Price) -> list[float]:
    """Online queries of which each is asked of a curator that opens the folder again."""
    told = [0.0]
    for turn in range(2 * _TURNS):
        with Curator(folder) as curator:
            told.append(_parity(_session(curator, price, updates=1), told, turn))
    return told


_FILE: Final = Path(__file__).with_name("questions.sql").read_text("utf-8")
_SQL: Final = {
    name: [one.strip() for one in texts.split(";")[:-1]]
    for name, _, texts in (part.partition("\n") for part in _FILE.split("-- ")[2:])
}
"""The texts of questions, by name."""


def _texts(*names: str) -> tuple[Ask, ...]:
    """One ask for each question of these names."""

    def of(text: str) -> Ask:
        def ask(curator: Curator, price: Price) -> list[Any]:
            answer = curator.sql(text, **price)
            return [stated(answer), answer.to_arrow().to_pylist()]

        return ask

    return tuple(of(text) for name in names for text in _SQL[name])


def _release(curator: Curator, price: Price) -> list[Any]:
    """A release of the visits by value and by half of all values, made consistent."""
    places = pa.table({"value": range(10), "half": [value // 5 for value in range(10)]})
    curator.add_public("places", places, key="value")
    where: dict[str, Any] = {"geography": "places", "levels": ["half", "value"]}
    plan = releases([[]], table="visits", max_rows=3, **where, **price)
    with TemporaryDirectory() as folder:
        made = curator.release(plan, folder)
        return [row for one in made.files for row in made.read(*one).to_pylist()]


def _by_workers(curator: Curator, price: Price) -> list[Any]:
    """The same, with noise that is drawn by the workers of an engine: here, by the engine's own."""

    def map_parts(session: Any, select: str, work: Any, _: str, parts: Any) -> Any:
        rows = session.stream(f"SELECT * FROM ({select}) AS s ORDER BY part")  # noqa: S608 - the curator's
        made = {batch.column(0)[0].as_py(): batch for batch in work(rows)}
        return [made[part] for part in parts]

    duckdb: Any = import_module("discreet.engines.duckdb")
    session = duckdb.DuckDBSession
    ways = {"has_workers": lambda _: True, "map_parts": map_parts}
    duckdb.DuckDBSession = type("WorkingSession", (session,), ways)  # what is said of a class stays
    try:
        return _release(curator, price)
    finally:
        duckdb.DuckDBSession = session


def _again(curator: Curator, price: Price) -> list[Any]:
    """A question that is answered, and measured again for other prices."""
    told = []
    for part in (Fraction(1, 3), Fraction(1, 4), Fraction(1, 5)):
        said = {name: amount * part for name, amount in price.items()}
        told.append(curator.remeasure(_SQL["total"][0], **said).table.to_pylist())
    return told


def _synthesis(*columns: str) -> Ask:
    def ask(curator: Curator, price: Price) -> list[Any]:
        made = curator.synthesize("visits", columns=columns, bins=5, max_rows=2, **price)
        return list(made.table.to_pylist())

    return ask


def _session(curator: Curator, price: Price, updates: int = 2) -> Any:
    room: dict[str, Any] = {"accuracy": 150, "updates": updates, "restarts": 0, "queries": 20}
    room |= {"columns": ["value", "side", "odd"], "max_rows": 2}
    return curator.online("visits", **room, **price)


def _parity(session: Any, told: list[float], odd: int) -> float:
    """A counting query that follows the answers before it, about what no pair of columns tells."""
    values = list(range(int(sum(told) % 2), 10, 2))
    return float(session.ask({"value": values, "side": 0, "odd": odd % 2}).value)


def _online(curator: Curator, price: Price) -> list[float]:
    session, told = _session(curator, price), [0.0]
    for odd in range(10):
        told.append(_parity(session, told, odd))
    return told


def _workload(*columns: str) -> Ask:
    """Ranges of values, on one day where days are counted too, by the strategy that errs least."""

    def ask(curator: Curator, price: Price) -> Any:
        ranges: list[dict[str, Any]] = [
            {"value": Bounds(low, low + 3), "day": FIRST} for low in range(7)
        ]
        wanted = [{name: one[name] for name in columns} for one in ranges]
        return curator.answer("visits", wanted, max_rows=2, **price).values.tolist()

    return ask


def _fit(
    kind: str, *args: Any, told: str, features: Any = ("value",), target: Any = None, **said: Any
) -> Ask:
    def ask(curator: Curator, price: Price) -> Any:
        model = getattr(import_module("discreet.learn"), kind)(*args, **said, **price)
        named = {} if target is None else {"target": target}
        fitted = curator.fit(model, "visits", features=list(features), **named)
        return np.asarray(getattr(fitted, told)).tolist()

    return ask


_KINDS: Final[dict[str, Any]] = {"n_categories": 3, "classes": [0, 1]}
_LABELLED: Final[dict[str, Any]] = {"features": ["side"], "target": "odd", "told": "coef_"}
_FITTED: Final = (
    _fit("LinearRegression", told="coef_", target="value"),
    _fit("KMeans", 2, told="cluster_centers_"),
    _fit("LinearSVC", classes=[0, 1], **_LABELLED),
    _fit("PCA", 1, told="components_", features=("value", "side")),
    _fit("GaussianNB", told="theta_", target="turn", classes=[0, 1, 2]),
    _fit("CategoricalNB", told="feature_log_prob_", features=["turn"], target="odd", **_KINDS),
    _fit("DecisionTree", told="leaf_shares_", target="odd", classes=[0, 1]),
    _fit("Anova", told="pvalue_", target="turn", classes=[0, 1, 2]),
    _fit("StandardScaler", told="mean_", bounds=(0, 5)),  # narrower than the schema at one end
    _fit("ChiSquare", told="pvalue_", features=["turn"], target="odd", **_KINDS),
)
"""Fits that an engine sums, and some of gradients: whoever has the other label turns them round."""

_FITS: Final = {
    f"curator-fits{end}": CuratorQuestion(_FITTED, neighbours=about, counts_moved=True, needs=SUMS)
    for end, about in (("", Neighbours.ADD_REMOVE), ("-change-one", Neighbours.CHANGE_ONE))
    if find_spec("sklearn")
}
if find_spec("torch"):
    _FITS["curator-training"] = CuratorQuestion(trained_by, needs=TRAINER)


def _stream(name: str) -> Ask:
    """A standing question over the days, looked at whenever some of them are over."""

    def ask(curator: Curator, price: Price) -> list[Any]:
        until = FIRST + dt.timedelta(9)
        said: dict[str, Any] = {"every": "day", "max_periods": 2, "max_rows": 2, **price}
        standing, told = curator.watch(_SQL[name][0], until=until, **said), []
        for day in (2, 5, 9):
            rows, last = table_of(((0, day), (1, day))), FIRST + dt.timedelta(day)
            curator.append("visits", rows, through=last)
            told.append(standing.release().table.to_pylist())
        return told

    return ask


def _profile(curator: Curator, price: Price) -> Any:
    """A profile of visits: people, chosen limits, and cells that follow from what is seen."""
    return curator.profile("visits", **price).json_facts()


def _people(name: str) -> Ask:
    """Questions until somebody with many rows has run out, and the share of those who have not."""

    def ask(curator: Curator, price: Price) -> list[Any]:
        deltas = (price["delta"] / k for k in range(1, 9))
        counts = [curator.sql(_SQL[name][0], **{**price, "delta": delta}) for delta in deltas]
        shares = curator.participation("visits", **price).share
        return [*(one.to_arrow().to_pylist() for one in counts), shares]

    return ask


def _removed(curator: Curator, price: Price) -> Any:
    """A question after the account of the person who may be there was closed for ever."""
    curator.remove_person(PEOPLE)
    return _texts("three together")[0](curator, price)


_TURNS: Final = 7
_FEW: Final[dict[str, Any]] = {"limits": Limits(max_groups=3, max_rows=2)}
_PURE: Final[dict[str, Any]] = {"delta": Fraction(0)}
_CHANGE: Final[dict[str, Any]] = {"neighbours": Neighbours.CHANGE_ONE}
_CHOSEN: Final[dict[str, Any]] = {"counts_moved": True, "by_distance": True}
"""Limits are chosen: who is far out pays for a second histogram with part of what others pay."""

_CROWD: Final[dict[str, Any]] = {"people": 10 * PEOPLE}
_PROTECTED: Final = (
    *_texts("by turn"),
    *(_texts(name)[0] for name in ("found", "quantiles")),
)
_SPENT: Final[dict[str, Any]] = {"source": _of_accounts, "spends_all": True}
_APART: Final = ("per_person", "with_bills", "counts_moved", "by_distance")
_OWN: Final[dict[str, Any]] = dict.fromkeys(_APART, True) | {"epsilon": Fraction(2)}
_OWN["limits"] = Limits(max_groups=2, max_rows=2)
_SYNTHESES: Final = (_synthesis("value", "day"), _synthesis("amount", "paid"))
_BOOKS: Final = tuple(
    _in_workbook(_SQL[text][0], part * BUDGET, **named)
    for text, part in (("count", Fraction(2, 7)), ("found", Fraction(1, 99)))
    for named in ({}, {"name": "book"}, {"name": "book", "analyst": "a"})
)

QUESTIONS: Final[Mapping[str, CuratorQuestion]] = {
    "curator-workbooks": CuratorQuestion(_BOOKS, spends_all=True, source=_of_share),
    "curator-online-resumed": CuratorQuestion(_resumed, BUDGET, people=100 * PEOPLE, **_SPENT),
    "curator-people-resumed": CuratorQuestion(_charged_often, **{**_OWN, **_SPENT}),
    "curator-people-resumed-limit": CuratorQuestion(
        _charged_often, **{**_OWN, **_SPENT}, own_limit=Fraction(3)
    ),
    "curator-limit-histograms": CuratorQuestion(_texts("total", "grouped"), **_CHOSEN),
    "curator-limit-histograms-pure": CuratorQuestion(_texts("count"), **_CHOSEN, **_PURE),
    "curator-pure": CuratorQuestion(
        (*_texts("measured together"), _profile), limits=Limits(max_groups=1, max_rows=2), **_PURE
    ),
    "curator-pure-groups": CuratorQuestion(
        _texts("people by turn", "people by value", "by turn", "of nobody but one"), **_FEW, **_PURE
    ),
    "curator-pure-change-one": CuratorQuestion(
        (*_texts("grouped"), _profile, _texts("quantiles")[0]), **_PURE, **_CHANGE, **_CHOSEN
    ),
    "curator-aggregates": CuratorQuestion((*_texts("aggregates"), _again), **_FEW),
    "curator-shapes": CuratorQuestion(
        _texts("three together", "sets", "shapes"), **_FEW, with_bills=True
    ),
    "curator-each-row": CuratorQuestion(
        (*_PROTECTED, *_texts("three together"), _profile, _release), unit=EachRow(), **_CROWD
    ),
    "curator-person-periods": CuratorQuestion(
        (*_PROTECTED, *_texts("sets")),
        unit=PersonPeriod("person", "day", every="day"),
        **_CROWD,
        **_FEW,
    ),
    "curator-change-one": CuratorQuestion((*_texts("grouped"), _profile), **_CHANGE, **_CHOSEN),
    "curator-orders-change-one": CuratorQuestion(
        (_stream("by value"), _workload("value"), _SYNTHESES[0], _PROTECTED[2], _release), **_CHANGE
    ),
    "curator-found-keys": CuratorQuestion(_texts("found"), **_CROWD, **_FEW),
    "curator-found-keys-cheap": CuratorQuestion(_texts("found"), Fraction(1, 99), **_CROWD, **_FEW),
    "curator-found-quantiles": CuratorQuestion(
        _texts("found quantiles", "found"), people=30 * PEOPLE, measure="epsilon", **_FEW
    ),
    "curator-found-keys-change-one": CuratorQuestion(_texts("found"), **_FEW, **_CHANGE),
    "curator-quantiles": CuratorQuestion(_texts("quantiles"), **_FEW),
    "curator-quantiles-pure": CuratorQuestion(_texts("quantiles"), **_PURE, **_FEW),
    "curator-join-caps": CuratorQuestion(_texts("join"), with_bills=True, **_CHOSEN),
    "curator-profile": CuratorQuestion(_profile),
    "curator-answer-tables": CuratorQuestion(_texts("answers"), with_bills=True, **_CHOSEN),
    "curator-release": CuratorQuestion((_release, _by_workers)),
    "curator-synthesis": CuratorQuestion(_SYNTHESES),
    "curator-online": CuratorQuestion(_online, Fraction(4), people=100 * PEOPLE),
    "curator-workload": CuratorQuestion((_workload("value", "day"), _workload("value"))),
    **_FITS,
    **LEARNING,
    **WORKLOADS,
    "curator-standing-question": CuratorQuestion((_stream("total"), _stream("by turn"))),
    "curator-per-person": CuratorQuestion(
        (
            *map(_people, ("people by turn", "by kind", "three together", "sets")),
            *_texts("shares of people"),
        ),
        **_OWN,
    ),
    "curator-per-person-limit": CuratorQuestion(
        _people("three together"), **_OWN, own_limit=Fraction(3)
    ),
    "curator-per-person-closed": CuratorQuestion(_removed, **_OWN, own_limit=Fraction(1, 99)),
}
"""Names as the command line takes them."""
