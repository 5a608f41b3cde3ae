"""A file on its way in over HTTP: reported to its owner, questioned, loaded as was said."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.data import registry
from messy_files import MESSY


def reported(server, token, upload, **said):
    reply = server.post(f"/v1/uploads/{upload}/report", json=said, token=token)
    assert reply.status == 200, reply.body
    return reply.json()


@pytest.mark.parametrize("messy", MESSY, ids=lambda one: one.name)
def test_a_messy_file_is_reported_questioned_and_loaded(server, owner, curator, messy):
    sent = server.post(f"/v1/uploads?name={messy.name}", token=owner, body=messy.content)
    assert sent.status == 201, sent.body
    upload, name = sent.json()["upload"], messy.name.replace(".", "_")
    first = reported(server, owner, upload, unit=messy.unit)
    assert tuple(one["about"] for one in first["questions"]) == messy.asks
    said = {"name": name, "upload": upload, "budget": {"epsilon": 1, "delta": 1e-6}}
    if not first["ready"]:
        refused = server.post("/v1/datasets", json={**said, "unit": messy.unit}, token=owner)
        assert refused.status == 422
        if messy.kind in ("date", "real"):
            assert not any(str(value) in str(refused.error) for value in messy.holds)

    answered = {"reading": messy.answers, "confirm": ["kinds"], "unit": "patient"}
    second = reported(server, owner, upload, **answered)
    assert (second["ready"], second["rows"], second["people"]) == (True, 12, 12)
    [column] = [one for one in second["columns"] if one["name"] == messy.column]
    assert column["kind"] == messy.kind
    assert column["unreadable"] == 0
    kept = {**said, **answered, "reading": second["reading"]}
    for _ in range(1 + (messy is MESSY[0])):  # the reply to the first may be lost
        made = server.post("/v1/datasets", json=kept, token=owner)
        assert made.status == 201, made.body
    assert curator.schema.tables[name].columns[messy.column].kind.value == messy.kind


def test_a_number_that_stands_for_no_value_is_asked_about(server, owner):
    rows = b"".join(b"p%d,%d\n" % (i, -999 if i % 3 == 0 else i) for i in range(12))
    sent = server.post("/v1/uploads?name=a.csv", token=owner, body=b"who,age\n" + rows).json()
    found = reported(server, owner, sent["upload"], unit="who")
    assert [one["about"] for one in found["questions"]] == ["sentinel"]


def test_the_report_is_for_owners_and_of_uploads_alone(server, owner):
    sent = server.post("/v1/uploads?name=a.csv", token=owner, body=b"a,b\n1,2\n").json()
    path = f"/v1/uploads/{sent['upload']}/report"
    assert server.post(path, json={}, token=server.token("ann", "analyst")).status == 403
    assert server.post(path, json={}, token=owner).status == 200
    assert server.post("/v1/uploads/0/report", json={}, token=owner).status == 404
    for wrong in ({"reading": {"colour": 1}}, {"kinds": {"zzz": "real"}}, {"source_table": 3}):
        assert server.post(path, json=wrong, token=owner).status == 422
    lost = {"reading": {"dates": {"a": "%d%m"}}}
    assert server.post(path, json=lost, token=owner).status == 422


def test_a_dataset_is_retired_over_http(server, owner):
    sent = server.post("/v1/uploads?name=old.csv", token=owner, body=b"who,n\na,x\n").json()
    said = {"name": "old", "upload": sent["upload"], "budget": {"epsilon": 1, "delta": 1e-6}}
    assert server.post("/v1/datasets", json={**said, "unit": "who"}, token=owner).status == 201
    path = "/v1/datasets/old/retire"
    assert (
        server.post(path, json={"reason": "over"}, token=server.token("bo", "analyst")).status
        == 403
    )
    assert server.post("/v1/datasets/none/retire", json={"reason": "x"}, token=owner).status == 404
    assert server.post(path, json={"reason": "over"}, token=owner).json()["retired"] is True
    assert server.get("/v1/schema", token=owner).json()["retired"] == ["old"]
    asked = {"sql": "SELECT COUNT(*) AS n FROM old", "epsilon": "0.1"}
    refused = server.post("/v1/queries", json=asked, token=owner)
    assert (refused.status, refused.error["code"]) == (422, "retired")


@pytest.mark.parametrize("name", ["v.duckdb", "v.db", "v.ods", "v.xlsb"])
def test_files_that_reach_further_than_they_look_are_not_taken(server, owner, name):
    assert server.post(f"/v1/uploads?name={name}", token=owner, body=b"x").status == 422


def test_an_upload_stays_where_a_table_was_made_of_it_before_the_disk_failed(
    server, owner, curator, monkeypatch
):
    pq.write_table(pa.table({"who": range(40)}), file := pa.BufferOutputStream())
    sent = server.post(
        "/v1/uploads?name=late.parquet", token=owner, body=file.getvalue().to_pybytes()
    )
    said = {"name": "late", "upload": sent.json()["upload"], "unit": "who"}
    said |= {"budget": {"epsilon": 1, "delta": 1e-6}}

    def fail(_):
        raise OSError(5, "a bad disk")

    with monkeypatch.context() as patch:
        patch.setattr(registry, "sync_folder", fail)
        assert server.post("/v1/datasets", json=said, token=owner).status >= 500
    curator.sql("SELECT COUNT(*) AS n FROM late", epsilon=0.1)
    assert server.post("/v1/datasets", json=said, token=owner).status == 201  # asked again
