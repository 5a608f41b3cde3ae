"""Many readers of a large answer take disk, not memory; what they read is the same as ever."""

import csv
import http.client
import io
import json
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.answer.present.release import Release
from discreet.answer.present.release_json import release_facts
from running_server import serving

READERS = 16
BY_KEY = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


def answered(folder, groups):
    """Make a folder with an answer of so many groups; the answer and its charge."""
    rows = pa.table({"who": [1, 2, 3], "k": [0, 1, 1]})
    with dp.Curator(folder) as curator:
        more = {"columns": {"k": dp.Keys(range(groups))}, "required": ["k"]}
        more["limits"] = dp.Limits(max_groups=1, max_rows=1)
        curator.add("t", rows, unit="who", budget=dp.Budget(epsilon=10), **more)
        release = curator.sql(BY_KEY, epsilon=1)
        return release, curator.async_session(None).newest()[0].sequence


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "c"
    release, charge = answered(folder, 100_000)
    with serving(folder) as server:
        yield server, release, charge


def read(server, charge, form="json", token=None):
    token = token or server.token()
    reply = server.get(f"/v1/releases/{charge}?format={form}", token=token, timeout=120)
    assert reply.status == 200, reply.body[:500]
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    return reply.body


def test_every_form_says_what_a_small_answer_would(large):
    server, release, charge = large
    told = json.loads(read(server, charge))

    assert release_facts(release).items() <= told.items()
    assert told["id"] == charge
    assert Release.from_bytes(read(server, charge, "arrow")) == release
    assert pq.read_table(io.BytesIO(read(server, charge, "parquet"))) == release.to_arrow()
    rows = csv.reader(io.StringIO(read(server, charge, "csv").decode()))
    assert next(rows) == release.to_arrow().column_names
    assert sum(1 for _ in rows) == 100_000


def test_asking_again_is_answered_from_the_file_too(large):
    server, release, _ = large
    with dp.Curator(server.url, token=server.token()) as remote:
        assert remote.sql(BY_KEY, epsilon=1) == release


def grown(server, charge, readers):
    """Bytes by which a server grows while readers take their answers slowly."""
    token, before, most = server.token(), resident(server), [0]
    connections = []
    for _ in range(readers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        head = {"Authorization": f"Bearer {token}"}
        connection.request("GET", f"/v1/releases/{charge}", headers=head)
        connections.append(connection)
    ends = [threading.Thread(target=_sip, args=(one,)) for one in connections]
    for thread in ends:
        thread.start()
    while any(thread.is_alive() for thread in ends):
        most[0] = max(most[0], resident(server))
        time.sleep(0.05)
    return most[0] - before


def _sip(connection):
    reply = connection.getresponse()
    assert reply.status in {200, 503}  # busy, on a machine that is
    while reply.read(1 << 20):
        time.sleep(0.01)
    connection.close()


def resident(server):
    text = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(text.partition("RssAnon:")[2].split()[0]) << 10


def test_sixteen_readers_take_hardly_more_memory_than_two(large):
    server, _, charge = large
    grown(server, charge, 2)

    assert grown(server, charge, READERS - 1) < 100 << 20


@pytest.mark.audit
def test_sixteen_readers_of_a_million_groups(tmp_path):
    """They took 4 GB."""
    _, charge = answered(tmp_path / "c", 1_000_000)
    with serving(tmp_path / "c") as server:
        assert grown(server, charge, READERS - 1) < 1 << 30
