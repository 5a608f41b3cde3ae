"""What is passed by mistake is refused in a sentence, and nothing is made of it."""

import inspect

import pytest

import discreet as dp
from clinic_curator import ABOUT, BUDGET, COUNT, add_visits
from discreet.errors import InputError
from discreet.privacy import Neighbours
from visits import clinic


@pytest.fixture(scope="module")
def curator():
    with dp.Curator.in_memory() as made:
        yield add_visits(made)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"budget": 3}, "a budget is of type int"),
        ({"unit": 3}, "unit is of type int"),
        ({"limits": (2, 4)}, "limits is of type tuple"),
        ({"columns": ["amount"]}, "columns is of type list"),
        ({"columns": {"amount": (0, 1, 2)}}, "what is said about amount is of type tuple"),
        ({"required": "city"}, "required columns are a str"),
    ],
)
def test_what_is_said_about_a_table_has_a_type(curator, said, what):
    with pytest.raises(InputError, match=what):
        curator.add("more", clinic(5), **{**ABOUT, "budget": BUDGET, **said})
    assert list(curator.schema.tables) == ["visits"]


def test_a_table_needs_data(curator):
    with pytest.raises(InputError, match="no data"):
        curator.add("more", None, **ABOUT, budget=BUDGET)


def test_one_name_is_no_list_of_letters(curator):
    accounts = curator.ledger.accounts()
    for wrong in (
        lambda: curator.group("lab", "visits", "alice", BUDGET),
        lambda: curator.link("people", "visits", BUDGET),
        lambda: curator.as_analyst("alice", datasets="visits"),
    ):
        with pytest.raises(InputError, match="a list of names"):
            wrong()
    assert curator.ledger.accounts() == accounts


@pytest.mark.parametrize(("terms"), [{"accuracy": 50}, {"epsilon": 0.1, "weights": ["n"]}])
def test_what_a_question_is_asked_for_has_a_type(curator, terms):
    with pytest.raises(InputError, match="is of type"):
        curator.sql(COUNT, **terms)


@pytest.mark.parametrize("place", [b"c", 3])
def test_a_place_has_a_type(place):
    with pytest.raises(InputError, match="the place of a curator is of type"):
        dp.Curator(place)


def test_the_address_of_a_ledger_has_a_type(tmp_path):
    with pytest.raises(InputError, match="the address of a ledger is of type int"):
        dp.Curator(tmp_path / "c", ledger=3)
    assert not (tmp_path / "c").exists()


def test_neighbours_are_read_by_name(tmp_path):
    assert dp.Curator.in_memory(neighbours="change-one").neighbours is Neighbours.CHANGE_ONE
    for wrong in ("next door", 3):
        with pytest.raises(InputError):
            dp.Curator(tmp_path / "c", neighbours=wrong)
    assert not (tmp_path / "c").exists()


def test_help_shows_what_a_question_can_be_asked_for_and_other_words_are_refused():
    shown = inspect.signature(dp.Curator.sql).parameters

    assert list(shown)[:4] == ["self", "text", "epsilon", "delta"]
    assert inspect.signature(dp.Curator.synthesize).parameters["epsilon"].default is (
        inspect.Parameter.empty
    )
    assert "`intervals=False`" in (dp.Curator.sql.__doc__ or "")
    with dp.Curator.in_memory() as curator, pytest.raises(TypeError, match="takes no 'eps'; it"):
        curator.sql("SELECT COUNT(*) FROM visits", eps=1)
