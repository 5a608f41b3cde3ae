"""The server keeps what its OpenAPI document says, whatever is sent: no 500, replies as said."""

import copy

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import ignored_auth

EXAMPLES = {GenerationMode.POSITIVE: 5, GenerationMode.NEGATIVE: 4}
CONFIG = {
    "checks": {
        # A question can be well-formed and still be refused, or too dear: that is in no schema.
        "positive_data_acceptance": {
            "expected-statuses": ["2xx", "401", "402", "403", "404", "413", "422", "429"]
        },
        # A list that is too long makes a body that is too large.
        "negative_data_rejection": {
            "expected-statuses": ["401", "403", "404", "405", "413", "422", "429"]
        },
    },
}


@pytest.fixture(scope="module")
def document(server):
    return server.get("/v1/openapi.json").json()


def operations(document):
    config = SchemathesisConfig.from_dict(CONFIG)
    schema = schemathesis.openapi.from_dict(document, config=config)
    return [found.ok() for found in schema.get_all_operations()]


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_operation_keeps_what_its_description_says(server, document, mode):
    token = server.token("fuzzing owner", "owner")
    wrong = {}
    for operation in operations(document):
        if error := fuzzed(server, operation, token, mode):
            wrong[operation.label] = error

    assert not wrong, "\n".join(f"{label}: {why}" for label, why in wrong.items())


def test_planted_faults_are_found(server, document, monkeypatch):
    token = server.token("planting owner", "owner")  # limits count names

    def found(planted, *labels, mode=GenerationMode.POSITIVE):
        some = [one for one in operations(planted) if one.label in labels]
        # Enough examples that a bad one is among them, whatever their order.
        return " ".join(str(fuzzed(server, one, token, mode, examples=60)) for one in some)

    assert found(document, "GET /v1/health", "GET /v1/me") == "None None"
    planted = copy.deepcopy(document)
    planted["components"]["schemas"]["Health"]["properties"]["status"] = {"type": "integer"}
    assert "Response violates schema" in found(planted, "GET /v1/health")
    planted = copy.deepcopy(document)
    planted["paths"]["/v1/ledger"]["get"]["responses"].pop("422")
    assert "Undocumented status" in found(planted, "GET /v1/ledger", mode=GenerationMode.NEGATIVE)
    planted = copy.deepcopy(document)
    planted["paths"]["/v1/health"]["get"]["security"] = [{"token": []}]
    assert "without authentication" in found(planted, "GET /v1/health")
    ledger = server.app.state.app_state.curator.ledger
    monkeypatch.setattr(ledger, "entries", lambda **_: 1 / 0)
    assert "Server error" in found(document, "GET /v1/ledger")


def fuzzed(server, operation, token, mode, examples=None):
    """Send examples of an operation; the first thing that is wrong, if any.

    Good requests are also sent without a token and with a wrong one; with bad ones that would tell
    nothing more.
    """

    @settings(
        max_examples=examples or EXAMPLES[mode],
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def sent(case):
        case.call_and_validate(
            base_url=server.url,
            headers={"Authorization": f"Bearer {token}"},
            excluded_checks=[ignored_auth] if mode is GenerationMode.NEGATIVE else [],
            timeout=30,
        )

    try:
        sent()
    except Unsatisfiable:
        return None  # there is nothing to get wrong
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - told in the test's words
        inner = getattr(error, "exceptions", [error])
        return " ".join(f"{type(one).__name__}: {one}" for one in inner)[:3000]
    return None


def test_every_route_says_what_it_is_for_and_what_may_go_wrong(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation["description"] or operation["summary"], where
            assert {"401", "422", "429", "503"} <= set(operation["responses"]), where
            for status, reply in operation["responses"].items():
                if status >= "400":
                    [kind] = reply["content"].values()
                    assert kind["schema"]["$ref"].endswith("/ErrorReply"), where


def test_the_description_says_who_is_allowed(document):
    paths = document["paths"]

    assert paths["/v1/health"]["get"]["security"] == []
    assert paths["/v1/tokens"]["post"]["security"] == [{"token": []}, {"session": []}]
    assert "For: owner." in paths["/v1/tokens"]["post"]["description"]
