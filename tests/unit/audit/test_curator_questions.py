"""A curator's own limits and joins, replayed whole on neighbouring tables."""

from copy import copy

import pytest
from click.testing import CliRunner

from discreet.answer.plan.set_plan import SetPlan
from discreet.audit.curator_questions import QUESTIONS, audit_question
from discreet.audit.recorder import Recorder
from discreet.audit.report import as_facts
from discreet.cli.audit import audit
from discreet.mechanisms.laplace import Laplace
from discreet.plan.relations import MOST_JOINED


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_curator_shows_nothing_but_what_it_releases(name):
    found = audit_question(name, QUESTIONS[name])
    assert not found.refuted
    assert as_facts(found)["verdict"] == "stands"


def test_the_limit_histogram_and_what_it_bounds_are_heard():
    question = QUESTIONS["curator-limit-histograms"]
    recorder = Recorder()
    with recorder.recording():
        question.ask(question.claim.pairs[0].left)
    assert len(recorder.finished()) >= 2
    assert isinstance(recorder.finished()[0].mechanism, Laplace)


def test_one_person_has_more_rows_than_a_join_keeps():
    (crowd, _), (visits, bills) = (
        getattr(QUESTIONS["curator-join-caps"].claim.pairs[0], side) for side in ("left", "right")
    )
    assert (len(visits) - len(crowd)) * (len(bills) - len(crowd)) > MOST_JOINED


def test_a_limit_histogram_made_for_half_a_person_is_caught(monkeypatch):
    true = SetPlan.histogram.fget

    def thin(plan):
        whole = copy(true(plan))  # mechanisms are shared
        object.__setattr__(whole, "steps", 0)
        return whole

    monkeypatch.setattr(SetPlan, "histogram", property(thin))
    found = audit_question("planted", QUESTIONS["curator-limit-histograms"])
    assert found.refuted
    assert "declared 0" in found.why


def test_the_command_line_knows_them_by_name():
    shown = CliRunner().invoke(audit, ["curator-limit-histograms", "--csv"])
    assert shown.exit_code == 0
    assert "curator-limit-histograms,CuratorQuestion,add-remove,1.0," in shown.output
