"""Fits through the curator: charged first, stored, free to repeat, recovered after a crash."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Foreign
from sklearn.pipeline import Pipeline, make_pipeline

import discreet as dp
import fresh_process
from clinic_curator import spent
from discreet.audit.replay import replay
from discreet.curator.orders.fits import fit_orders
from discreet.curator.orders.fits.fit_orders import FitOrder, FittedModel, _check_classes
from discreet.curator.orders.online_epochs import OnlineQueries
from discreet.errors import BudgetError, DiscreetError, InputError, QueryRefused, ServiceError
from discreet.plan.kinds import Kind
from running_server import served

BUDGET = dp.Budget(epsilon=30, delta=1e-4)
SPEC = {
    "steps": [["GaussianNB", {"epsilon": "1/2"}]],
    "table": "visits",
    "features": ["age", "city"],
    "target": "smokes",
}


def visits(n=400):
    """Everybody comes twice."""
    rng = np.random.default_rng(5)
    age = rng.uniform(20, 80, n)
    city = np.array(["Haifa", "Oslo", "Rome"])[rng.integers(0, 3, n)]
    return pa.table(
        {
            "person": np.arange(n) // 2,
            "age": age,
            "city": city,
            "cost": age / 2 + rng.normal(0, 3, n),
            "free": age,
            "smokes": rng.uniform(20, 80, n) < age,
            "since": pa.array([0] * n, pa.date32()),
        }
    )


def add(curator, rows=None, **other):
    said = {
        "unit": "person",
        "budget": BUDGET,
        "columns": {
            "age": dp.Bounds(0, 100),
            "cost": dp.Bounds(0, 60),
            "city": dp.Keys(["Haifa", "Oslo", "Rome"]),
        },
        **other,
    }
    curator.add("visits", visits() if rows is None else rows, **said)
    return curator


@pytest.fixture
def curator():
    with add(dp.Curator.in_memory()) as curator:
        yield curator


def test_a_fit_is_charged_once_and_the_same_again_costs_nothing(curator):
    model = dp.learn.LinearRegression(epsilon=1)
    (cost, *_) = curator.cost_order(
        "fit",
        {
            "steps": [["LinearRegression", {"epsilon": 1}]],
            "table": "visits",
            "features": ["age"],
            "target": "cost",
        },
    ).values()

    first = curator.fit(model, "visits", features=["age"], target="cost")
    paid = spent(curator)
    again = curator.as_analyst("ann").fit(
        dp.learn.LinearRegression(epsilon=1), "visits", features=["age"], target="cost"
    )

    assert first is model
    assert model.bounds is None  # a parameter, which another table fills in by itself
    assert [ends.tolist() for ends in model.bounds_] == [[0.0], [100.0]]
    assert again.coef_.tolist() == first.coef_.tolist()
    with pytest.raises(InputError, match="its ledger counts"):
        _ = first.spent_
    assert spent(curator) == paid == (cost.units, cost.delta_units)
    assert first.guarantee_.epsilon(1e-6) <= 1
    assert curator.ledger.verify().ok


@pytest.mark.parametrize(
    ("one", "target"),
    [
        (dp.learn.LogisticRegression(epsilon=1), "smokes"),
        (dp.learn.AdditiveClassifier(epsilon=1, max_iter=2), "city"),
        (dp.learn.CategoricalNB(epsilon=1, n_categories=101), "smokes"),
        (dp.learn.DecisionTree(epsilon=1), "city"),
        (dp.learn.RandomForest(epsilon=1), "city"),
        (dp.learn.KMeans(2, epsilon=1), None),
        (dp.learn.PCA(1, epsilon=1), None),
        (dp.learn.Binner(epsilon=1), None),
    ],
    ids=lambda one: type(one).__name__,
)
def test_bounds_and_classes_come_from_the_table(curator, one, target):
    features = ["age", "cost"] if target is None else ["age", "city"]
    model = curator.fit(one, "visits", features=features, target=target)

    assert model.guarantee_.epsilon(1e-6) <= 1
    if target is not None:
        assert set(model.predict([[50.0, 1.0]])) <= set(model.classes_)


def test_a_fitted_model_knows_its_columns_by_name(curator):
    features = ["age", "cost"]
    pipe = make_pipeline(dp.learn.StandardScaler(epsilon=1), dp.learn.GaussianNB(epsilon=1))
    for one in (dp.learn.GaussianNB(epsilon=1), pipe):
        model = curator.fit(one, "visits", features=features, target="smokes")
        frame = pd.DataFrame({"cost": [10.0, 900.0], "city": ["Oslo", "Bonn"], "age": [90.0, 3.0]})

        # By place, costs would count as ages.
        told = model.predict_proba(frame)
        assert told.tolist() == model.predict_proba(frame[features].to_numpy()).tolist()
        assert told.tolist() == model.predict_proba(pa.Table.from_pandas(frame)).tolist()
        with pytest.raises(KeyError, match="cost"):
            model.predict(frame[["age"]])
        with pytest.raises(KeyError, match="cost"):
            model.predict(pa.table({"age": [9]}))

    city = dp.learn.GaussianNB(epsilon=1)
    curator.fit(city, "visits", features=["city"], target="smokes")
    for texts in (frame, [["Oslo"]], np.array([["Oslo"]])):  # they would count as missing
        with pytest.raises(InputError, match="place of each value"):
            city.predict(texts)
    assert len(city.predict([["1"], [0]])) == 2
    own = dp.learn.GaussianNB(epsilon=1, bounds=(0, 1), classes=[False, True])
    curator.fit(own, "visits", features=["age"], target="smokes")
    other = pd.DataFrame({"dose": [0.0, 1.0]})
    assert len(own.fit(other, [False, True]).predict(other)) == 2


def test_a_pipeline_is_one_order(curator):
    pipe = Pipeline(
        [
            ("scale", dp.learn.StandardScaler(epsilon=0.5)),
            ("axes", dp.learn.PCA(1, epsilon=0.5)),
            ("bayes", dp.learn.GaussianNB(epsilon=0.5)),
        ]
    )
    curator.fit(pipe, "visits", features=["age", "cost"], target="smokes")

    assert [one.kind for one in curator.ledger.entries()].count("charged") == 1
    assert curator.async_session(None).newest()[0].order.kind == "fit"
    assert len(pipe.predict([[50.0, 20.0]])) == 1
    paid = spent(curator)
    for again in (pipe, clone(pipe)):  # parameters of no step were changed by the fit
        curator.fit(again, "visits", features=["age", "cost"], target="smokes")
    assert spent(curator) == paid


def test_tests_are_fits(curator):
    told = curator.test("t", "visits", value="cost", by="smokes", epsilon=1)
    ann = curator.as_analyst("ann").test("t", "visits", value="cost", by="smokes", epsilon=1)
    fit = curator.test("chi-square", "visits", value="city", by="smokes", epsilon=1)
    share = curator.test("proportion", "visits", value="smokes", probability=0.4, epsilon=1)

    assert 0 <= told.pvalue_ == ann.pvalue_ <= 1
    assert told.interval().shape == share.interval().shape == (2,)
    assert 0 <= fit.pvalue_ <= 1
    for name, one in {"t": {"by": "smokes"}, "chi-square": {}}.items():
        with pytest.raises(InputError, match=r"pay for .*curator\.profile"):
            curator.test(name, "visits", value="free", epsilon=1, **one)
    with pytest.raises(InputError, match="known are"):
        curator.test("guess", "visits", value="cost")
    with pytest.raises(InputError, match="by= for a test"):
        curator.test("t", "visits", value="cost")


def test_a_release_of_a_fit_says_what_it_is(curator):
    release = curator.order("fit", SPEC)
    told = curator.explain_order("fit", SPEC)

    assert isinstance(release, FittedModel)
    assert release.to_bytes() == curator.order("fit", SPEC).to_bytes()
    assert "protects" not in told.text
    assert "for each person with all their rows" in release.statement()
    assert release.json_facts()["steps"][0]["estimator"] == "GaussianNB"
    assert "GaussianNB fitted to visits" in repr(release)
    assert told.facts["mu"] == pytest.approx(0.128, abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {**SPEC, "more": 1},
        {**SPEC, "steps": []},
        {**SPEC, "steps": [["Guess", {}]]},
        {**SPEC, "steps": [["GaussianNB", {"guess": 1}]]},
        {**SPEC, "steps": [["GaussianNB", {"form": 2}]]},
        {**SPEC, "steps": [["GaussianNB", {"epsilon": -1}]]},
        {**SPEC, "steps": [["GaussianNB", {"epsilon": {}}]]},
        {**SPEC, "steps": [["GaussianNB", []]]},
        {**SPEC, "steps": [["GaussianNB", {}], ["GaussianNB", {}]]},
        {**SPEC, "steps": [["LogisticRegression", {"max_iter": 10**9}]]},
        {**SPEC, "steps": [["DecisionTree", {"max_depth": 60}]]},
        {**SPEC, "steps": [["CategoricalNB", {"n_categories": 10**9}]]},
        {**SPEC, "steps": [["GaussianNB", {"bounds": "wide"}]]},
        {**SPEC, "steps": 7},
        {**SPEC, "table": "guess"},
        {**SPEC, "features": []},
        {**SPEC, "features": ["age", "age"]},
        {**SPEC, "features": ["guess"]},
        {**SPEC, "features": ["since"]},
        {**SPEC, "features": ["person"]},
        {**SPEC, "target": "guess"},
        {**SPEC, "target": "age"},
        {**SPEC, "target": None},
        {**SPEC, "target": None, "steps": [["GaussianNB", {"classes": [False, True]}]]},
        {**SPEC, "target": "city", "steps": [["Ridge", {"target_bounds": [0, 1]}]]},
        {**SPEC, "steps": [["GaussianNB", {"classes": ["no", "yes"]}]]},
        {**SPEC, "steps": [["GaussianNB", {"epsilon": "1e9999999"}]]},
        {**SPEC, "steps": [["GaussianNB", {"epsilon": "1/0"}]]},
        {**SPEC, "steps": [["StandardScaler", {}]] * 16 + SPEC["steps"]},
        {**SPEC, "features": ["city"], "steps": [["ChiSquare", {"n_categories": 9999}]]},
    ],
)
def test_what_cannot_be_fitted_is_refused_before_any_charge(curator, wrong):
    with pytest.raises(InputError):
        curator.order("fit", wrong)
    assert spent(curator)[0] == 0


@pytest.mark.parametrize("last", ["7", "a name"])
def test_whether_a_text_can_be_read_as_a_number_is_never_told(last):
    rows = pa.table({"person": [1, 2], "age": [1.0, 2.0], "note": ["5", last]})
    with dp.Curator.in_memory() as curator:
        curator.add("t", rows, unit="person", budget=BUDGET, columns={"age": dp.Bounds(0, 9)})
        with pytest.raises(InputError, match="a feature that is text"):
            curator.fit(dp.learn.StandardScaler(bounds=(0, 9)), "t", features=["note"])
        line = dp.learn.LinearRegression(target_bounds=(0, 9))
        with pytest.raises(InputError, match="a target that is text"):
            curator.fit(line, "t", features=["age"], target="note")


def test_what_is_not_private_or_too_dear_is_refused(curator):
    with pytest.raises(InputError, match="only what learns from noisy sums"):
        curator.fit(Foreign(), "visits", features=["age"], target="smokes")
    with pytest.raises(BudgetError):
        curator.fit(dp.learn.GaussianNB(epsilon=90), "visits", features=["age"], target="smokes")
    assert spent(curator)[0] == 0


def test_an_account_of_epsilon_pays_what_was_typed():
    with add(dp.Curator.in_memory(), budget=dp.Budget(epsilon=30, delta=1e-4)) as other:
        measure = other.budget("visits").measure.name
        other.order("fit", SPEC)
        assert spent(other)[0] > 0
        assert measure in {"epsilon", "rho", "mu-squared"}


def test_neighbours_differ_in_noise_alone():
    rows = visits()
    last = rows.num_rows - 2

    def call(table):
        with add(dp.Curator.in_memory(), table, max_table_rows=10_000) as curator:
            return curator.order("fit", SPEC).to_bytes()

    wild = pa.table(
        {
            "person": [9999] * 1000,
            "age": [float("inf")] * 1000,
            "city": ["Atlantis"] * 1000,
            "cost": [None] * 1000,
            "free": [None] * 1000,
            "smokes": [True] * 1000,
            "since": pa.array([None] * 1000, pa.date32()),
        },
        schema=rows.schema,
    )
    for other in (rows.slice(0, last), pa.concat_tables([rows, wild])):
        found = replay(call, rows, other)
        assert not found, str(found)


DIES = """
import os, sys
import discreet as dp
from discreet.curator.orders.fits import fit_orders
from discreet.curator.orders.fits.fit_orders import FitOrder

FitOrder.present = lambda *_: os._exit(9)
dp.Curator(sys.argv[1]).fit(dp.learn.GaussianNB(epsilon=0.5), "visits",
                            features=["age"], target="smokes")
"""


def test_what_a_killed_process_measured_is_presented_by_the_next(tmp_path, monkeypatch):
    with add(dp.Curator(tmp_path / "c")):
        pass
    assert fresh_process.run(DIES, tmp_path / "c").returncode == 9
    with dp.Curator(tmp_path / "c") as curator:
        paid = spent(curator)
        assert [one.kind for one in curator.ledger.entries()][-2:] == ["charged", "measured"]
        monkeypatch.setattr(FitOrder, "measure", lambda *_: b"a second draw")

        assert curator.recover(patience=0) == 1

        one = dp.learn.GaussianNB(epsilon=0.5)
        curator.fit(one, "visits", features=["age"], target="smokes")
        assert one.theta_.shape == (2, 1)
        assert spent(curator) == paid
        assert curator.ledger.verify().ok


@pytest.mark.parametrize("form", [4, None], ids=["4", "marks of steps"])
def test_a_stored_fit_of_an_earlier_version_tells_all_but_its_model(curator, monkeypatch, form):
    with monkeypatch.context() as earlier:
        earlier.setattr(fit_orders, "_FORM", 4)
        then = curator.order("fit", SPEC)
        stored = then.to_bytes()
    charge = curator.async_session(None).newest()[0].sequence
    if form is None:
        version, spec, *rest = json.loads(stored)
        spec["steps"][0][1]["form"] = spec.pop("form")
        stored = json.dumps([version, spec, *rest], sort_keys=True).encode()

    kept = [] if form is None else [curator.async_session(None).release(charge)]
    for one in (*kept, FittedModel.from_bytes(stored)):
        assert one.to_bytes() == stored
        assert (one.price, one.guarantee) == (then.price, then.guarantee)
        assert one.statement() == then.statement()
        assert "fit it again" in one.json_facts()["steps"][0]["refused"]
        with pytest.raises(InputError, match="another version of discreet stored"):
            _ = one.estimators
    paid = spent(curator)[0]
    again = curator.order("fit", SPEC)
    assert again.json_facts()["steps"][0]["theta_"]
    assert spent(curator)[0] == 2 * paid


def test_a_server_tells_a_stored_fit_of_an_earlier_version(curator, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(fit_orders, "_FORM", 4)
        curator.order("fit", {**SPEC, "steps": [["Perceptron", {}]]})
    charge = curator.async_session(None).newest()[0].sequence
    with served(curator) as server:
        told = server.request("GET", f"/v1/releases/{charge}", token=server.token("eve", "owner"))
    assert told.status == 200
    assert told.json()["price"]["epsilon"] == 1
    assert "fit it again" in told.json()["release"]["steps"][0]["refused"]


@pytest.mark.parametrize("measured", [False, True])
def test_a_charged_fit_of_an_earlier_version_ends_in_words(curator, monkeypatch, measured):
    spec = {**SPEC, "steps": [["LinearSVC", {}]]}

    def stop(*_):
        raise ServiceError("gone", why="a server broke off", fix="ask again")

    with monkeypatch.context() as earlier:
        earlier.setattr(fit_orders, "_FORM", 4)
        earlier.setattr(FitOrder, "present" if measured else "measure", stop)
        with pytest.raises(DiscreetError):
            curator.order("fit", spec)
    paid = spent(curator)
    [waiting] = curator.ledger.recover(patience=0)

    if measured:  # the sums are there: what they cost can be told
        found = curator._answer_service.finish(waiting)
        assert found.price.epsilon == 1
        read = lambda: found.estimators  # noqa: E731 - one of two
    else:
        read = lambda: curator._answer_service.finish(waiting)  # noqa: E731
    with pytest.raises(InputError, match="another version of discreet stored"):
        read()
    assert spent(curator) == paid
    assert curator.ledger.verify().ok


def test_a_remote_curator_fits_the_same(curator):
    one = dp.learn.GaussianNB(epsilon=0.5)
    with (
        served(curator) as server,
        dp.Curator(server.url, token=server.token("ann", "analyst")) as remote,
    ):
        remote.fit(one, "visits", features=["age"], target="smokes")
    same = dp.learn.GaussianNB(epsilon=0.5)
    curator.fit(same, "visits", features=["age"], target="smokes")

    assert one.theta_.tolist() == same.theta_.tolist()


def test_statistical_queries_are_charged_to_the_table(curator):
    oracle = dp.learn.StatisticalQueries(curator, "visits", epsilon=4, queries=2)

    answer = oracle("age > 50")
    paid = spent(curator)
    with pytest.raises(QueryRefused):
        oracle("wage > 50")

    assert spent(curator) == paid
    assert abs(answer.value - 0.5) < 0.3
    assert answer.price == 2
    assert dp.learn.StatisticalQueries(curator, "visits", epsilon=4).left == 100
    assert answer.tolerance > 0
    assert spent(curator)[0] > 0
    assert oracle.left == 1
    with pytest.raises(InputError):
        _ = oracle.guarantee


def test_statistical_queries_over_an_online_session_pay_once(curator, monkeypatch):
    true, heard = OnlineQueries.ask, []

    def ask(session, where, **said):
        heard.append(true(session, where, **said))
        return heard[-1]

    monkeypatch.setattr(OnlineQueries, "ask", ask)
    said = {"epsilon": 4, "queries": 40, "columns": ["city", "smokes"]}
    oracle = dp.learn.StatisticalQueries(curator, "visits", **said)
    paid = spent(curator)

    told = [oracle({"city": city}) for city in ("Haifa", "Oslo", "Rome")] + [
        oracle({"city": ["Haifa", "Oslo"], "smokes": value}) for value in (True, False)
    ]

    assert spent(curator) == paid
    assert paid[0] > 0
    assert all(abs(one.value - 1 / 3) <= one.tolerance for one in told)
    assert {one.price for one in told} == {0}
    people, rome = heard[0], heard[3]  # asked again they may differ: a query may hit by chance
    assert people.confidence == rome.confidence == 0.975
    below, above = told[2].value - rome.low / people.high, rome.high / people.low - told[2].value
    assert told[2].tolerance == pytest.approx(max(below, above))
    assert abs(sum(one.value for one in told[:3]) - 1) < 0.2
    with pytest.raises(InputError, match="its ledger counts"):
        _ = oracle.guarantee


def test_labels_are_values_that_a_column_can_have():
    _check_classes([0, 1.5, -(2**53)], Kind.REAL)
    for kind, odd in [(Kind.REAL, 2**53 + 1), (Kind.REAL, True), (Kind.INTEGER, 2**63)]:
        with pytest.raises(InputError):
            _check_classes([0, odd], kind)
