"""A record that the public registry of deployments would take."""

import copy
import json

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator, FormatChecker

import discreet as dp
from clinic_curator import ABOUT, BUDGET, BY_CITY, add_visits
from deployment_fields import SCHEMA
from discreet.curator.reports.deployment_record import Purpose, blanks, deployment_record
from discreet.errors import InputError
from visits import clinic

VALIDATOR = Draft202012Validator(SCHEMA, format_checker=FormatChecker())


def faults(record):
    """The places of a record that the registry would refuse, and the rule that each breaks."""
    return {
        (one.json_path.removeprefix("$").removeprefix("."), one.validator)
        for one in VALIDATOR.iter_errors(record)
    }


def test_a_record_has_the_fields_of_the_registry_and_the_facts_of_the_ledger():
    with dp.Curator.in_memory() as curator:
        add_visits(curator)
        curator.add("bills", clinic(20), **ABOUT, budget=BUDGET)
        curator.link("people", ["visits", "bills"])
        people = pa.table({"id": range(9)})
        curator.add("people", people, unit="id", dataset="visits")
        path = dp.KeyPath("owner", "people", "id")
        curator.add("notes", pa.table({"owner": range(9)}), unit=path, dataset="visits")
        curator.as_analyst("alice").sql(BY_CITY, epsilon=0.1)
        purpose = Purpose("Visits, 2026", "Clinic", intended_use="planning", sector="Healthcare")
        record = json.loads(json.dumps(deployment_record(curator, "visits", purpose)))
        first = next(one for one in curator.ledger.entries() if one.kind == "charged")

    assert not faults(record)
    assert (record["url_slug"], record["status"], record["tier"]) == ("visits_2026", "Draft", 3)
    told = record["deployment"]
    assert told["basic"]["data_curators"] == ["Clinic"]
    assert told["basic"]["publication_date"] == first.time[:10]
    assert told["basic"]["data_product_sector"] == "Healthcare"
    assert told["dp_variant"]["variant_name"] == "Approximate DP"
    assert told["privacy_loss"]["privacy_unit"] == "User-level"
    assert (
        "notes: each person to whom owner leads by people.id"
        in told["privacy_loss"]["privacy_unit_details"]
    )
    assert told["privacy_loss"]["privacy_parameters"] == {
        "epsilon": float(BUDGET.epsilon),
        "delta": float(BUDGET.delta),
    }
    assert "1 questions" in told["privacy_loss"]["privacy_parameters_details"]
    assert "with mu-squared " in told["privacy_loss"]["privacy_parameters_details"]
    assert told["deployment_model"]["model_name"] == "Central"
    assert "people" in told["deployment_model"]["access_type_details"]
    assert "approximate Gaussian" in told["accounting"]["composition"]
    assert "gdp" in told["implementation"]["mechanisms"]
    assert "visits.amount: real, 0 .. 100" in told["dp_variant"]["data_domain"]
    assert told["administrative"] == {"registry_authors": ["Clinic"]}


@pytest.mark.parametrize(
    ("budget", "variant", "parameters"),
    [
        (dp.Budget(epsilon=1), "Pure DP", {"epsilon": 1.0}),
        (dp.Budget(rho=0.5), "Zero-concentrated DP", {"rho": 0.5}),
        (dp.Budget(epsilon=2, delta=1e-6), "Approximate DP", {"epsilon": 2.0, "delta": 1e-6}),
    ],
)
def test_a_row_is_called_a_row_and_a_budget_what_the_owner_promised(budget, variant, parameters):
    with dp.Curator.in_memory() as curator:
        add_visits(curator, unit=dp.EachRow(), budget=budget)
        record = deployment_record(curator, "visits")

    told = record["deployment"]
    assert told["privacy_loss"]["privacy_unit"] == "Record-level"
    assert told["dp_variant"]["variant_name"] == variant
    assert told["privacy_loss"]["privacy_parameters"] == parameters
    assert not faults(record)


def test_what_only_people_know_is_named_where_it_is_missing():
    with dp.Curator.in_memory() as curator:
        add_visits(curator)
        empty = blanks(deployment_record(curator, "visits"))
        whole = Purpose("Visits", "Clinic", "counts", "planning", "Texas", authors=("Ann",))
        full = blanks(deployment_record(curator, "visits", whole))

    places = ("data_curators", "description", "intended_use", "data_product_region")
    assert empty == [
        *(f"deployment.basic.{place}" for place in places),
        "deployment.administrative.registry_authors",
    ]
    assert full == []


def test_a_sector_that_the_registry_does_not_know_is_refused():
    with pytest.raises(InputError, match="Healthcare"):
        Purpose("Visits", sector="Astrology")


@pytest.fixture(scope="module")
def right():
    with dp.Curator.in_memory() as curator:
        add_visits(curator)
        return deployment_record(curator, "visits", Purpose("Visits", "Clinic"))


def put(*path, value):
    def change(record):
        inner = record
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value

    return change


def drop(*path):
    def change(record):
        inner = record
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]

    return change


BASIC = ("deployment", "basic")
DATE = "deployment.basic.publication_date"


@pytest.mark.parametrize(
    ("change", "place", "rule"),
    [
        (drop("status"), "", "required"),
        (drop("deployment"), "", "required"),
        (drop(*BASIC, "name"), "deployment.basic", "required"),
        (
            drop("deployment", "administrative", "registry_authors"),
            "deployment.administrative",
            "required",
        ),
        (put("surprise", value=1), "", "additionalProperties"),
        (
            put("deployment", "implementation", "accounting", value=""),
            "deployment.implementation",
            "additionalProperties",
        ),
        (put("tier", value=0), "tier", "enum"),
        (put("tier", value=True), "tier", "type"),
        (put("deployment", value=[]), "deployment", "type"),
        (put(*BASIC, "publication_date", value="1/1/2026"), DATE, "pattern"),
        (put(*BASIC, "publication_date", value="20260101"), DATE, "pattern"),
        (put(*BASIC, "publication_date", value="2026-02-30"), DATE, "format"),
        (put(*BASIC, "data_curators", value=[]), "deployment.basic.data_curators", "minItems"),
        (
            put(*BASIC, "data_curators", value=[{"data_curator_name": "Clinic"}]),
            "deployment.basic.data_curators[0]",
            "type",
        ),
        (put(*BASIC, "description", value=None), "deployment.basic.description", "type"),
        (
            put("deployment", "dp_variant", "variant_name", value="Approximate zCDP"),
            "deployment.dp_variant.variant_name",
            "enum",
        ),
        (
            put("deployment", "privacy_loss", "privacy_parameters", "epsilon", value="3"),
            "deployment.privacy_loss.privacy_parameters.epsilon",
            "type",
        ),
    ],
)
def test_a_record_that_the_registry_would_refuse_is_found(right, change, place, rule):
    wrong = copy.deepcopy(right)
    change(wrong)

    assert not faults(right)
    assert (place, rule) in faults(wrong)
