import re

import pytest

from discreet.attacks import Outcome
from discreet.lab import PLAYS
from discreet.lab.stories import CHAPTERS, STORIES


def test_every_play_has_its_story():
    assert list(STORIES) == list(PLAYS)
    assert len({one.title for one in STORIES.values()}) == len(STORIES)


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_told_in_whole_sentences(name):
    one = STORIES[name]

    for text in (one.story, one.without, one.caution, one.sentence(Outcome(0.5, 0.5, 0.7, 1000))):
        assert text[0].isupper() or text[0].isdigit()
        assert text.endswith(".")
        assert "{" not in text
    assert "500 of 1,000" in one.sentence(Outcome(0.5, 0.5, 0.7, 1000))


def test_a_control_is_named_where_the_baseline_was_measured():
    controls = {name for name, one in STORIES.items() if one.control}

    assert controls == {"tracing", "linkage", "holdout", "low-bits", "repeated-zero"}


def test_only_the_holdout_has_a_limit_that_is_no_theorem():
    assert [name for name, one in STORIES.items() if not one.proved] == ["holdout"]


def test_every_attack_names_who_found_it_and_stands_in_one_chapter():
    told = [name for chapter in CHAPTERS.values() for name in chapter.plays]

    assert sorted(told) == sorted(PLAYS)
    assert all(re.search(r"(19|20)\d\d", one.paper) for one in STORIES.values())


def test_the_cases_everybody_has_heard_of_are_told_with_their_sources():
    cases = {case.title: case for chapter in CHAPTERS.values() for case in chapter.cases}

    for title in (
        "The governor of Massachusetts",
        "Netflix",
        "Fitness maps",
        "The census of 2010",
        "InstaHide",
    ):
        assert cases[title].source
    for case in cases.values():
        assert case.text.endswith(".")


def test_textbook_noise_is_not_called_exact():
    assert {STORIES[name].raw for name in ("low-bits", "repeated-zero")} == {"textbook noise"}
    assert STORIES["reconstruct"].raw == "exact answers"
