"""The lab over HTTP: exact curves, a class, attacks within their bound, and nothing open-ended."""

import json
import threading
import time
from dataclasses import replace

import pytest

import discreet as dp
from discreet.attacks import Outcome
from discreet.lab import AGAINST, PLAYS
from discreet.lab.bench import EPSILONS, Bench
from discreet.lab.curves import EPSILONS as STOPS
from discreet.lab.curves import NOISES, curves
from discreet.lab.quantum import sweep
from discreet.noise.bits import replaced
from discreet.server.routes import lab
from running_server import QUICK, served


@pytest.fixture(scope="module")
def server():
    with dp.Curator.in_memory() as curator, served(curator, settings=QUICK) as one:
        yield one


def attack(server, name, **body):
    return server.post(f"/v1/lab/attacks/{name}", json=body)


# --- noise ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", NOISES)
def test_curves_are_those_of_the_lab(server, noise):
    said = server.get(f"/v1/lab/noise?noise={noise}&epsilon=0.5").json()
    drawn = curves(noise, 0.5)

    assert (said["noise"], said["epsilon"]) == (noise, 0.5)
    assert said["without"] == list(drawn.without)
    assert said["joined"] == list(drawn.joined)
    assert said["floor"] == [list(pair) for pair in drawn.floor]
    assert (said["of_strangers"], said["of_people"]) == (10, drawn.of_people)
    assert said["stops"] == [float(one) for one in STOPS]
    assert said["reading"] == drawn.reading


@pytest.mark.parametrize(
    "asked",
    [
        "noise=laplace",
        "epsilon=1",
        "noise=laplace&epsilon=0.123",
        "noise=laplace&epsilon=nan",
        "noise=laplace&epsilon=inf",
        "noise=laplace&epsilon=-1",
        "noise=laplace&epsilon=1e-300",
        "noise=laplace&epsilon=" + "9" * 4000,
        "noise=static&epsilon=1",
        "noise=gaussian&epsilon=1%00",
        "noise=gaussian&epsilon=1/3",
    ],
)
def test_noise_that_is_not_on_the_list_is_refused(server, asked):
    answer = server.get(f"/v1/lab/noise?{asked}")

    assert answer.status == 422
    assert answer.error["kind"] == "InputError"
    assert "9999" not in answer.body.decode()


# --- the classroom ------------------------------------------------------------------------------


def test_a_class_answers_by_coins(server):
    said = server.post("/v1/lab/classroom", json={"pupils": 2000, "share": 0.25}).json()
    lies = sum(a != r for a, r in zip(said["answers"], said["reports"], strict=True))

    assert len(said["reports"]) == 2000
    assert said["answers"].count("1") == 500
    assert (said["truth"], said["lie"]) == (0.75, 0.25)
    assert (said["before"], said["after_no"], said["after_yes"]) == (10, 3, 25)
    # Fresh coins: seven deviations are passed once in 10^11 runs.
    assert abs(lies - 500) < 7 * (2000 * 3 / 16) ** 0.5


@pytest.mark.parametrize("protocol", ["randomized-response", "hadamard", "hashing", "unary"])
def test_a_poll_of_devices_is_estimated_with_intervals(server, protocol):
    body = {"protocol": protocol, "people": 10_000, "epsilon": 2}
    said = server.post("/v1/lab/poll", json=body).json()

    assert sum(row["truth"] for row in said["rows"]) == 10_000
    assert all(row["lower"] <= row["upper"] for row in said["rows"])
    assert len(said["first"]["report"]) == 2 * said["report_bytes"]
    assert server.post("/v1/lab/poll", json={"people": 10**7}).status == 422


def test_coins_are_tossed_anew_for_the_same_class(server):
    one, two = (server.post("/v1/lab/classroom", json={"pupils": 500}).json() for _ in range(2))

    assert one["answers"] == two["answers"]
    assert one["reports"] != two["reports"]


@pytest.mark.parametrize(
    "body",
    [
        {"pupils": 0},
        {"pupils": 10**9},
        {"pupils": 2.5},
        {"pupils": "100"},
        {"pupils": True},
        {"heads": 0},
        {"heads": 1},
        {"heads": "0.5"},
        {"share": 1.01},
        {"share": -0.0001},
        {"population": -1},
        {"population": 2**64},
        {"answers": "0101"},
        [],
        None,
    ],
)
def test_a_class_that_cannot_be_is_refused(server, body):
    answer = server.post("/v1/lab/classroom", body=json.dumps(body), headers=_JSON)

    assert answer.status == 422
    assert answer.error["kind"] == "InputError"


_JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("text", ['{"heads": NaN}', '{"share": Infinity}', "{", "", "\x00"])
def test_bodies_that_are_no_json_are_refused(server, text):
    for path in ("classroom", "attacks/differencing"):
        answer = server.post(f"/v1/lab/{path}", body=text.encode(), headers=_JSON)
        assert answer.status == 422


# --- attacks ------------------------------------------------------------------------------------


def test_the_list_says_what_can_be_asked_for(server):
    said = server.get("/v1/lab/attacks").json()

    assert [one["name"] for one in said["attacks"]] == list(PLAYS)
    assert said["epsilons"] == [float(one) for one in EPSILONS]
    for one in said["attacks"]:
        assert one["efforts"] == list(PLAYS[one["name"]].story.efforts)
        assert one["title"]
        assert one["caution"].endswith(".")


@pytest.fixture
def still(monkeypatch, fixed_bits):
    """A bench without runs whose noise is the same on every run of the tests."""

    def steady(one):
        def run(setting, **sizes):
            with replaced(lambda: fixed_bits):
                return one.run(setting, **sizes)

        return replace(one, run=run)

    monkeypatch.setattr("discreet.lab.PLAYS", {name: steady(one) for name, one in PLAYS.items()})
    monkeypatch.setattr(lab, "_bench", Bench())


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("name", PLAYS)
def test_raw_answers_break_the_promise_and_private_ones_keep_it(server, name):
    sides, times = {}, []
    for against in ("raw", "private"):
        began = time.process_time()  # the server runs in a thread of this process
        sides[against] = attack(server, name, against=against).json()
        times.append(time.process_time() - began)

    assert sides["raw"]["refutes"]
    kept = sides["private"]
    # With fresh noise chance does so once in 100,000 runs at the worst.
    assert not kept["refutes"]
    assert sides["raw"]["success"] > kept["success"]
    assert kept["sentence"] != sides["raw"]["sentence"]
    assert max(times) < 15  # a second or two of computing, however busy the machine


def test_a_run_is_told_again_as_it_was(server):
    asked = {"against": "private", "epsilon": 3, "population": 2}
    one, two = (attack(server, "differencing", **asked).body for _ in range(2))

    assert one == two


def test_populations_are_other_people(server):
    asked = [{"against": "rounded", "population": population} for population in range(5)]
    rates = {attack(server, "differencing", **body).json()["success"] for body in asked}

    assert len(rates) > 1


def test_a_classical_defence_can_be_asked_for(server):
    assert [attack(server, "averaging", against=one).status for one in AGAINST] == [200] * 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"against": "everybody"},
        {"against": "raw", "epsilon": 0.5},
        {"against": "raw", "epsilon": 1e308},
        {"against": "raw", "epsilon": "1"},
        {"against": "raw", "effort": 10**9},
        {"against": "raw", "effort": 3},
        {"against": "raw", "effort": -1},
        {"against": "raw", "population": 99},
        {"against": "raw", "seed": 1},
    ],
)
def test_runs_that_are_not_on_the_list_are_refused(server, body):
    answer = attack(server, "reconstruct", **body)

    assert answer.status == 422
    assert answer.error["fix"]


@pytest.mark.parametrize(
    "name", ["gossip", "..%2f..%2fattacks", "%00", "x" * 41, "reconstruct%0a", "RECONSTRUCT"]
)
def test_unknown_attacks_are_not_found(server, name):
    assert attack(server, name, against="raw").status in {404, 422}


def test_one_run_at_a_time_and_others_are_told_when_to_come_again(server, monkeypatch):
    begun, go = threading.Event(), threading.Event()

    def slow(_):
        begun.set()
        go.wait(120)
        return Outcome(1, 0.5, 0.7, 10)

    watched = {**PLAYS, "census": replace(PLAYS["census"], run=slow)}
    monkeypatch.setattr("discreet.lab.PLAYS", watched)
    first = threading.Thread(target=attack, args=(server, "census"), kwargs={"against": "raw"})
    first.start()
    begun.wait(60)
    try:
        refused = attack(server, "intersection", against="raw", population=4)
        # Whatever needs no run is answered meanwhile, and no question is held up.
        assert server.get("/v1/lab/noise?noise=laplace&epsilon=1").status == 200
        assert server.get("/v1/health").status == 200
    finally:
        go.set()
        first.join(60)

    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert refused.error["kind"] == "ServiceError"
    assert attack(server, "intersection", against="raw", population=4).status == 200


def test_the_lab_touches_neither_ledger_nor_datasets(server):
    ledger = server.app.state.app_state.curator.ledger
    before = ledger.head()
    attack(server, "differencing", against="private", epsilon=10)
    server.get("/v1/lab/noise?noise=laplace&epsilon=2")

    assert ledger.head() == before


def test_a_page_of_somebody_else_cannot_make_visitors_run_attacks(server):
    headers = {"Origin": "https://elsewhere.example"}
    answer = server.post("/v1/lab/attacks/census", json={"against": "raw"}, headers=headers)

    assert answer.status == 403


def test_a_run_tells_its_sampling_error_and_what_an_analyst_still_learns(server):
    sides = {one: attack(server, "reconstruct", against=one).json() for one in ("raw", "private")}

    for run in sides.values():
        assert run["lower"] <= run["success"] <= run["upper"]
    assert sides["raw"]["learnt"] is None
    learnt = sides["private"]["learnt"]
    assert learnt["asked"] == "How many of the 128 people have the secret?"
    # Fresh noise of scale 1: beyond 30 once in 10^13 runs.
    assert abs(learnt["answer"] - learnt["truth"]) < 30


# --- the other chapters ---------------------------------------------------------------------------


def test_attacks_stand_in_chapters_with_cases(server):
    said = server.get("/v1/lab/attacks").json()

    assert [one["name"] for one in said["chapters"]] == ["names", "sums", "tricks", "again"]
    assert all(case["source"] for one in said["chapters"] for case in one["cases"])
    assert {one["raw"] for one in said["attacks"]} >= {"exact answers", "textbook noise"}


def test_real_epsilons_are_listed_with_sources(server):
    said = server.get("/v1/lab/deployments").json()

    assert all(one["source"] and one["shown"] > 0 for one in said)


def test_a_town_is_released_and_its_noise_is_new(server):
    one, two = (server.get("/v1/lab/society?epsilon=0.5").json() for _ in range(2))

    assert one["truth"] == two["truth"]
    assert one["published"] != two["published"]
    assert [level["places"] for level in one["levels"]] == [1, 4, 64]
    assert one["epsilon"] in [point[0] for point in one["frontier"]]


@pytest.mark.parametrize(
    "asked",
    [
        "society",
        "society?epsilon=0.3",
        "society?epsilon=nan",
        "society?epsilon=1e9",
        "quantum?qubits=3",
        "quantum?qubits=64",
        "quantum?qubits=four",
    ],
)
def test_chapters_play_what_is_on_their_lists(server, asked):
    assert server.get(f"/v1/lab/{asked}").status == 422


def test_qubits_are_measured_as_the_library_does(server):
    said = server.get("/v1/lab/quantum?qubits=2").json()

    assert said["damage"] == pytest.approx(list(sweep(2).damage))
    assert len(said["after"]) == len(said["epsilons"])


def test_everybody_reads_the_dossier_of_a_made_up_clinic(server):
    titles = [one["title"] for one in server.get("/v1/lab/dossier").json()["sections"]]

    assert {"GDPR", "HIPAA", "FERPA", "NIST SP 800-226"} <= set(titles)
