"""What is learnt from the rows of people: fits, searches, statistical queries and training runs."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from discreet.audit.replayed_questions import PEOPLE, Ask, CuratorQuestion, Price, Tables
from discreet.plan.schema import Limits
from discreet.privacy import GDP


def _of_rows(question: "CuratorQuestion", tables: Tables) -> Any:
    """What is learnt from the rows of the visits, and the guarantee that is stated of it."""
    rows = [(person, float("nan") if v is None else v) for person, v in tables[0]]
    people, values = np.array(rows, dtype=np.float64).T
    said = {"groups": people, "y": np.clip(values, 0, 3)}
    return question.told({"X": np.stack([values, 10 - values], axis=1), **said})


def _learnt(kind: str, *, columns: int = 2, **said: Any) -> Ask:
    """A model of the rows of visits, with two rows of a person; a test takes one column."""

    def ask(rows: dict[str, Any], price: Price) -> list[Any]:
        model = getattr(import_module("discreet.learn"), kind)(max_rows_per_unit=2, **said, **price)
        model.fit(**{**rows, "X": rows["X"][:, :columns]})
        told = {name: str(one) for name, one in vars(model).items() if name.endswith("_")}
        return [told, model.guarantee_]

    ask.__name__ = kind
    return ask


def two_layers() -> Any:
    """One so wide that norms are found without gradients, and one that is not."""
    nn = import_module("torch").nn
    return nn.Sequential(nn.Linear(2, 200), nn.Tanh(), nn.Linear(200, 1))


def _many_layers() -> Any:
    """One layer of every kind whose gradients people are told apart in by a rule of its own."""
    torch = import_module("torch")
    nn = torch.nn

    class Layers(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(11, 4)
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
            self.near, self.groups = nn.Conv1d(4, 4, 2), nn.GroupNorm(2, 4)
            self.rows, self.root, self.gate = nn.LayerNorm(4), nn.RMSNorm(4), nn.GRUCell(4, 4)
            self.last = nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            looked_up = self.table(torch.nan_to_num(x).clamp(0, 10).long())
            seen, _ = self.attention(looked_up, looked_up, looked_up)
            near = self.groups(self.near(self.rows(seen).transpose(1, 2)))[:, :, 0]
            return self.last(self.gate(self.root(near), looked_up[:, 0]))

    return Layers()


def _trainer(
    made: Callable[[], Any], price: Price, *, exact: bool = False, band: int = 1, steps: int = 2
) -> Any:
    """A trainer with everybody in each sample, so that steps cost all they may.

    With a band, everybody whose turn it is; after an odd number of steps one release is begun.
    """
    torch, model = import_module("torch"), made()
    for place, one in enumerate(model.parameters()):
        with torch.no_grad():  # no two numbers alike: else a slip may not show
            one.copy_(torch.linspace(-0.5, 0.1 * (1 + place % 5), one.numel()).view_as(one))
    said: dict[str, Any] = {"people": PEOPLE, "batch": PEOPLE // band, "clip": 0.01}
    said |= {"band": band, "epochs": Fraction(3 if band > 1 else steps, band), "exact": exact}
    loss = lambda told, y: (told[:, 0] - y) ** 2  # noqa: E731
    return import_module(TRAINER).Trainer(model, loss, max_rows_per_unit=2, **said, **price)


def _trained(made: Callable[[], Any], **said: Any) -> Ask:
    """A network, fitted to rows in memory."""

    def ask(rows: dict[str, Any], price: Price) -> list[Any]:
        torch, trainer = import_module("torch"), _trainer(made, price, **said)
        x, y = (torch.tensor(rows[name], dtype=torch.float32) for name in ("X", "y"))
        trainer.fit(x, y, groups=rows["groups"])
        return [[one.tolist() for one in trainer.model.parameters()], trainer.guarantee_]

    return ask


def trained_by(curator: Any, price: Price) -> list[Any]:
    """A network that a curator goes on to fit after a crash; its ledger has each step."""
    for crashes in (True, False):
        trainer = _trainer(two_layers, price, exact=True, steps=3)
        if crashes:
            trainer.optimizer.register_step_post_hook(lambda *_: 1 / 0)
        with suppress(ZeroDivisionError):
            curator.fit(trainer, "visits", features=["value", "side"], target="odd")
    return [one.tolist() for one in trainer.model.parameters()]


def _queried(rows: dict[str, Any], price: Price) -> list[Any]:
    """Statistical queries, of which some leave their range."""
    learn = import_module("discreet.learn")
    asked = learn.StatisticalQueries(**rows, max_rows_per_unit=2, queries=2, **price)
    return [asked(lambda x, _: x[0]), asked(lambda _, y: y - 2), asked.guarantee]


def _tuned(rows: dict[str, Any], price: Price) -> list[Any]:
    """A search of one run, and what its price allows a run: the search itself costs a little."""
    learn, tuning = (import_module(f"discreet.learn{end}") for end in ("", ".tuning"))
    models = [learn.GaussianNB(**_CLASSES)]
    best = learn.tune(models, **rows, expected_runs=1, max_rows_per_unit=2, **price)
    run = GDP.of_square(tuning._mu_squared_of_run(*price.values(), 1))  # noqa: SLF001 - what is planned
    return [best.score_, best.theta_.tolist(), run]


def _bounded(rows: dict[str, Any], price: Price) -> list[Any]:
    learn, said = import_module("discreet.learn"), {"groups": rows["groups"]}
    return list(learn.private_bounds(rows["X"], epsilon=price["epsilon"], largest=64, **said))


def _classified(rows: dict[str, Any], price: Price) -> list[Any]:
    learn = import_module("discreet.learn")
    return list(learn.private_classes(rows["y"], groups=rows["groups"], **price))


_RANGE: Final[dict[str, Any]] = {"bounds": (0, 10)}
_CLASSES: Final[dict[str, Any]] = {**_RANGE, "classes": [0, 1, 2, 3]}
_LEARNT: Final = (
    *(_learnt(kind, **_CLASSES) for kind in ("LogisticRegression", "LinearSVC", "GaussianNB")),
    *(_learnt(kind, **_CLASSES) for kind in ("DecisionTree", "RandomForest", "Perceptron")),
    _learnt("LogisticRegression", standard_errors=True, max_iter=2, **_CLASSES),
    _learnt("AdditiveClassifier", **_CLASSES),
    _learnt("CategoricalNB", classes=_CLASSES["classes"], n_categories=10),
    *(_learnt(kind, **_RANGE) for kind in ("PCA", "StandardScaler", "KMeans")),
    _learnt("Ridge", **_RANGE, target_bounds=(0, 3)),
    *(_learnt(kind, columns=1, classes=[0, 3], **_RANGE) for kind in ("TTest", "MannWhitney")),
    _learnt("Anova", columns=1, **_CLASSES),
    _learnt("ChiSquare", columns=1, n_categories=10, classes=_CLASSES["classes"]),
    _learnt("ProportionTest", columns=1),
    *(_queried, _tuned, _bounded, _classified),
)


SUMS: Final = "discreet.learn.noisy_sums"
TRAINER: Final = "discreet.learn.torch.trainer"
_LEARNING: Final = {"learn-rows": CuratorQuestion(_LEARNT, source=_of_rows, needs=SUMS)}
_TRAINING: Final = {
    "training": CuratorQuestion(
        (
            _trained(two_layers, exact=False),
            _trained(two_layers, exact=True),
            _trained(_many_layers, exact=False, steps=1),
        ),
        source=_of_rows,
        needs=TRAINER,
        limits=Limits(max_rows=2),  # a person with a row that has no gradient
    ),
    "training-bands": CuratorQuestion(
        _trained(two_layers, exact=True, band=2),
        people=PEOPLE + 1,  # so that that person has the first turn, and the one that is begun
        source=_of_rows,
        needs=TRAINER,
        by_distance=True,
    ),
}

LEARNING: Final[Mapping[str, CuratorQuestion]] = {
    name: one
    for extra, asked in (("sklearn", _LEARNING), ("torch", _TRAINING))
    for name, one in asked.items()
    if find_spec(extra)
}
"""Names as the command line takes them, where what they need is installed."""
