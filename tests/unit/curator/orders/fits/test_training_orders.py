"""Training runs under the ledger: charged whole, run once, gone on with after a crash."""

import shutil
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.audit import replay
from discreet.curator.orders.fits.training_orders import training_spec
from discreet.errors import BudgetError, InputError, LedgerError
from discreet.learn.torch import Trainer
from discreet.learn.torch.checkpoints import TrainingLedger
from discreet.learn.torch.trainer import Trainer as _Trainer

FEATURES = ["age", "city"]
WORDS = {"features": FEATURES, "target": "sick"}


def visits(people=60):
    place = np.arange(2 * people)
    age = (place * 37) % 101 - 0.5
    return pa.table(
        {
            "person": place // 2,
            "age": age,
            "city": np.where(place % 3 == 0, "Haifa", "Oslo"),
            "sick": age > 50,
        }
    )


def clinic(place=None, rows=None, budget=None, **more):
    curator = dp.Curator(place, **more)
    if "visits" not in curator.schema.tables:
        curator.add(
            "visits",
            visits() if rows is None else rows,
            unit="person",
            budget=budget or dp.Budget(rho=10**4),
            columns={"age": dp.Bounds(0, 100), "city": dp.Keys(["Haifa", "Oslo"])},
        )
    return curator


def trainer(**more):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
    said = {"epsilon": 1, "delta": 1e-6, "epochs": 2, "batch": 15, "people": 60}
    return Trainer(model, nn.CrossEntropyLoss(), **{**said, "max_rows_per_unit": 2, **more})


def weights(one):
    return [p.detach().numpy().tolist() for p in one.model.parameters()]


def spent(curator):
    return curator.budget("visits").spent[0]


def test_a_run_is_charged_once_and_gives_one_model(tmp_path):
    with clinic(tmp_path / "c") as curator:
        told = curator.explain_order(
            "training", training_spec(trainer(), "visits", FEATURES, "sick", 1)
        )
        assert told.facts["steps"] == 8
        assert spent(curator) == 0
        first = curator.fit(trainer(), "visits", **WORDS)
        paid = spent(curator)
        assert paid > 0
        assert first.guarantee_.epsilon(1e-6).upper <= 1
    with clinic(tmp_path / "c") as curator:
        again = curator.fit(trainer(), "visits", **WORDS)
        assert weights(again) == weights(first) != weights(trainer())
        assert spent(curator) == paid
        other = curator.fit(trainer(), "visits", run=2, **WORDS)
        assert weights(other) != weights(first)
        assert spent(curator) == 2 * paid
        assert curator.ledger.verify().ok


def test_a_crash_costs_the_step_it_struck_and_no_other(tmp_path, monkeypatch):
    taken, true = [], _Trainer._take_step

    def failing(self, *args):
        taken.append(self._ledger.spent)
        if len(taken) == 4:
            raise KeyboardInterrupt
        true(self, *args)

    monkeypatch.setattr(_Trainer, "_take_step", failing)
    with clinic(tmp_path / "c") as curator:
        with pytest.raises(KeyboardInterrupt):
            curator.fit(trainer(every=1), "visits", **WORDS)
        paid = spent(curator)
    with clinic(tmp_path / "c") as curator:
        curator.fit(trainer(every=1), "visits", **WORDS)
        assert taken == [1, 2, 3, 4, 5, 6, 7, 8]
        assert spent(curator) == paid


def test_a_run_whose_folder_is_gone_is_not_begun_again(tmp_path):
    with clinic(tmp_path / "c") as curator:
        curator.fit(trainer(), "visits", **WORDS)
        shutil.rmtree(tmp_path / "c" / "training")
        with pytest.raises(LedgerError, match="folder of the training run"):
            curator.fit(trainer(), "visits", **WORDS)


def test_models_with_other_shapes_are_other_runs():
    with clinic() as curator:
        curator.fit(trainer(), "visits", **WORDS)
        paid = spent(curator)
        wider = trainer()
        wider = Trainer(
            nn.Linear(2, 2),
            nn.CrossEntropyLoss(),
            epsilon=1,
            delta=1e-6,
            epochs=2,
            batch=15,
            people=60,
        )
        curator.fit(wider, "visits", **WORDS)
        assert spent(curator) == 2 * paid


def test_nothing_is_taken_where_the_budget_is_too_small():
    with clinic(budget=dp.Budget(rho=0.001)) as curator:
        one = trainer()
        with pytest.raises(BudgetError):
            curator.fit(one, "visits", **WORDS)
        assert weights(one) == weights(trainer())


@pytest.mark.audit
def test_an_account_in_gaussian_privacy_pays_for_the_curve_of_all_steps():
    with clinic(budget=dp.Budget(epsilon=2, delta=1e-5)) as curator:
        spec = training_spec(trainer(people=600, epochs=1), "visits", FEATURES, "sick", 1)
        (cost,) = set(curator.cost_order("training", spec).values())
        assert cost.measure.name == "mu-squared"
        worth = dp.GDP.of_square(cost.amount).epsilon(1e-6 - float(cost.delta)).upper
        assert 1 <= worth < 1.2


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda c: c.as_analyst("ana").fit(trainer(), "visits", **WORDS), "owner's"),
        (lambda c: c.fit(trainer(), "nowhere", **WORDS), "no private table nowhere"),
        (lambda c: c.fit(trainer(), "visits", features=["agee"], target="sick"), "no column agee"),
        (lambda c: c.fit(trainer(), "visits", features=[], target="sick"), "no features"),
        (lambda c: c.fit(trainer(), "visits", features=["age"], target="person"), "bounds"),
        (lambda c: c.order("training", {"table": "visits"}), "has no features"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_any_charge(call, match):
    with clinic() as curator:
        with pytest.raises(InputError, match=match):
            call(curator)
        assert spent(curator) == 0


def test_changing_a_person_is_refused():
    curator = clinic(neighbours="change-one")
    with curator, pytest.raises(InputError, match="changing a person"):
        curator.fit(trainer(), "visits", **WORDS)


def test_neighbours_differ_in_noise_alone():
    rows = visits()
    wild = pa.table(
        {
            "person": [999] * 50,
            "age": [float("nan")] * 50,
            "city": ["Rome"] * 50,
            "sick": [None] * 50,
        },
        schema=rows.schema,
    )

    def call(table):
        with clinic(rows=table) as curator:
            return weights(curator.fit(trainer(exact=True), "visits", **WORDS))

    for other in (rows.slice(0, rows.num_rows - 2), pa.concat_tables([rows, wild])):
        assert not replay(call, rows, other)


def counted(monkeypatch, strike=None):
    taken, true = [], _Trainer._take_step

    def step(self, *args):
        taken.append(self._ledger.spent)
        if strike is not None:
            strike(taken)
        true(self, *args)

    monkeypatch.setattr(_Trainer, "_take_step", step)
    return taken


def test_a_run_begins_only_once_the_ledger_has_that_it_did(tmp_path, monkeypatch):
    taken = counted(monkeypatch)
    spec = training_spec(trainer(), "visits", FEATURES, "sick", 1)
    with clinic(tmp_path / "c") as curator:
        with clinic(tmp_path / "c") as another:  # which has the turn, since it placed the order
            another.order("training", spec)
            with pytest.raises(LedgerError, match="has the turn to record"):
                curator.fit(trainer(), "visits", **WORDS)
            assert not taken
            placed = another._local.offer_order("training", spec, None)
            another._ledger.let_go(another._local.sequence(placed))
        curator.fit(trainer(), "visits", **WORDS)
        assert len(taken) == 8
        shutil.rmtree(tmp_path / "c" / "training")
        with pytest.raises(LedgerError, match="is gone"):
            curator.fit(trainer(), "visits", **WORDS)
        assert len(taken) == 8


@pytest.mark.parametrize("killed", [5, 8, None])
def test_an_older_copy_of_a_run_repeats_no_step(tmp_path, monkeypatch, killed):
    folder, copy = tmp_path / "c" / "training", tmp_path / "copy"

    def strike(done):
        if len(done) == 3:
            shutil.copytree(folder, copy)
        if len(done) == killed:
            raise KeyboardInterrupt

    taken = counted(monkeypatch, strike)
    with clinic(tmp_path / "c") as curator:
        with pytest.raises(KeyboardInterrupt) if killed else nullcontext():
            curator.fit(trainer(every=1), "visits", **WORDS)
        for _ in range(2):
            shutil.rmtree(folder)
            shutil.copytree(copy, folder)
            curator.fit(trainer(every=1), "visits", **WORDS)
    assert taken == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_crash_while_the_folder_is_made_costs_nothing(tmp_path):
    ledger = tmp_path / "ledger"
    assert TrainingLedger(tmp_path, trainer().facts()).spent == 0
    head = ledger.read_bytes()
    for cut in (0, 10, len(head)):
        ledger.write_bytes(head[:cut])
        assert TrainingLedger(tmp_path, trainer().facts()).spent == 0
        assert ledger.read_bytes() == head
    ledger.write_bytes(head + b"..")
    assert TrainingLedger(tmp_path, trainer().facts()).spent == 2
    with pytest.raises(InputError, match="another training run"):
        TrainingLedger(tmp_path, trainer(clip=2).facts())


def test_a_table_of_nobody_is_trained_on_like_any_other():
    rows = visits().slice(0, 2)

    def call(table):
        with clinic(rows=table) as curator:
            return weights(curator.fit(trainer(exact=True), "visits", **WORDS))

    assert not replay(call, rows, rows.slice(0, 0))


@pytest.mark.parametrize(
    "model",
    [nn.Linear(3, 2), nn.Linear(2, 1)],
    ids=["a column too many", "a label too few"],
)
def test_a_model_that_does_not_suit_the_columns_costs_nothing(model):
    said = {"epsilon": 1, "delta": 1e-6, "epochs": 2, "batch": 15, "people": 60}
    with clinic() as curator:
        with pytest.raises(InputError, match="fails on made-up rows"):
            curator.fit(Trainer(model, nn.CrossEntropyLoss(), **said), "visits", **WORDS)
        assert spent(curator) == 0


def test_a_trainer_that_was_fitted_costs_nothing_more():
    with clinic() as curator:
        one = curator.fit(trainer(), "visits", **WORDS)
        paid = spent(curator)
        with pytest.raises(InputError, match="was fitted"):
            curator.fit(one, "visits", features=["city", "age"], target="sick")
        assert spent(curator) == paid


def test_another_optimizer_loss_or_layer_is_another_run():
    def words(**more):
        return training_spec(trainer(**more), "visits", FEATURES, "sick", 1)["model"]

    other = trainer()
    other.model[1] = nn.ReLU()
    told = {
        words(),
        words(optimizer=lambda p: torch.optim.Adam(p, lr=0.5)),
        words(optimizer=lambda p: torch.optim.SGD(p, lr=1e-3)),
        words(exact=True),
        training_spec(other, "visits", FEATURES, "sick", 1)["model"],
    }
    assert len(told) == 5
    assert words() in told


@pytest.mark.parametrize("unit", ["person", dp.EachRow()])
def test_people_keep_their_seats_whatever_order_rows_come_in(unit):
    def read(rows):
        with dp.Curator(None) as curator:
            columns = {"age": dp.Bounds(0, 100), "city": dp.Keys(["Haifa", "Oslo"])}
            curator.add("visits", rows, unit=unit, budget=dp.Budget(rho=9), columns=columns)
            spec = training_spec(trainer(band=3), "visits", FEATURES, "sick", 1)
            offer = curator._local.offer_order("training", spec, None)
            x, y, people = offer.planned.rows(curator._data_store.open(["visits"]))
            return people or (x.tolist(), y.tolist())

    assert read(visits()) == read(visits().take(np.arange(120)[::-1]))


def test_a_table_that_protects_rows_is_trained_on_whatever_the_limit_of_rows_is():
    with dp.Curator(None) as curator:
        columns = {"age": dp.Bounds(0, 100), "city": dp.Keys(["Haifa", "Oslo"])}
        unit = dp.EachRow()
        curator.add("visits", visits(), unit=unit, budget=dp.Budget(rho=10**4), columns=columns)
        told = curator.fit(trainer(max_rows_per_unit=2), "visits", **WORDS)

    assert told.guarantee_.epsilon(1e-6).upper <= 1
