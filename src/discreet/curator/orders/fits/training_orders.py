"""Training runs of torch models: charged whole before the first step, and run once.

    charge (an order, released) -> a folder with its steps and states -> step: the run began

The model is trained in the owner's process, since it is code. What the ledger has is the price of
all steps; the run's own folder counts those that were begun.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib import import_module
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.noisy_measurements import reading_stored
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease, Cost
from discreet.curator.arguments import read_fields, readable, several
from discreet.curator.client.wire import read_number
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, canonical, digest
from discreet.curator.orders.fits.fit_orders import column_type, feature_ends
from discreet.curator.orders.fits.fit_rows import NumberColumns, values_of
from discreet.curator.orders.planned_orders import (
    OWNER,
    Asked,
    DraftedOrder,
    OrderExplanation,
    PlannedOrder,
    QuoteContext,
    ResumedOrder,
    UnpricedOrder,
    read_price,
    read_table,
)
from discreet.engines.engine import Engine
from discreet.engines.timing import Deadline
from discreet.errors import EngineError, InputError, LedgerError
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Query
from discreet.plan.schema import PERSON, Schema, Table
from discreet.plan.work import Work
from discreet.privacy import Composed, Guarantee, Neighbours
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, Charge, Measure, price_sum
from discreet.rationals import whole
from discreet.sql.writer.compile_profile import profile_query
from discreet.sql.writer.dialect import Dialect, view_name

if TYPE_CHECKING:
    from discreet.learn.noise_plan import NoisePlan

_PLAN: Final = ("epsilon", "delta", "people", "batch", "epochs", "band")
_FIELDS: Final = ("table", "features", "target", "run", "model", *_PLAN)
_FIX: Final = "call curator.fit(Trainer(...), table, features=[...], target=...)"
_FINE: Final = 1 << 32
_TAIL: Final = Fraction(1, 100)
"""The part of delta that an account in mu^2 pays for the far tail of sampled steps."""


@dataclass(frozen=True, slots=True)
class TrainingRelease(BaseRelease):
    """The cost of a training run; the model stays with its owner."""

    spec: Mapping[str, Any]
    price: Price
    guarantee: Guarantee
    media_type: ClassVar[str] = "application/json"

    @property
    def costs(self) -> tuple[Cost, ...]:  # type: ignore[override]
        """All steps."""
        return (Cost("all steps", "Gaussian, sampled", self.guarantee),)

    def statement(self) -> str:
        """The privacy statement for all steps together."""
        return (
            f"A model is trained on {self.spec['table']} with (epsilon "
            f"{float(self.price.epsilon):g}, delta {float(self.price.delta):g})-differential "
            "privacy of one person with all their rows (of one row, where the table protects each "
            "by itself), for its states after all steps together."
        )

    def to_bytes(self) -> bytes:
        """The order."""
        return canonical([1, dict(self.spec), self.guarantee.to_dict()]).encode()

    @staticmethod
    def from_bytes(stored: bytes) -> "TrainingRelease":
        """The release that `to_bytes` wrote."""
        with reading_stored("a training run"):
            _, spec, guarantee = json.loads(stored)
            return TrainingRelease(spec, read_price(spec), Guarantee.from_dict(guarantee))

    def json_facts(self) -> dict[str, Any]:
        """The order."""
        return dict(self.spec)

    def __repr__(self) -> str:
        return f"a training run on {self.spec['table']}"


@dataclass(frozen=True)
class TrainingOrder(DraftedOrder):
    """All steps of a training run, with their price.

    Guarantee:
        That of every step that was planned, whether it is taken or not: each is Gaussian noise on
        the clipped gradients of a Poisson sample of people.
    Neighbours:
        One person more or less with all their rows. Changing one is not offered: a sample hides
        that somebody is there, and not who.
    Edge cases:
        `run` tells runs with the same words apart; a started run is continued, never started again.
    """

    table: Table
    spec: Mapping[str, Any]
    mu: Fraction | None = None
    kind = "training"
    states_epsilon = True
    release_type = TrainingRelease
    neighbours = Neighbours.ADD_REMOVE

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[Self]:
        """Read rows and noise."""
        needed = ("table", "features", *_PLAN, "model")
        said = read_fields(spec, "a training run", needed=needed, allowed=_FIELDS)
        table = read_table(said["table"], schema)
        with readable("a training run", _FIX):
            features, target = several(said["features"], "features"), said.get("target")
            for name in [*features, *([] if target is None else [target])]:
                feature_ends(column_type(table, name))
            if not features:
                raise InputError("a training run has no features", why="none", fix="list some")
            amounts = {
                name: str(read_number(said[name], name)) for name in ("epsilon", "delta", "epochs")
            }
            counts = {
                name: whole(said[name], name, at_least=1) for name in ("people", "batch", "band")
            }
            run = whole(said.get("run", 1), "run", at_least=1)
            model = str(said["model"])[:64]
            rest = {"features": features, "target": target, "run": run, "model": model}
            order = cls(table, {"table": table.name, **rest, **amounts, **counts})
            _ = order.noise
        return order.draft()

    @classmethod
    def read(cls, order: Order, schema: Schema) -> Self:
        """The plan of a charged run."""
        spec = json.loads(order.plan)
        mu = Fraction((order.decisions or {})["mu"])
        return cls(read_table(spec["table"], schema), spec, mu)

    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """Settle the noise; refused where people are changed rather than added, and to analysts."""
        if at.analyst != OWNER:
            why = "a model is code, and what sees rows has to be the owner's"
            fix = "let the owner call curator.fit, or fit an estimator"
            raise InputError("a training run for an analyst", why=why, fix=fix)
        if at.neighbours is not Neighbours.ADD_REMOVE:
            why = "sampling hides whether somebody is there, and not who"
            fix = "use a curator about adding and removing people"
            raise InputError("a training run about changing a person", why=why, fix=fix)
        _ = self.guarantees
        return self

    @cached_property
    def noise(self) -> "NoisePlan":
        """Its steps, sampling rate and noise."""
        told = [self.spec[name] for name in _PLAN]
        plan: NoisePlan = import_module("discreet.learn.noise_plan").NoisePlan(
            *(Fraction(one) if isinstance(one, str) else one for one in told), self.mu
        )
        return plan

    @cached_property
    def guarantees(self) -> tuple[Composed]:
        """All steps together."""
        return (self.noise.guarantee(self.noise.steps),)

    @property
    def price(self) -> Price:  # type: ignore[override]
        """The price as it was typed."""
        return read_price(self.spec)

    def charge(self, measure: Measure) -> Charge:
        """The curve of all steps; an account that counts epsilons pays the (epsilon, delta)."""
        if measure == EPSILON:
            return super().charge(measure)
        tail = self.price.delta * _TAIL if measure == MU_SQUARED else Fraction(0)
        return _price_of(self.guarantees[0], measure, tail)

    @property
    def text(self) -> str:
        """The order as the ledger stores and finds it."""
        return canonical(dict(self.spec))

    def decisions(self) -> Mapping[str, Any]:
        """The noise of a step."""
        return {"version": 1, "mu": str(self.noise.mu)}

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost of the training run."""
        steps, sigma = self.noise.steps, self.noise.multiplier
        text = (
            f"a model trained on {self.table.name}: {steps:,} steps with about "
            f"{self.noise.batch:,} people each, for epsilon {float(self.price.epsilon):g} at delta "
            f"{float(self.price.delta):g}; Gaussian noise of {sigma:.3g} times the clip"
        )
        return OrderExplanation(
            self.price, self.neighbours, text, {"steps": steps, "noise_multiplier": sigma}
        )

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of one pass."""
        return bound(profile_query(self.table))

    def seconds(self, bound: Callable[[Query], Work]) -> float:
        """How long opening a run takes: no data is read for it."""
        return 1.0

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Empty: the charge comes before the run."""
        return b"{}"

    def present(self, measured: bytes) -> TrainingRelease:
        """The paid training run."""
        return TrainingRelease(self.spec, self.price, self.guarantees[0])

    def rows(
        self, engine: Engine
    ) -> tuple[NDArray[np.float32], NDArray[Any] | None, list[Any] | None]:
        """Features, the target, and whose each row is: private.

        Numbers are clamped to their bounds, listed values are encoded by position; what is NULL or
        not listed is the least value. A label that is not listed is the first one.
        """
        names = [*self.spec["features"], *([self.spec["target"]] if self.spec["target"] else [])]
        types = [self.table.columns[name] for name in names]
        dialect, by_row = engine.dialect, self.table.is_by_row
        listed = [(name, values_of(of)) for name, of in zip(names, types, strict=True)]
        columns = NumberColumns(self.table, listed, dialect)
        shown = [f"{text} AS c{i}" for i, text in enumerate(columns.texts)]
        shown += [] if by_row else [f"d.{dialect.identifier(PERSON)} AS person"]
        with engine.snapshot() as session:
            rows = f"{view_name(self.table.name, dialect)} AS d"
            select = f"SELECT {', '.join(shown)} FROM {rows}"  # noqa: S608 - quoted by the dialect
            if self.noise.band > 1:  # seats are kept by the order of people
                keys = ["person"] if not by_row else [f"c{i}" for i in range(len(names))]
                select += f" ORDER BY {', '.join(keys)}"
            batches = list(session.stream(select))
        if not batches:  # of nobody
            return *self.nobody(), None if by_row else []
        found = pa.Table.from_batches(batches)
        read = columns.read([one.combine_chunks() for one in found.columns[: len(names)]])
        clamped = [_clamped(one, of) for one, of in zip(read, types, strict=True)]
        x = np.stack(clamped[: len(self.spec["features"])], axis=1).astype(np.float32)
        y = _labels(clamped[-1], types[-1]) if self.spec["target"] else None
        return x, y, None if by_row else found.column("person").to_pylist()

    def nobody(self) -> tuple[NDArray[np.float32], NDArray[Any] | None]:
        """Features and the target of no rows: their shape and type."""
        target, none = self.spec["target"], np.zeros(0)
        x = np.zeros((0, len(self.spec["features"])), dtype=np.float32)
        return x, _labels(none, self.table.columns[target]) if target else None


def training_spec(
    trainer: Any, table: str, features: Iterable[str], target: str | None, run: int
) -> dict[str, Any]:
    """The order of a training run, as plain JSON."""
    facts = trainer.facts()
    plan = {name: facts[name] for name in _PLAN}
    plan |= {name: int(plan[name]) for name in ("people", "batch", "band")}
    said = {"table": table, "features": several(features, "features"), "run": run}
    said |= {} if target is None else {"target": target}
    return {**said, **plan, "model": digest(canonical([facts, trainer.words()]))[:32]}


def survey_training(order: PlannedOrder, trainer: Any) -> None:
    """Refuse a model that does not suit the columns, before anything is charged."""
    if isinstance(order, TrainingOrder):
        trainer.check(*order.nobody())


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """Runs a charged training order in a folder of its own, once.

    Guarantee:
        A run takes no more steps than were charged, over all crashes, processes and copies of its
        folder: the ledger has every step before it is taken, a few at a time (a 64th of the run, or
        `every`). A resumed run continues after those: what was recorded and not taken is lost.
    Edge cases:
        A folder that is gone is refused once steps were recorded; so are runs with banded noise
        that lost a step.
    """

    ledger: Ledger
    charge: int
    resumed: ResumedOrder

    def take(self, trainer: Any) -> Any:
        """Take the steps that are left, and load the last state."""
        _, planned, engine, place = self.resumed
        assert isinstance(planned, TrainingOrder)  # noqa: S101 - narrowing: of this kind
        begun = self._begun()
        trainer.plan = replace(trainer.plan, settled=planned.noise.mu)
        if begun is not None and not (place / "ledger").exists():
            raise LedgerError(
                f"the folder of the training run of charge {self.charge} is gone",
                why="steps were taken whose model is lost",
                fix="put it back as it was, or pass run=2 and pay for another run",
            )
        trainer.record_ahead(place, begun or 0, self._note)
        try:
            x, y, people = planned.rows(engine)
        except Exception:  # noqa: BLE001 - an engine's words may quote data
            raise EngineError(
                "the data of a training run could not be read",
                why="the engine ran out of time, memory or disk",
                fix="run it again: it continues under the same charge",
            ) from None
        return trainer.fit(x, y, groups=range(len(x)) if people is None else people)

    def _begun(self) -> int | None:
        """How many steps were recorded; None if nobody ever ran it."""
        told = [json.loads(one).get("spent", 0) for one in self.ledger.steps(self.charge)]
        return max(told, default=None)

    def _note(self, spent: int) -> None:
        """Store how many steps are taken from now on, unless the ledger has it."""
        ledger, charge, (by, _, _, folder) = self.ledger, self.charge, self.resumed
        if not ledger.hold(charge):
            raise LedgerError(
                f"another worker has the turn to record steps of the training run of {charge}",
                why="steps are taken once the ledger has them",
                fix="run it again in half a minute, or once that worker has closed its curator",
            )
        begun = self._begun()
        if begun is None or begun < spent:
            told = canonical({"folder": folder.name, "spent": spent}).encode()
            ledger.step(charge, 1 + len(ledger.steps(charge)), told, by=by)
        ledger.let_go(charge)


@lru_cache(maxsize=64)
def _price_of(steps: Composed, measure: Measure, tail: Fraction) -> Charge:
    """A few seconds' work; rounded up to a number that is the same on every machine."""
    exact = price_sum(steps, measure, tail=tail)
    amount = Fraction(ceil(exact.amount * _FINE), _FINE)
    return Charge(amount, exact.delta, measure=measure, neighbours=exact.neighbours)


def _clamped(column: NDArray[np.float64], of: Type) -> NDArray[np.float64]:
    low, high = feature_ends(of)
    return np.clip(np.nan_to_num(column, nan=low, posinf=high, neginf=low), low, high)


def _labels(column: NDArray[np.float64], of: Type) -> NDArray[Any]:
    """Places of labels as whole numbers; numbers as they are."""
    listed = of.kind is Kind.BOOLEAN or of.keys is not None
    return column.astype(np.int64) if listed else column.astype(np.float32)
