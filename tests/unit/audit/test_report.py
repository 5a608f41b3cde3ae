import json
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

from discreet.audit import (
    account_sequences,
    accounting,
    catalogue,
    cell_choices,
    curator_questions,
    local_protocols,
    parameters,
    samplers,
)
from discreet.audit.catalogue import CATALOGUE, asked
from discreet.audit.page import claimed_curve, draw_curves
from discreet.audit.report import as_facts, audit_all, audit_claim, audit_mechanism, priced
from discreet.cli.audit import audit
from discreet.errors import InputError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.median import GridRange
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import SparseVector, SparseVectorRun
from discreet.privacy import ZCDP, Approximate, GaussianNoise, Pure


class Understated(RandomizedResponse):
    """Charged less than it gives away."""

    @property
    def claim(self):
        return replace(RandomizedResponse.claim.fget(self), guarantee=Pure(0.5))


@pytest.fixture
def small_catalogue(monkeypatch):
    entries = {
        "laplace": lambda: Laplace(epsilon=1, sensitivity=1),
        "response": lambda: RandomizedResponse(epsilon=1),
    }
    monkeypatch.setattr(catalogue, "CATALOGUE", entries)
    monkeypatch.setattr(local_protocols, "PROTOCOLS", {})
    monkeypatch.setattr(local_protocols, "PATHS", {})
    monkeypatch.setattr(curator_questions, "QUESTIONS", {})
    monkeypatch.setattr(catalogue, "TRAINING", {})
    monkeypatch.setattr(accounting, "ACCOUNTING", {})
    monkeypatch.setattr(samplers, "SAMPLERS", {})
    monkeypatch.setattr(cell_choices, "CHOICES", {})
    monkeypatch.setattr(parameters, "PARAMETERS", {})
    monkeypatch.setattr(account_sequences, "SEQUENCES", {})
    return entries


def run(*arguments):
    return CliRunner().invoke(audit, ["--samples", "20000", *arguments])


def test_a_law_is_enumerated_counted_and_sampled():
    found = audit_claim("r", RandomizedResponse(epsilon=1).claim, samples=20_000, alpha=0.01)

    assert [one.method for one in found.evidence] == ["law", "counts", "samples"]
    assert found.verdict == "stands"
    assert 0.8 < found.bound <= 1
    assert found.seconds > 0


@pytest.mark.parametrize(
    ("made", "asked", "said"),
    [
        (Laplace(epsilon=1.25, sensitivity=1), Pure(1), "epsilon 1.25, and 1 was asked for"),
        (Laplace(epsilon=3, sensitivity=1), Approximate(1, 0.01), "and 1 was asked for"),
        (
            Gaussian(epsilon=2, delta=0.01, sensitivity=1),
            Approximate(1, 0.01),
            "and 1 was asked for",
        ),
        (Gaussian(rho=1, sensitivity=2), ZCDP(0.5), "rho 1, and 0.5 was asked for"),
    ],
)
def test_a_guarantee_below_what_was_asked_for_is_caught(made, asked, said):
    assert said in priced(made.claim, asked).reason


def test_mechanisms_of_the_catalogue_keep_what_they_are_asked_for():
    wrong = {name for name, make in CATALOGUE.items() if priced(make().claim, asked(name)).refuted}
    assert not wrong
    found = audit_mechanism("l", Laplace(epsilon=2, sensitivity=1), samples=1000, asked=Pure(1))
    assert found.refuted


def test_a_mechanism_that_refuses_what_its_neighbour_does_not_have_is_caught(monkeypatch):
    def refusing(public, values):
        steps = np.asarray(public.grid.index(values))
        if (steps < public.first).any():
            raise InputError("a value below the range", why="w", fix="f")
        return np.minimum(steps, public.first + public.size - 1) - public.first

    monkeypatch.setattr(GridRange, "cells", refusing)
    found = audit_mechanism("q", Quantile(0.5, 0, 8, epsilon=1), samples=1000, alpha=0.01)
    assert "status: raises differently" in found.why


def test_claims_share_the_error_rate():
    rules = {name: Laplace(epsilon=1, sensitivity=1) for name in "ab"}
    audits = list(audit_all(rules, samples=1000, alpha=0.01))

    assert [one.name for one in audits] == ["a", "b"]
    spent = [one.alpha for one in audits[0].evidence]
    assert [one.method for one in audits[0].evidence] == [
        "replay",
        "law",
        "counts",
        "samples",
        "release",
    ]
    assert sum(spent) == pytest.approx(0.01 / 2)  # the other half is the other claim's
    assert spent[0] == spent[1] == 0  # replay and enumeration are never wrong


class Chatty(Laplace):
    """Says on the terminal what it was asked."""

    def release(self, value):
        sys.stdout.write(f"{value}")
        return Laplace.release(self, value)


class Skipping(SparseVector):
    """Has another threshold for questions that are asked one by one."""

    def start(self):
        return SparseVectorRun(SparseVector(threshold=9, epsilon=1))


def test_what_shows_beside_a_release_refutes_a_mechanism(capsys):
    found = audit_mechanism("c", Chatty(epsilon=1, sensitivity=1), samples=1000, alpha=0.01)
    capsys.readouterr()

    assert found.refuted
    assert found.why == "printed: different text on the terminal"


def test_a_mechanism_is_audited_question_by_question_as_well():
    sound, broken = (
        audit_mechanism("s", kind(threshold=0, epsilon=1), samples=2000, alpha=0.01)
        for kind in (SparseVector, Skipping)
    )

    assert [one.method for one in sound.evidence] == [
        *("replay", "law", "counts", "samples", "release", "release")
    ]
    assert not sound.refuted
    assert broken.refuted
    assert "release and draw differ" in broken.why


def test_facts_are_plain_json_even_where_a_bound_is_infinite():
    claim = replace(RandomizedResponse(epsilon=1).claim, law=lambda value: {value: (1.0, 1.0)})
    facts = as_facts(audit_claim("broken", claim, samples=1000, alpha=0.01))

    assert json.loads(json.dumps(facts, allow_nan=False))["verdict"] == "REFUTED"


def test_the_command_lists_every_claim_and_exits_with_0(small_catalogue):
    result = run()

    assert result.exit_code == 0
    assert all(name in result.output for name in small_catalogue)
    assert "stands" in result.output


def test_a_refutation_exits_with_1(small_catalogue):
    small_catalogue["understated"] = lambda: Understated(epsilon=1)

    assert run("response").exit_code == 0
    result = run("understated")
    assert result.exit_code == 1
    assert "REFUTED" in result.output


class Unlike(Laplace):
    """A claim about noise that release does not add."""

    def release(self, value):
        return value


def test_a_release_unlike_its_claim_exits_with_1(small_catalogue):
    small_catalogue["unlike"] = lambda: Unlike(epsilon=1, sensitivity=1)

    result = run("unlike")
    assert result.exit_code == 1
    assert "unlike: release and draw differ" in result.output


@pytest.mark.usefixtures("small_catalogue")
def test_an_unknown_name_lists_the_known_ones():
    result = run("laplas")

    assert result.exit_code == 2
    assert "laplas" in result.output
    assert "laplace, response" in result.output


@pytest.mark.usefixtures("small_catalogue")
def test_json_holds_the_settings_and_the_evidence():
    facts = json.loads(run("response", "--json", "--alpha", "0.001").output)

    assert facts["samples"] == 20_000
    assert facts["alpha"] == 0.001
    (claim,) = facts["claims"]
    assert claim["name"] == "response"
    assert claim["neighbours"] == "change-one"
    assert claim["epsilon_refuted_up_to"] <= claim["epsilon_claimed"]
    assert [one["refuted"] for one in claim["evidence"]] == [False] * 6


class Balanced(HTMLParser):
    """Checks that tags close in order, and collects what would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.counts = [], [], {}

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.fetched += [value for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.usefixtures("small_catalogue")
def test_the_page_is_whole_and_needs_nothing_else(tmp_path):
    place = tmp_path / "audit.html"
    assert run("--html", str(place)).exit_code == 0

    page = Balanced()
    page.feed(place.read_text(encoding="utf-8"))
    assert page.open == []
    assert page.fetched == []
    assert page.counts["figure"] == 2
    assert page.counts["svg"] == 4  # two in the key


def test_the_claimed_curve_is_that_of_the_guarantee():
    curve = claimed_curve(Pure(1))

    assert curve[0] == (0.0, 1.0)
    assert curve[-1] == (1.0, 0.0)
    assert all(y == pytest.approx(Pure(1).tradeoff(x), abs=1e-9) for x, y in curve)
    assert all(
        0 <= GaussianNoise(1).tradeoff(x) - y < 2e-3 for x, y in claimed_curve(GaussianNoise(1))[1:]
    )


def test_a_drawing_puts_the_origin_at_the_lower_left():
    drawing = draw_curves("t", ((0.0, 1.0), (1.0, 0.0)), ((0.0, 1.0), (1.0, 0.0)))

    assert 'class="claimed" d="M50.00 50.00L290.00 290.00"' in drawing
