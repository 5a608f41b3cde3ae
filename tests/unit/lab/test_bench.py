import threading
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.attacks import Outcome
from discreet.errors import InputError, ServiceError
from discreet.lab import PLAYS, Play, Setting
from discreet.lab.bench import EPSILONS, POPULATIONS, Bench
from discreet.lab.stories import STORIES
from discreet.lab.useful import USEFUL, learn


def test_every_play_can_be_watched():
    assert all(one.available for one in PLAYS.values())


@pytest.fixture
def differencing(monkeypatch):
    """Puts a run with some efforts in place of all plays."""

    def put(run, efforts=(1,)):
        story = replace(STORIES["differencing"], efforts=efforts, sizes={})
        monkeypatch.setattr("discreet.lab.PLAYS", {"differencing": Play(story, run)})

    return put


@pytest.mark.parametrize("name", PLAYS)
def test_efforts_grow(name):
    efforts = PLAYS[name].story.efforts

    assert list(efforts) == sorted(set(efforts))
    assert efforts[0] >= 1


@pytest.mark.parametrize("name", ["reconstruct", "averaging", "leaderboard", "repeated-zero"])
def test_an_attacker_who_tries_harder_finds_more(name):
    against = "rounded" if name == "averaging" else "raw"
    first, last = (
        Bench().run(name, against, effort=PLAYS[name].story.efforts[i])[0] for i in (0, -1)
    )

    assert last.success > first.success


def test_a_run_that_was_made_is_told_again_as_it_was(differencing):
    made = []

    def run(setting):
        made.append(setting)
        return Outcome(len(made) / 10, 0.5, 0.7, 10)

    differencing(run, (1, 2))
    kept = Bench()
    first = kept.run("differencing", "raw")

    assert kept.run("differencing", "raw") is first
    assert kept.run("differencing", "raw", effort=1) is not first
    assert kept.run("differencing", "raw", epsilon=3) is not first
    assert kept.run("differencing", "raw", population=1) is not first
    assert kept.run("differencing", "private") is not first
    assert [setting.effort for setting in made] == [2, 1, 2, 2, 2]


def test_runs_are_made_one_at_a_time_and_nobody_waits(differencing):
    begun, go = threading.Event(), threading.Event()

    def run(_):
        begun.set()
        go.wait(120)
        return Outcome(1, 0.5, 0.7, 10)

    differencing(run)
    shared, found = Bench(), []
    first = threading.Thread(target=lambda: found.append(shared.run("differencing", "raw")))
    first.start()
    begun.wait(60)
    with pytest.raises(ServiceError, match="another attack"):
        shared.run("differencing", "private")
    go.set()
    first.join(60)

    assert shared.run("differencing", "raw") is found[0]
    assert shared.run("differencing", "private")[0].success == 1


def test_a_run_that_fails_lets_the_next_one_in(differencing):
    def run(setting):
        if setting.against == "raw":
            raise InputError("nothing", why="a test", fix="none")
        return Outcome(1, 0.5, 0.7, 10)

    differencing(run)
    shared = Bench()
    with pytest.raises(InputError):
        shared.run("differencing", "raw")

    assert shared.run("differencing", "private")[0].success == 1


def test_only_making_a_run_happens_within_the_context():
    entered = []

    @contextmanager
    def slot():
        entered.append(True)
        yield

    shared = Bench()
    for _ in range(2):
        shared.run("differencing", "raw", within=slot())

    assert entered == [True]


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 2},
        {"epsilon": 0},
        {"epsilon": Fraction(1, 3)},
        {"epsilon": float("nan")},
        {"effort": 0},
        {"effort": 10**9},
        {"effort": -1},
        {"population": -1},
        {"population": POPULATIONS},
    ],
)
def test_what_is_not_on_the_list_is_refused(asked):
    with pytest.raises(InputError):
        Bench().run("reconstruct", "raw", **asked)


def test_unknown_attacks_and_answers_are_refused():
    with pytest.raises(InputError, match="no attack"):
        Bench().run("gossip", "raw")
    with pytest.raises(InputError, match="against"):
        Bench().run("differencing", "everybody")


def test_the_promises_are_those_of_the_slider():
    assert Fraction(1) in EPSILONS
    assert list(EPSILONS) == sorted(EPSILONS)


@pytest.mark.parametrize("name", PLAYS)
def test_the_promise_that_stops_an_attacker_still_buys_an_analyst_a_count(name):
    story = PLAYS[name].story
    found = learn(name, Setting("private", story.efforts[-1]), **story.sizes)

    assert found.asked.endswith("?")
    assert f"{found.people:,}" in found.asked
    assert 0 < found.truth < found.people
    assert found.half_width == 3.5
    # Noise of scale 1 is above 20 once in 10^8 draws, and the bits are fixed.
    assert abs(found.answer - found.truth) < 20


def test_what_an_analyst_learns_stands_beside_private_answers_only():
    sides = {against: Bench().run("reconstruct", against)[1] for against in ("raw", "private")}

    assert sides["raw"] is None
    assert sides["private"].people == 128


def test_every_play_has_an_honest_question():
    assert list(USEFUL) == list(PLAYS)
