# ruff: noqa: S608 - the questions are made here, of fixed parts
import datetime as dt

from clinic import CLINIC
from discreet.plan import canonical
from discreet.sql.reader.read import read

NOW = dt.datetime(2026, 3, 1, 12, 30, 15, 999, tzinfo=dt.UTC)


def test_the_clock_becomes_a_date_in_the_question():
    asked = read(
        "SELECT COUNT(*) FROM visits WHERE day >= CURRENT_DATE - INTERVAL 30 DAY", CLINIC, NOW
    )
    written = "SELECT COUNT(*) FROM visits WHERE day >= DATE '2026-03-01' - INTERVAL 30 DAY"
    assert asked == read(written, CLINIC)
    assert canonical.read(canonical.write(asked), CLINIC) == asked


def test_now_is_the_second_in_which_it_is_asked():
    asked = read("SELECT COUNT(*) FROM visits WHERE seen < NOW()", CLINIC, NOW)
    assert asked == read(
        "SELECT COUNT(*) FROM visits WHERE seen < TIMESTAMP '2026-03-01 12:30:15'", CLINIC
    )
    for spelling in ("CURRENT_TIMESTAMP", "LOCALTIMESTAMP", "get_current_timestamp()"):
        text = "SELECT COUNT(*) FROM visits WHERE seen < " + spelling
        assert read(text, CLINIC, NOW) == asked


def test_without_a_time_it_is_the_clock_s():
    before = dt.datetime.now(dt.UTC).date()
    query = read("SELECT COUNT(*) FROM visits WHERE day = CURRENT_DATE", CLINIC)
    after = dt.datetime.now(dt.UTC).date()
    assert before <= query.relation.predicate.arguments[1].value <= after
