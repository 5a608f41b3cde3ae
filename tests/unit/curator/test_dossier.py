import json
import re

import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.reports.dossier import FRAMEWORKS, Dossier, Section
from discreet.plain_json import from_plain

VISITS = pa.table({"who": [1, 2, 3] * 40, "age": [20, 30, 4241] * 40})
AUDIT = {
    "claims": [
        {
            "name": "laplace",
            "epsilon_claimed": 1.0,
            "delta": 0.0,
            "epsilon_refuted_up_to": None,
            "verdict": "stands",
        }
    ]
}


@pytest.fixture
def curator():
    with dp.Curator.in_memory() as one:
        one.add(
            "visits",
            VISITS,
            unit="who",
            budget=dp.Budget(epsilon=3),
            columns={"age": dp.Bounds(0, 120)},
        )
        one.sql("SELECT AVG(age) AS a FROM visits", epsilon=1, analyst="ada")
        one.raise_budget("visits", dp.Budget(epsilon=4), reason="the board, 12 May")
        yield one


def section(dossier, title):
    return next(one for one in dossier.sections if one.title.startswith(title))


def test_it_collects_what_the_curator_knows(curator):
    made = curator.dossier()

    assert section(made, "What is held").rows[0][:4] == (
        "visits",
        "visits",
        "each person that who names, with all their rows",
        "who, age",
    )
    promised = section(made, "What is promised: visits")
    assert promised.rows[0][:2] == ("epsilon 4", "25 % of the budget")
    assert "stays hidden in noise" in promised.text
    asked = section(made, "What was asked")
    assert asked.rows[0][:3] == ("visits", "1", "ada")
    assert "the board, 12 May" in asked.text
    whole = section(made, "Is the record whole").text
    assert curator.ledger.head().hash in whole
    assert "The ledger is whole" in whole


@pytest.mark.parametrize("one", FRAMEWORKS, ids=lambda one: one["name"])
def test_every_demand_is_met_with_facts_and_says_what_stays_with_the_owner(curator, one):
    rows = section(curator.dossier(), one["name"]).rows

    assert len(rows) == len(one["rules"])
    assert all(cell and "{" not in cell for row in rows for cell in row)
    assert any("visits: epsilon 4" in row[2] for row in rows)


def test_an_audit_is_attached_and_something_else_is_refused(curator):
    attached = curator.dossier(audit=AUDIT)

    tried = section(attached, "What was tried")
    assert tried.rows == (("laplace", "1", "0", "-", "stands"),)
    assert "tried to refute 1 claims; 0 were refuted" in tried.text
    assert "No audit is attached" in section(curator.dossier(), "What was tried").text
    for wrong in ({}, {"claims": "all"}, {"claims": [{"name": "laplace"}]}):
        with pytest.raises(dp.InputError, match="not an audit"):
            curator.dossier(audit=wrong)


def test_it_is_the_same_of_neighbouring_data_and_holds_no_answer(curator):
    made = curator.dossier().to_html()
    answer = curator.sql("SELECT AVG(age) AS a FROM visits", epsilon=1, analyst="ada")
    with dp.Curator.in_memory() as other:
        fewer = VISITS.filter(pa.compute.not_equal(VISITS["who"], 3))
        other.add(
            "visits",
            fewer,
            unit="who",
            budget=dp.Budget(epsilon=3),
            columns={"age": dp.Bounds(0, 120)},
        )
        other.sql("SELECT AVG(age) AS a FROM visits", epsilon=1, analyst="ada")
        other.raise_budget("visits", dp.Budget(epsilon=4), reason="the board, 12 May")
        theirs = other.dossier().to_html()

    def plain(text):
        return re.sub(r"[0-9a-f]{16,64}|\d{4}-\d\d-\d\d \d\d:\d\d", "", text)

    assert plain(made) == plain(theirs)
    assert str(answer.table.column("a")[0].as_py()) not in made
    assert "4241" not in made


def test_an_empty_curator_has_a_dossier_too():
    with dp.Curator.in_memory() as empty:
        made = empty.dossier()

    assert section(made, "What is held").rows == ()
    assert "no dataset yet" in made.to_markdown()


def test_people_with_budgets_of_their_own_are_told_as_such():
    with dp.Curator.in_memory() as one:
        one.add(
            "visits",
            VISITS,
            unit="who",
            budget=dp.Budget.per_person(epsilon=2, delta=1e-6),
            columns={"age": dp.Bounds(0, 120)},
        )
        made = one.dossier()

    assert section(made, "What is promised").rows[0][0].endswith("for each person")


def test_a_tampered_ledger_is_told(curator, monkeypatch):
    from discreet.curator.ledger.verify import Problem, Report

    head = curator.ledger.head()
    wrong = Report(3, head, 0, Problem(2, "its hash is another"))
    monkeypatch.setattr(type(curator.ledger), "verify", lambda _: wrong)

    assert "NOT whole (entry 2: its hash is another)" in curator.dossier().to_markdown()


def test_it_prints_names_as_text_and_travels_as_json():
    odd = Section("a|b", "<script>alert(1)</script>", ("h",), (("x | *y*\nz",),))
    made = Dossier("T", "now", (odd,))

    assert "<script>" not in made.to_html()
    assert "x \\| \\*y\\* z" in made.to_markdown()
    assert from_plain(Dossier, json.loads(json.dumps(made.to_dict()))) == made
