"""What is counted and logged: routes and statuses, and nothing that anybody sent."""

import json
import logging

from discreet.server.logs import JsonFormatter, Metrics, place


def test_counts_add_up_by_class_of_status():
    metrics = Metrics(worker=1)
    for status in (200, 201, 404, 503):
        metrics.count("/v1/queries", "POST", status)

    lines = metrics.text().splitlines()

    assert [line.rsplit(" ", 1)[1] for line in lines[2:5]] == ["2", "1", "1"]
    assert lines[2].startswith(
        'discreet_requests_total{route="/v1/queries",method="POST",status="2'
    )


def test_questions_that_overrun_are_counted_and_logged(caplog):
    metrics = Metrics(worker=1)
    metrics.overrun()

    assert metrics.text().splitlines()[-1] == 'discreet_overruns_total{worker="1"} 1'
    assert "overran its step" in caplog.text


def test_of_an_exception_its_class_and_place_are_logged():
    try:
        int("the canary is 4711")
    except ValueError as error:
        found = place(error)
        record = logging.LogRecord("x", 40, "f", 1, "told %s", ("4711",), (None, error, None))

    line = json.loads(JsonFormatter().format(record))

    assert found["error"] == "ValueError"
    assert "4711" not in json.dumps(line)
    assert line["error"] == "ValueError"


def test_messages_of_other_packages_are_lines_of_json():
    record = logging.LogRecord("x", 30, "f", 1, "a\nb %s", ("c",), None)

    line = JsonFormatter().format(record)

    assert "\n" not in line
    assert json.loads(line)["event"] == "a\nb c"
