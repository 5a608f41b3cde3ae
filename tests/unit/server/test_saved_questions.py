"""Saved questions: kept under a name and a scope, replaced by title, few, and gone when deleted."""

import pytest

from discreet.errors import InputError
from discreet.server.access import AccessStore
from discreet.server.app_state import Caller
from discreet.server.routes.saved import MOST, SavedBody, forget, keep, kept

ANN = Caller("ann", "analyst", None)
FACTS = {"sql": "SELECT 1", "terms": {"epsilon": "0.1"}, "release": None, "dashboard": None}


def save(store, caller, title, facts):
    return keep(store, caller, SavedBody(title=title, **facts))


def titles(store, caller):
    return [one.title for one in kept(store, caller)]


def test_a_saved_question_is_there_after_the_store_was_opened_again(tmp_path):
    store = AccessStore(tmp_path / "access.sqlite")
    save(store, ANN, "patients", FACTS)
    store.close()

    [found] = kept(AccessStore(tmp_path / "access.sqlite"), ANN)

    assert found.model_dump(include={"title", *FACTS}) == {"title": "patients", **FACTS}


def test_the_same_title_replaces_and_others_have_their_own():
    store = AccessStore(None)
    first = save(store, ANN, "patients", FACTS)
    again = save(store, ANN, "patients", {**FACTS, "sql": "SELECT 2"})
    ben = Caller("ben", "owner", None)
    save(store, ben, "patients", FACTS)

    assert again.id == first.id
    assert [one.sql for one in kept(store, ANN)] == ["SELECT 2"]
    assert not forget(store, ben, first.id)
    assert forget(store, ANN, first.id)
    assert (titles(store, ANN), titles(store, ben)) == ([], ["patients"])


def test_a_token_for_fewer_datasets_sees_what_was_saved_for_those_alone():
    store = AccessStore(None)
    narrow, wide = (
        Caller("ann", "analyst", frozenset(scope)) for scope in ({"visits"}, {"visits", "labs"})
    )
    for caller, title in ((ANN, "all"), (narrow, "visits"), (wide, "both")):
        save(store, caller, title, FACTS)
    hidden = kept(store, ANN)[0].id

    assert titles(store, ANN) == ["all", "visits", "both"]
    assert titles(store, wide) == ["visits", "both"]
    assert titles(store, narrow) == ["visits"]
    assert not forget(store, narrow, hidden)


def test_there_is_room_for_so_many_and_replacing_needs_none():
    store = AccessStore(None)
    for n in range(MOST):
        save(store, ANN, f"question {n}", FACTS)
    with pytest.raises(InputError, match="saved already"):
        save(store, ANN, "one more", FACTS)
    save(store, ANN, "question 0", FACTS)

    assert len(kept(store, ANN)) == MOST
