import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet as dp
from discreet.audit.replay import replay
from discreet.cli import main
from discreet.curator.orders.order_kinds import KINDS
from discreet.curator.orders.synthesis_orders import SynthesisRelease
from discreet.curator.reports.deployment_record import deployment_record
from discreet.errors import BudgetError, InputError, InvariantBroken, QueryRefused
from running_server import served
from small_tables import CITIES, DAYS, people

BUDGET = dp.Budget(epsilon=20, delta=1e-5)
SPEC = {"table": "people", "epsilon": "4", "bins": 4}
OWNERS = np.arange(400) % 150


def add_people(curator, rows=None, **other):
    table = people(400) if rows is None else rows
    said = {"unit": "id", "budget": BUDGET, **other}
    if "id" not in table.column_names:
        table = table.append_column("id", pa.array(OWNERS))
    curator.add(
        "people",
        table,
        columns={
            "city": dp.Keys(CITIES),
            "age": dp.Bounds(0, 99),
            "day": dp.Bounds(DAYS, DAYS + dt.timedelta(days=339)),
        },
        **said,
    )
    return curator


@pytest.fixture
def curator():
    with add_people(dp.Curator.in_memory()) as curator:
        yield curator


@pytest.fixture
def folder(tmp_path):
    with add_people(dp.Curator(tmp_path / "c")):
        pass
    return tmp_path / "c"


def spent(curator):
    return curator.budget("people").spent[0]


def test_a_synthetic_table_has_names_and_types_and_is_charged_once(curator):
    made = curator.synthesize("people", epsilon=4, bins=4, max_rows=3)
    assert made.table.column_names == ["city", "age", "income", "day", "member"]
    assert made.table.schema.types == people(9).schema.types
    paid = spent(curator)
    assert curator.as_analyst("ann").synthesize("people", epsilon=4, bins=4, max_rows=3) == made
    assert spent(curator) == paid > 0
    assert made.guarantee.epsilon(made.price.delta).upper <= 4
    assert made.rows(17).num_rows == 17
    assert "one person, with all their rows" in made.statement()
    assert "at most 3 rows" in made.statement()


def test_what_is_charged_is_what_the_explanation_and_the_release_say(curator):
    told = curator.explain_order("synthesis", SPEC)
    (cost,) = set(curator.cost_order("synthesis", SPEC).values())
    assert spent(curator) == 0
    assert told.facts["rounds"] == 10
    assert told.facts["private_bins"] == ["income"]
    assert "at most 1 row;" in repr(told)
    made = curator.order("synthesis", SPEC)
    assert made.guarantee.mu**2 == pytest.approx(float(cost.amount), rel=1e-9)
    assert made.costs[0].guarantee == made.guarantee
    assert deployment_record(curator, "people")["deployment"]["privacy_loss"]
    assert curator.ledger.verify().ok


def test_neighbours_see_nothing_but_released_numbers():
    whole = people(60).append_column("id", pa.array(np.arange(60) % 20))
    fewer = whole.filter(np.arange(60) % 20 != 7)

    def made(rows):
        with add_people(dp.Curator.in_memory(), rows) as curator:
            planned = curator._local.offer_order("synthesis", SPEC, None).planned
            return planned.measure(curator._data_store.open(()), None)

    differences = replay(made, whole, fewer)
    assert not differences, str(differences)


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"table": "nobody"}, "no private table"),
        ({"columns": ["id"]}, "no column id with cells"),
        ({"columns": "city"}, "columns are a str"),
        ({"epsilon": "much"}, "not a number"),
        ({"bins": 0}, None),
        ({"max_rows": -1}, "max_rows is -1"),
        ({"max_rows": 0}, "max_rows is 0"),
        ({"max_memory": 1000}, "would need"),
        ({"impossible": [{"town": 1}]}, "of unknown columns"),
        ({"workload": [["town"]]}, "there is no column town"),
        ({"delta": "0"}, "without delta"),
        ({"colour": "red"}, "has a field colour"),
    ],
)
def test_what_cannot_be_is_refused_before_any_charge(curator, spec, wrong):
    if wrong is None:
        curator.explain_order("synthesis", {**SPEC, **spec})
        return
    with pytest.raises((InputError, QueryRefused), match=wrong):
        curator.order("synthesis", {**SPEC, **spec})
    assert spent(curator) == 0


def test_a_text_without_keys_is_refused_before_any_charge():
    rows = pa.table({"note": ["a", "b"], "id": [1, 2]})
    with dp.Curator.in_memory() as curator:
        curator.add("notes", rows, unit="id", budget=BUDGET)
        with pytest.raises(InputError, match="note has neither keys nor bounds"):
            curator.synthesize("notes", epsilon=1)


def test_a_budget_that_does_not_suffice_refuses(curator):
    with pytest.raises(BudgetError):
        curator.synthesize("people", epsilon=100, bins=4)


def test_an_epsilon_budget_cannot_pay_gaussian_noise():
    with add_people(dp.Curator.in_memory(), budget=dp.Budget(epsilon=9)) as curator:
        with pytest.raises((InputError, QueryRefused)):
            curator.synthesize("people", epsilon=1)
        assert spent(curator) == 0


def test_stored_measurements_make_the_same_release_and_are_checked(curator):
    offer = curator._local.offer_order("synthesis", SPEC, None)
    measured = offer.planned.measure(curator._data_store.open(()), None)
    again = KINDS["synthesis"].read(offer.order(), curator.schema)
    assert again.present(measured) == offer.planned.present(measured)
    cheaper = curator._local.offer_order("synthesis", {**SPEC, "epsilon": "1"}, None).planned
    with pytest.raises(InvariantBroken, match="not what was charged"):
        cheaper.present(measured)


def test_a_crash_after_measuring_is_finished_with_the_same_noise(folder, monkeypatch):
    with dp.Curator(folder) as curator:
        offer = curator._local.offer_order("synthesis", SPEC, None)
        with monkeypatch.context() as patch:
            patch.setattr(type(offer.planned), "present", lambda *_: 1 / 0)
            with pytest.raises(InvariantBroken):
                curator.order("synthesis", SPEC)
        paid = spent(curator)
        made = curator.order("synthesis", SPEC)
        assert spent(curator) == paid
        assert isinstance(made, SynthesisRelease)


def test_impossible_rows_and_conditions_go_through_the_curator(curator):
    made = curator.synthesize(
        "people",
        epsilon=4,
        bins=4,
        impossible=[{"city": "Oslo", "member": True}, {"day": "2020-01-01", "member": True}],
    )
    rows = made.rows(2000).to_pylist()
    assert not any(one["city"] == "Oslo" and one["member"] for one in rows)
    given = made.rows(50, given={"day": (DAYS, dt.date(2020, 2, 1))}).column("day").to_pylist()
    assert all(DAYS <= one <= dt.date(2020, 3, 31) for one in given)


def test_rows_are_protected_by_themselves_where_the_table_says_so():
    with add_people(dp.Curator.in_memory(), unit=dp.EachRow()) as curator:
        made = curator.synthesize("people", epsilon=4, columns=["city", "member"])
        assert "They protect one row" in made.statement()
        assert "'person' means one such row. If the odds" in " ".join(made.statement().split())
        assert abs(made.synthesis.rows - 400) < 40


def test_a_server_gives_the_same_release_as_json_and_as_files(folder):
    with dp.Curator(folder) as curator, served(curator) as server:
        token = server.token()
        with dp.Curator(server.url, token=token, allow_plain=True) as remote:
            made = remote.synthesize("people", epsilon=4, columns=["city", "member"])
            assert made.rows(9).num_rows == 9
            assert "rounds" in remote.explain_order("synthesis", SPEC).facts
        (listed,) = server.get("/v1/releases", token=token).json()
        assert listed["kind"] == "synthesis"
        place = f"/v1/releases/{listed['id']}"
        told = server.get(place, token=token).json()
        assert told["release"]["columns"] == list(made.synthesis.domain.names)
        text = server.get(f"{place}?format=csv", token=token).body.decode()
        assert len(text.splitlines()) == made.table.num_rows + 1
        chart = server.get(f"{place}?format=chart", token=token).json()
        assert "total variation" in json.dumps(chart)


def test_the_command_line_makes_a_table(folder, tmp_path):
    def run(*words):
        asked = CliRunner().invoke(main, ["synth", "people", "--curator", str(folder), *words])
        assert asked.exit_code == 0, asked.output
        return asked.stdout

    price = ("--epsilon", "4", "--bins", "4", "--column", "city", "--column", "member")
    assert "2 columns, at most 1 pairs" in run(*price, "--explain")
    file = tmp_path / "rows.csv"
    told = run(*price, "--output", str(file), "--rows", "30", "--report", "--statement")
    assert "city x member" in told
    assert "No row" in told
    assert len(file.read_text(encoding="utf-8").splitlines()) == 31
    run(*price, "--output", str(tmp_path / "rows.parquet"))
    assert len(run(*price, "--csv", "--rows", "30").splitlines()) == 31
    assert json.loads(run(*price, "--json"))["price"]["epsilon"] == 4
    refused = CliRunner().invoke(
        main, ["synth", "people", "--curator", str(folder), *price, "--output", "rows.txt"]
    )
    assert refused.exit_code == 2


def test_an_epsilon_that_nobody_means_is_refused_at_once(curator):
    with pytest.raises(InputError, match="not a number"):
        curator.explain_order("synthesis", {**SPEC, "epsilon": "1e999999999"})


def test_constraints_on_bins_that_are_yet_to_be_chosen_are_refused_before_any_charge():
    rows = pa.table({"id": [1, 2], "pay": [10.0, 20.0]})
    with dp.Curator.in_memory() as curator:
        curator.add("people", rows, unit="id", budget=BUDGET)
        with pytest.raises(InputError, match="no bounds"):
            curator.synthesize("people", epsilon=1, impossible=[{"pay": 10}])
        assert spent(curator) == 0


def test_a_table_without_pairs_that_were_checked_claims_no_error(curator):
    made = curator.synthesize("people", epsilon=4, columns=["city"])
    assert made.json_facts()["mean_error"] is None
    assert "not measured" in made.statement()
