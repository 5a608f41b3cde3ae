import pytest

from discreet.attacks import Outcome
from discreet.lab import PLAYS
from discreet.lab.stories import STORIES


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
