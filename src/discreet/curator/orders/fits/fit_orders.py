"""Fits of estimators and statistical tests: orders whose release is a fitted estimator.

    spec: {"steps": [["LogisticRegression", {...}]], "table": ..., "features": [...], "target": ...}

Estimators need scikit-learn, which is an extra: `discreet.learn` is imported when a fit is ordered.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from discreet.answer.execute.noisy_measurements import reading_stored
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease, Cost
from discreet.curator.arguments import read_fields, readable, several, unknown
from discreet.curator.ledger.orders import Order, canonical
from discreet.curator.orders.fits.fit_rows import number_range, person_rows, select_rows
from discreet.curator.orders.planned_orders import (
    Asked,
    DraftedOrder,
    OrderExplanation,
    QuoteContext,
    UnpricedOrder,
    read_table,
)
from discreet.engines.engine import Engine
from discreet.engines.timing import Deadline
from discreet.errors import InputError
from discreet.mechanisms.grid import compact
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work
from discreet.privacy import GDP, Neighbours
from discreet.sql.writer.compile_profile import profile_query
from discreet.sql.writer.dialect import Dialect

if TYPE_CHECKING:
    from discreet.learn.fit_plan import FitPlan

_FIELDS: Final = ("steps", "table", "features", "target")
_FEATURES: Final = 500
_PASSES: Final = 20
"""How many times a question's work a fit is reckoned to be, for each of its features at most."""

_FORM: Final = 7  # of the sums that fits are made of: another version's are not read as this one's
_DEFAULTS: Final = {"epsilon": "1", "delta": "1/1000000"}


@dataclass(frozen=True, slots=True)
class FittedModel(BaseRelease):
    """A fitted estimator, as the noisy sums that it follows from."""

    spec: Mapping[str, Any]
    tape: tuple[NDArray[Any], ...]
    price: Price
    guarantee: GDP
    costs: tuple[Cost, ...]
    media_type: ClassVar[str] = BaseRelease.media_type

    @property
    def estimators(self) -> list[Any]:
        """All steps, fitted: a function of the noisy sums; InputError for another version's."""
        _check_form(self.spec)
        nobody = import_module("discreet.learn.rows").PersonRows(lambda: iter(()))
        rows = replace(nobody, full=self.spec["full"], bound=self.spec["bound"])
        fits, _ = _plan(self.spec).run(rows, self.guarantee.neighbours, self.tape)
        fits[0].features_ = list(self.spec["features"])
        return fits

    def statement(self) -> str:
        """The privacy statement."""
        names = " and ".join(name for name, _ in self.spec["steps"])
        far = (
            " Nor do they cover that a target further than 4 deviations from its mean counts as 4."
        )
        who = "row by itself" if self.spec["full"] == 1 else "person with all their rows"
        return (
            f"{names} was fitted to {self.spec['table']} with {self.guarantee}: epsilon "
            f"{float(self.price.epsilon):g} at delta {float(self.price.delta):g}, for each {who}. "
            "Rows are clamped to the stated bounds first, which the errors told with the estimator "
            f"do not cover.{far if names.endswith(('LinearRegression', 'Ridge')) else ''}"
        )

    def to_bytes(self) -> bytes:
        """The order and its noisy sums."""
        told = [one.tolist() for one in self.tape]
        facts = [1, dict(self.spec), told, self.guarantee.neighbours.value]
        return json.dumps(facts, sort_keys=True).encode()

    @staticmethod
    def from_bytes(stored: bytes) -> "FittedModel":
        """The estimator that `to_bytes` wrote."""
        with reading_stored("a fitted model"):
            version, spec, tape, about = json.loads(stored)
            if version != 1:
                raise ValueError(version)
            return _model(spec, tape, Neighbours(about))

    def json_facts(self) -> dict[str, Any]:
        """Fitted attributes of each step, rounded; of another version's fit why there are none."""
        try:
            steps = [_attributes(one) for one in self.estimators]
        except InputError as wrong:
            steps = [{"estimator": one, "refused": str(wrong)} for one, _ in self.spec["steps"]]
        return {"table": self.spec["table"], "features": self.spec["features"], "steps": steps}

    def __repr__(self) -> str:
        return f"{self.spec['steps'][-1][0]} fitted to {self.spec['table']}"


@dataclass(frozen=True, slots=True)
class FitOrder(DraftedOrder):
    """A fit that was planned: plain steps, a table, its columns."""

    table: Table
    spec: Mapping[str, Any]
    neighbours: Neighbours
    kind = "fit"
    states_epsilon = True
    release_type = FittedModel

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[Self]:
        """Read plain steps, and fill in what the schema knows."""
        facts = read_fields(spec, "a fit", needed=("steps", "table", "features"), allowed=_FIELDS)
        table = read_table(facts["table"], schema)
        fix = 'pass {"steps": [["GaussianNB", {"epsilon": "1"}]], "table": ..., ...}'
        with readable("a fit", fix):
            spec = _completed(facts, table)
            return cls(table, spec, Neighbours.ADD_REMOVE).draft()

    @classmethod
    def read(cls, order: Order, schema: Schema) -> Self:
        """The plan of a charged fit."""
        spec, about = json.loads(order.plan)
        return cls(read_table(spec["table"], schema), spec, Neighbours(about))

    @staticmethod
    def price_of(order: Order) -> Price:
        """The epsilon and delta of all steps."""
        return _price(json.loads(order.plan)[0])

    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """Rehearse on no rows, so that nothing fails later for what was asked."""
        _plan(self.spec).rehearse(at.neighbours)
        return replace(self, neighbours=at.neighbours)

    @property
    def guarantees(self) -> tuple[GDP]:
        """All noisy sums together."""
        return (GDP.of_square(_plan(self.spec).mu_squared, neighbours=self.neighbours),)

    @property
    def price(self) -> Price:  # type: ignore[override]
        """The (epsilon, delta) of all steps, added up."""
        return _price(self.spec)

    @property
    def text(self) -> str:
        """The order as the ledger stores and finds it."""
        return canonical([dict(self.spec), self.neighbours.value])

    def decisions(self) -> Mapping[str, Any]:
        """Empty: the text holds everything."""
        return {"version": 1}

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost of the fit."""
        names = " and ".join(name for name, _ in self.spec["steps"])
        paid, mu = self.price, float(self.guarantees[0].mu)
        text = (
            f"{names} fitted to {self.table.name} for epsilon {float(paid.epsilon):g} at delta "
            f"{float(paid.delta):g}: Gaussian noise with mu {mu:.4g} in all"
        )
        facts = {"mu": mu, "sql": select_rows(self.table, self.spec, dialect)}
        return OrderExplanation(paid, self.neighbours, text, facts)

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of one pass."""
        return bound(profile_query(self.table))

    def seconds(self, bound: Callable[[Query], Work]) -> float:
        """How long it takes at most, by public numbers; another version's order cannot be run."""
        _check_form(self.spec)
        return self.work(bound).seconds * _PASSES * (1 + len(self.spec["features"]))

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """All noisy sums, in their order: the engine's own totals, or sums of streamed rows."""
        with engine.snapshot(until) as session:
            rows = person_rows(session, self.table, self.spec, engine.dialect)
            _, tape = _plan(self.spec).run(rows, self.neighbours)
        return json.dumps([one.tolist() for one in tape]).encode()

    def present(self, measured: bytes) -> FittedModel:
        """The estimator that stored sums make."""
        return _model(self.spec, json.loads(measured), self.neighbours)


# --- what users call ----------------------------------------------------------------------------


def fit_spec(
    estimator: Any, table: str, features: Iterable[str], target: str | None
) -> dict[str, Any]:
    """The order of a fit, as plain JSON."""
    steps = import_module("discreet.learn.fit_plan").steps_of(estimator)
    spec = {"steps": steps, "table": table, "features": several(features, "features")}
    return spec if target is None else {**spec, "target": target}


def fitted(estimator: Any, release: BaseRelease) -> Any:
    """The estimator with what a release says of it; of a pipeline, every step."""
    if not isinstance(release, FittedModel):
        raise InputError("a release of another kind", why="no fit", fix="pass that of a fit")
    own = [one for _, one in estimator.steps] if hasattr(estimator, "steps") else [estimator]
    for one, learned in zip(own, release.estimators, strict=True):
        # Parameters stay as they are: the same fit again is the same order.
        params = one.get_params(deep=False)
        one.__dict__.update({k: v for k, v in learned.__dict__.items() if k not in params})
    return estimator


def make_test(name: str, parameters: Mapping[str, Any]) -> Any:
    """A statistical test by its name."""
    tests = import_module("discreet.learn").TESTS
    if name not in tests:
        raise unknown("test", str(name)[:50], tests)
    return tests[name](**parameters)


# --- what the schema adds -----------------------------------------------------------------------


def _completed(facts: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Steps with the bounds and classes that the schema knows, and how people are bounded."""
    features, target = several(facts["features"], "features"), facts.get("target")
    if not 0 < len(features) <= _FEATURES or len(set(features)) < len(features):
        raise InputError(
            "features are none, too many or named twice", why=f"1 to {_FEATURES}", fix="list them"
        )
    types = [column_type(table, name) for name in features]
    for of in types:
        if of.kind is Kind.TEXT and of.keys is None:
            raise _not_a_number("a feature")
    estimators = import_module("discreet.learn.fit_plan").ESTIMATORS
    steps = [[name, {**_DEFAULTS, **one}] for name, one in facts["steps"]]
    for name, params in steps[:1]:
        _fill(params, estimators.get(name), types)
    if steps and steps[-1][0] in estimators:
        _complete_target(steps[-1][1], estimators[steps[-1][0]], table, target)
    spec = {"steps": steps, "table": table.name, "features": features, "target": target}
    spec["form"] = _FORM
    plan = _plan(spec)
    full = 1 if table.is_by_row else int(import_module("discreet.learn.rows").FULL)
    bound = 1 if table.is_by_row else full * plan.max_rows_per_unit
    canonical(spec)
    return {**spec, "full": full, "bound": bound}


def _fill(params: dict[str, Any], kind: Any, types: Sequence[Type]) -> None:
    names = set() if kind is None else set(kind().get_params(deep=False))
    if "bounds" in names and params.get("bounds") is None:
        params["bounds"] = [list(feature_ends(one)) for one in types]
    if "n_categories" in names and "n_categories" not in params:
        params["n_categories"] = [int(feature_ends(one)[1]) + 1 for one in types]
    if "categorical" in names and "categorical" not in params:
        params["categorical"] = [
            i for i, of in enumerate(types) if of.keys is not None or of.kind is Kind.BOOLEAN
        ]


def _complete_target(params: dict[str, Any], kind: Any, table: Table, target: Any) -> None:
    """Add what the schema knows of a target, and refuse one that cannot be learned from."""
    if target is not None:
        of = column_type(table, target)
        left = {one for one in kind().get_params(deep=False) if params.get(one) is None}
        if "classes" in left and of.keys is not None:
            params["classes"] = [one for one in of.keys if one is not None]
        elif "classes" in left and of.kind is Kind.BOOLEAN:
            params["classes"] = [False, True]
        if "target_bounds" in left and of.range is not None:
            params["target_bounds"] = [float(of.range.low), float(of.range.high)]
        if params.get("classes") is not None:
            _check_classes(params["classes"], of.kind)
        elif of.kind is Kind.TEXT:
            raise _not_a_number("a target")
    elif kind._TARGET != "none" and not (  # noqa: SLF001 - own
        getattr(kind, "_ALONE", False) and params.get("classes") is None
    ):
        why = "it learns to predict one, or compares its groups"
        raise InputError("a fit has no target", why=why, fix="say target=, of a test by=")


def _check_classes(classes: Any, kind: Kind) -> None:
    """Refuse labels that no value of a column can be, before they are charged for."""
    real = kind is Kind.REAL  # whole numbers too, as far as a double holds them
    if isinstance(classes, list) and all(
        kind.holds(one) or (real and Kind.INTEGER.holds(one) and float(one) == one)
        for one in classes
    ):
        return
    what = "classes of another kind than the target"
    raise InputError(what, why=f"it is {kind.value}", fix="list values that the column has")


def _not_a_number(what: str) -> InputError:
    why = "texts are no numbers, and a fit must not fail where one cannot be read as one"
    fix = "describe the column with Keys, or pay for a list of its values with curator.profile"
    return InputError(f"{what} that is text", why=why, fix=fix)


def feature_ends(of: Type) -> tuple[float, float]:
    """Bounds of a column as a feature; InputError where it has none that are finite."""
    ends = number_range(of)
    if ends is not None and np.isfinite(ends).all():
        return ends
    raise InputError(
        "a feature without bounds",
        why="bounds that come from the data would give away whoever is farthest out",
        fix="describe the column with Bounds or Keys, pass bounds to the estimator, or pay for "
        "bounds with curator.profile",
    )


def column_type(table: Table, name: Any) -> Type:
    """The type of a column that can be learned from."""
    if isinstance(name, str) and name in table.columns:
        found = table.columns[name]
        if not found.kind.is_time:
            return found
        raise InputError(
            f"{name} is a time", why="features are numbers or listed values", fix="leave it out"
        )
    raise unknown("column", str(name)[:50], table.columns)


# --- small parts --------------------------------------------------------------------------------


def _plan(spec: Mapping[str, Any]) -> "FitPlan":
    marks = () if "form" in spec else ("form",)  # of steps in earlier versions
    steps = tuple(
        (name, {key: one for key, one in params.items() if key not in marks})
        for name, params in spec["steps"]
    )
    plan: FitPlan = import_module("discreet.learn.fit_plan").FitPlan(steps, len(spec["features"]))
    return plan


def _check_form(spec: Mapping[str, Any]) -> None:
    if spec.get("form") != _FORM:
        raise InputError(
            "the model of a fit that another version of discreet stored",
            why="it measured other sums than this version makes coefficients from",
            fix="fit it again, which is charged anew; its price, guarantee, statement and "
            "bytes can still be read",
        )


def _price(spec: Mapping[str, Any]) -> Price:
    """The price as it was typed, summed over the steps."""
    paid = [params for _, params in spec["steps"]]
    read_amount = import_module("discreet.learn.fit_plan").read_amount
    epsilon, delta = (
        sum((read_amount(one[name]) for one in paid), Fraction(0)) for name in _DEFAULTS
    )
    return Price(epsilon, delta)


def _model(spec: Mapping[str, Any], tape: Sequence[Any], about: Neighbours) -> FittedModel:
    paid = GDP.of_square(_plan(spec).mu_squared, neighbours=about)
    told = tuple(compact(np.array(one, dtype=object)) for one in tape)
    costs = (Cost("sums over rows", "Gaussian", paid),)
    return FittedModel(spec, told, _price(spec), paid, costs)


def _attributes(one: Any) -> dict[str, Any]:
    """Fitted attributes that are numbers or lists of them."""
    answer: dict[str, Any] = {"estimator": type(one).__name__}
    for name, value in vars(one).items():
        if name.endswith("_") and isinstance(value, (int, float, np.ndarray)):
            array = np.asarray(value)
            answer[name] = (np.round(array, 6) if array.dtype.kind in "iuf" else array).tolist()
    return answer
