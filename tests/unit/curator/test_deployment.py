"""A record that the public registry of deployments would take."""

import json

import pyarrow as pa

import discreet as dp
from desk import ABOUT, BUDGET, BY_CITY, add_visits
from discreet.curator.deployment import Purpose, deployment_record
from visits import clinic


def test_a_record_has_the_fields_of_the_registry_and_the_facts_of_the_ledger():
    with dp.Curator.in_memory() as curator:
        add_visits(curator)
        curator.add("bills", clinic(20), **ABOUT, budget=BUDGET)
        curator.link("people", ["visits", "bills"])
        people = pa.table({"id": range(9)})
        curator.add("people", people, unit="id", within="visits")
        path = dp.Path("owner", "people", "id")
        curator.add("notes", pa.table({"owner": range(9)}), unit=path, within="visits")
        curator.as_analyst("alice").sql(BY_CITY, epsilon=0.1)
        purpose = Purpose("Visits", "Clinic", intended_use="planning")
        record = json.loads(json.dumps(deployment_record(curator, "visits", purpose)))

    told = record["deployment"]
    assert set(told) == {
        *("basic", "dp_variant", "privacy_loss", "deployment_model"),
        *("implementation", "administrative"),
    }
    assert told["basic"]["data_curators"][0]["data_curator_name"] == "Clinic"
    assert told["dp_variant"]["variant_name"] == "Approximate zero-concentrated DP"
    assert told["privacy_loss"]["privacy_unit"] == "User-level"
    assert "notes.owner leads to them by people.id" in told["privacy_loss"]["privacy_unit_details"]
    assert told["privacy_loss"]["privacy_parameters"]["delta"] == 5e-7
    assert "1 questions" in told["privacy_loss"]["privacy_parameters_details"]
    assert told["deployment_model"]["model_name"] == "Central"
    assert "people" in told["deployment_model"]["access_type_details"]
    assert "zcdp" in told["implementation"]["mechanisms"]
    assert "visits.amount: real, 0 .. 100" in told["dp_variant"]["data_domain"]


def test_a_row_is_called_a_row_and_pure_privacy_pure():
    with dp.Curator.in_memory() as curator:
        add_visits(curator, unit=dp.EachRow(), budget=dp.Budget(epsilon=1))
        told = deployment_record(curator, "visits")["deployment"]

    assert told["privacy_loss"]["privacy_unit"] == "Record-level"
    assert told["dp_variant"]["variant_name"] == "Pure DP"
    assert told["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
