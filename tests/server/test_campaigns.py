"""Campaigns: reports from anybody, kept before the reply, counted once."""

import os
import signal
import threading
import time

import pytest

import discreet as dp
from discreet import local
from discreet.local.campaigns import CampaignStore
from running_server import serving
from visits_folder import make

POLL = local.HadamardResponse(epsilon=2, domain=["tea", "coffee", "water"])
ENDS = "2931-01-01T00:00:00+00:00"


def begin(server, owner, name, protocol=POLL, **more):
    said = {"name": name, "protocol": protocol.to_dict(), "ends": ENDS, **more}
    return server.post("/v1/campaigns", token=owner, json=said)


def frames(value, count):
    return b"".join(POLL.reporter().report(value) for _ in range(count))


def test_a_campaign_from_parameters_to_a_public_table(server, owner, curator):
    told = begin(server, owner, "drinks")
    assert told.status == 201
    parameters = server.get("/v1/campaigns/drinks").json()["protocol"]
    protocol = local.LocalProtocol.from_dict(parameters)
    assert (protocol, told.json()["digest"]) == (POLL, POLL.digest.hex())

    sent = server.post("/v1/reports/drinks", body=frames("tea", 600) + frames("water", 200))
    assert (sent.status, sent.json()["accepted"]) == (200, 800)

    found = server.get("/v1/campaigns/drinks/estimate", token=owner).json()
    rows = {row["value"]: row for row in found["rows"]}
    assert (found["n"], found["values"]) == (800, 3)
    assert rows["tea"]["lower"] <= 600 <= rows["tea"]["upper"]
    assert found["rows"][0]["value"] == "tea"

    kept = server.post("/v1/campaigns/drinks/table", token=owner, json={"table": "drinks"})
    assert kept.status == 201
    assert "drinks" in curator.schema.tables
    asked = "SELECT value FROM drinks WHERE estimate = (SELECT MAX(estimate) FROM drinks)"
    free = server.post("/v1/queries", token=owner, json={"sql": asked}).json()
    assert (free["rows"], free["id"], free["price"]["epsilon"]) == ([["tea"]], 0, 0)
    with dp.Curator(server.url, token=owner) as remote:
        assert remote.sql(asked) == remote.sql(asked, epsilon=1) == curator.sql(asked)
    listed = server.get("/v1/campaigns").json()["campaigns"]
    assert "drinks" in [one["name"] for one in listed]


def test_a_campaign_of_a_sketch_looks_listed_values_up(server, owner):
    sketch = local.CountMeanSketch(epsilon=9)
    assert begin(server, owner, "sites", sketch, values=["a.org", "b.org"]).status == 201
    assert server.get("/v1/campaigns/sites").json()["values"] == ["a.org", "b.org"]
    server.post("/v1/reports/sites", body=sketch.reporter().report(["b.org"] * 200))

    rows = server.get("/v1/campaigns/sites/estimate", token=owner).json()["rows"]
    assert [row["value"] for row in rows] == ["b.org", "a.org"]
    kept = server.post("/v1/campaigns/sites/table", token=owner, json={"table": "sites"})
    assert kept.status == 201


def test_what_is_refused_is_counted_and_takes_no_room(server, owner, folder):
    begin(server, owner, "refusing")
    log = folder / "campaigns" / "refusing" / "reports"
    good = frames("tea", 3)
    server.post("/v1/reports/refusing", body=good)
    size = log.stat().st_size
    told = [
        server.post("/v1/reports/refusing", body=body).json()["rejected"]
        for body in (good, b"nonsense", good[:4] + bytes(60))
    ]

    assert [one["replayed"] for one in told] == [3, 0, 0]
    assert [one["malformed"] for one in told] == [0, 1, 0]
    assert told[2]["wrong parameters"] == 1
    assert log.stat().st_size == size


def test_a_campaign_has_an_end_and_a_size(server, owner):
    begin(server, owner, "past", ends="2001-01-01T00:00:00")
    begin(server, owner, "small", most_reports=5)
    server.post("/v1/reports/small", body=frames("tea", 5))
    over = server.post("/v1/reports/past", body=frames("tea", 1))
    full = server.post("/v1/reports/small", body=frames("tea", 1))

    assert (over.status, over.error["what"]) == (422, "this campaign is over")
    assert (full.status, full.error["what"]) == (422, "this campaign is full")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "../up"},
        {"name": "Drinks"},
        {"ends": "tomorrow, perhaps"},
        {"protocol": {"protocol": "none/1", "epsilon": "1"}},
        {"protocol": {**POLL.to_dict(), "epsilon": "x"}},
        {"protocol": {**POLL.to_dict(), "more": 1}},
        {"protocol": {"protocol": POLL.kind}},
        {"protocol": local.Rappor().to_dict()},
        {"protocol": local.Rappor().to_dict(), "values": ["a", "a"]},
        {"values": ["tea"]},
    ],
)
def test_campaigns_that_make_no_sense_are_refused(server, owner, wrong):
    said = {"name": "senseless", "protocol": POLL.to_dict(), "ends": ENDS} | wrong
    answer = server.post("/v1/campaigns", token=owner, json=said)

    assert answer.status == 422
    assert server.get("/v1/campaigns/senseless").status == 404


def test_a_name_is_taken_once(server, owner):
    assert begin(server, owner, "once").status == 201
    assert begin(server, owner, "once").status == 422
    assert server.post("/v1/reports/never", body=frames("tea", 1)).status == 404


def test_means_and_heavy_hitters_are_shown_with_intervals(server, owner):
    hours = local.PiecewiseMean(epsilon=1, lower=0, upper=24)
    begin(server, owner, "hours", hours)
    server.post("/v1/reports/hours", body=hours.reporter().report([8.0] * 4000))
    found = server.get("/v1/campaigns/hours/estimate", token=owner).json()["rows"]

    assert [row["value"] for row in found] == ["mean"]
    assert found[0]["lower"] <= 8 <= found[0]["upper"]
    words = local.HeavyHitters(epsilon=2, length=2)
    begin(server, owner, "words", words)
    empty = server.get("/v1/campaigns/words/estimate", token=owner)
    assert (empty.status, empty.json()["rows"]) == (200, [])


def test_nothing_that_was_confirmed_is_lost_when_the_server_is_killed(tmp_path):
    """Killed after it said 200, and every report is there again."""
    folder = make(tmp_path)
    confirmed = []
    with serving(folder) as server:
        owner = server.token()
        begin(server, owner, "crash")
        for _ in range(4):
            confirmed.append(frames("tea", 50))
            assert server.post("/v1/reports/crash", body=confirmed[-1]).status == 200
        os.killpg(server.process.pid, signal.SIGKILL)
    log = folder / "campaigns" / "crash" / "reports"
    with log.open("ab") as torn:  # what a crash in mid-write leaves
        torn.write(b"\x40\0\0\0\1\2\3")
    store = CampaignStore(folder / "campaigns")
    found, _ = store.find("crash").read()
    again = store.collect(store.find("crash"), b"".join(confirmed))

    assert found.n == 200
    assert again.rejected["replayed"] == 200
    dp.Curator(folder).close()


def test_a_campaign_in_memory_ends_with_its_server():
    from running_server import served

    with dp.Curator.in_memory() as curator, served(curator) as server:
        owner = server.token()
        assert begin(server, owner, "short-lived").status == 201
        assert server.post("/v1/reports/short-lived", body=frames("tea", 2)).json()["accepted"] == 2


def test_estimates_are_joined_to_private_rows_for_nothing(server, owner):
    homes = local.KRandomizedResponse(epsilon=3, domain=["Austin", "Haifa"])
    begin(server, owner, "homes", homes)
    server.post("/v1/reports/homes", body=homes.reporter().report(["Austin"] * 300))
    server.post("/v1/campaigns/homes/table", token=owner, json={"table": "homes"})
    alone = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
    joined = (
        "SELECT city, COUNT(*) AS n FROM visits JOIN homes ON city = value "
        "WHERE estimate > 100 GROUP BY city"
    )
    prices = [
        server.post("/v1/explain", token=owner, json={"sql": sql, "epsilon": 0.1})
        for sql in (alone, joined)
    ]

    assert [one.status for one in prices] == [200, 200]
    answer = server.post("/v1/queries", token=owner, json={"sql": joined, "epsilon": 0.1})
    assert answer.status == 200


def test_reports_that_wait_for_each_other_take_no_thread_of_others(server, owner):
    """Anybody may send reports: whoever makes them wait must not make everybody wait."""
    begin(server, owner, "slow")
    state = server.app.state
    log = state.app_state.campaigns.find("slow")
    with log._lock:
        sent = [
            threading.Thread(
                target=server.post, args=("/v1/reports/slow",), kwargs={"body": frames("tea", 1)}
            )
            for _ in range(8)
        ]
        for one in sent:
            one.start()
        while state.collecting.statistics().tasks_waiting < 8 - state.collecting.total_tokens:
            time.sleep(0.01)
        assert server.get("/v1/campaigns/slow").status == 200
        assert state.collecting.borrowed_tokens == state.collecting.total_tokens
    for one in sent:
        one.join()
    assert log.read()[0].n == 8
