"""Entries of the ledger in words."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.curator.budget import Budget
from discreet.curator.curator import Curator
from discreet.curator.ledger.ledger import OWN
from discreet.curator.ledger.orders import Entry
from discreet.curator.orders.order_kinds import KINDS
from discreet.curator.reports import ledger_words
from discreet.curator.reports.ledger_words import entry_words

STORED = json.loads((Path(__file__).parents[3] / "golden" / "stored_forms.json").read_text())
VISITS = '["dataset","visits",null]'


def entry(kind, /, **facts):
    return Entry(9, "", "", kind, "ann", facts)


def test_every_kind_of_order_and_of_entry_has_words():
    assert set(ledger_words._ORDERS) == set(KINDS)
    assert OWN - {"charged", "counted"} <= set(ledger_words._SENTENCES)


def test_a_question_is_told_with_rounded_numbers():
    curator = Curator.in_memory()
    rows = pa.table({"patient": range(20)})
    curator.add("visits", rows, unit="patient", budget=Budget(epsilon=1, delta=1e-6))
    curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.5, analyst="ann")
    [charged] = [one for one in curator.ledger.entries() if one.kind == "charged"]
    told = entry_words(charged)
    assert told.sentence.startswith("ann asked about visits for epsilon 0.5")
    assert dict(told.facts)["Question"] == "SELECT COUNT(*) AS n FROM visits"
    assert max(len(word) for _, text in told.facts for word in text.split()) < 20


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (
            entry("raised", account=VISITS, cap={"stated": "3 1/1000000"}, reason="the board"),
            "The budget of dataset visits was raised to epsilon 3, delta 1e-06. Reason: the board",
        ),
        (
            entry("opened", account=VISITS, cap=None, per_person="2 0"),
            "A budget was opened for dataset visits: epsilon 2 for each person.",
        ),
        (
            entry("failed", charge=5, cancelled=True),
            "Entry 5 was cancelled and has no answer; its charge stands.",
        ),
        (
            entry("token made", name="bo", role="analyst", datasets=["visits"]),
            "A token of bo (analyst, visits) was made.",
        ),
        (
            entry("appended", table="visits", version=2, through="2026-01-05"),
            "Rows were appended to visits: version 2, complete through 2026-01-05.",
        ),
        (
            entry("person limit", dataset="visits", final=True),
            "One person in visits was removed for ever.",
        ),
        (
            entry("workbook opened", dataset="visits", workbook="workbook q", share="1/5"),
            "The workbook q got 20 % of what is left to visits.",
        ),
    ],
)
def test_entries_are_sentences(made, sentence):
    assert entry_words(made).sentence == sentence


@pytest.mark.parametrize(
    "made",
    [
        entry("blessed", moon="full"),
        entry("raised", moon="full"),  # a known kind in a form of a later version
        entry("charged", moon="full"),
    ],
)
def test_what_this_version_does_not_know_is_shown_plainly(made):
    assert entry_words(made).sentence == f"{made.kind}: moon full"


def test_an_order_of_an_unknown_kind_keeps_its_price():
    made = entry("charged", **STORED["order"], kind="oracle", debits={VISITS: ["0", "0"]})
    told = entry_words(made)
    assert told.sentence == (
        "ann placed an order of kind oracle about visits for 0.1 epsilon, 0.5 rho."
    )
