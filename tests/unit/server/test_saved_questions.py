"""Saved questions: kept under a name and a scope, replaced by title, few, and gone when deleted."""

import pytest

from discreet.errors import InputError
from discreet.server import saved_questions
from discreet.server.access import AccessStore
from discreet.server.permissions import Caller
from discreet.server.saved_questions import MOST

ANN = Caller("ann", "analyst", None)
FACTS = {"sql": "SELECT 1", "terms": {"epsilon": "0.1"}, "release": None, "dashboard": None}


def titles(store, caller):
    return [one.title for one in saved_questions.listed(store, caller)]


def test_a_saved_question_is_there_after_the_store_was_opened_again(tmp_path):
    store = AccessStore(tmp_path / "access.sqlite")
    saved_questions.save(store, ANN, "patients", FACTS)
    store.close()

    [found] = saved_questions.listed(AccessStore(tmp_path / "access.sqlite"), ANN)

    assert (found.title, found.facts) == ("patients", FACTS)


def test_the_same_title_replaces_and_others_have_their_own():
    store = AccessStore(None)
    first = saved_questions.save(store, ANN, "patients", FACTS)
    again = saved_questions.save(store, ANN, "patients", {**FACTS, "sql": "SELECT 2"})
    ben = Caller("ben", "owner", None)
    saved_questions.save(store, ben, "patients", FACTS)

    assert again.id == first.id
    assert [one.facts["sql"] for one in saved_questions.listed(store, ANN)] == ["SELECT 2"]
    assert not saved_questions.delete(store, ben, first.id)
    assert saved_questions.delete(store, ANN, first.id)
    assert (titles(store, ANN), titles(store, ben)) == ([], ["patients"])


def test_a_token_for_fewer_datasets_sees_what_was_saved_for_those_alone():
    store = AccessStore(None)
    narrow, wide = (
        Caller("ann", "analyst", frozenset(scope)) for scope in ({"visits"}, {"visits", "labs"})
    )
    for caller, title in ((ANN, "all"), (narrow, "visits"), (wide, "both")):
        saved_questions.save(store, caller, title, FACTS)
    hidden = saved_questions.listed(store, ANN)[0].id

    assert titles(store, ANN) == ["all", "visits", "both"]
    assert titles(store, wide) == ["visits", "both"]
    assert titles(store, narrow) == ["visits"]
    assert not saved_questions.delete(store, narrow, hidden)


def test_there_is_room_for_so_many_and_replacing_needs_none():
    store = AccessStore(None)
    for n in range(MOST):
        saved_questions.save(store, ANN, f"question {n}", FACTS)
    with pytest.raises(InputError, match="saved already"):
        saved_questions.save(store, ANN, "one more", FACTS)
    saved_questions.save(store, ANN, "question 0", FACTS)

    assert len(saved_questions.listed(store, ANN)) == MOST
