"""The file of a campaign: several processes, a full disk, a crash in mid-write."""

import os
from datetime import UTC, datetime

import numpy as np
import pytest

from discreet import local
from discreet.errors import InputError, LedgerError
from discreet.local.campaigns import CampaignStore
from discreet.local.reports import write_frame

POLL = local.HadamardResponse(epsilon=1, domain=8)
CAMPAIGN = local.Campaign("poll", POLL, datetime(2931, 1, 1, tzinfo=UTC))


@pytest.fixture
def stores(tmp_path):
    """Two processes' views of one folder."""
    one, other = CampaignStore(tmp_path), CampaignStore(tmp_path)
    one.begin(CAMPAIGN)
    return one, other


def frames(count):
    return b"".join(POLL.reporter().report(i % 8) for i in range(count))


def test_a_frame_counts_once_whichever_process_it_comes_to(stores):
    sent, more = frames(5), frames(3)
    first = stores[0].collect(stores[0].find("poll"), sent)
    second = stores[1].collect(stores[1].find("poll"), sent + more)

    assert (first.n, second.n, second.rejected["replayed"]) == (5, 3, 5)
    assert [store.find("poll").read()[0].n for store in stores] == [8, 8]
    assert stores[0].find("poll").read()[1].equals(stores[1].find("poll").read()[1])


def test_what_could_not_be_written_does_not_count(stores, monkeypatch):
    log = stores[0].find("poll")
    stores[0].collect(log, frames(2))
    sent = frames(4)
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space")))
        with pytest.raises(LedgerError, match="No space"):
            stores[0].collect(log, sent)
    os.truncate(log._path, 82)  # as a disk without room would have left it
    assert log.read()[0].n == 2
    assert stores[0].collect(log, sent).n == 4


def test_a_record_that_a_crash_cut_short_is_dropped(stores, tmp_path):
    stores[0].collect(stores[0].find("poll"), frames(5))
    log = tmp_path / "poll" / "reports"
    whole = log.read_bytes()
    log.write_bytes(whole + whole[:-3])
    fresh = CampaignStore(tmp_path)

    assert fresh.find("poll").read()[0].n == 5
    assert log.read_bytes() == whole


def test_an_end_has_a_time_zone_and_a_name_is_plain():
    with pytest.raises(InputError, match="time zone"):
        local.Campaign("poll", POLL, datetime(2931, 1, 1))  # noqa: DTZ001 - what is refused
    with pytest.raises(InputError, match="name"):
        local.Campaign("../x", POLL, CAMPAIGN.ends)
    assert local.Campaign.from_dict(CAMPAIGN.to_dict()) == CAMPAIGN


@pytest.mark.parametrize("values", [(), ("a", "a"), ("a", 1), (True,), (2**64,), range(1001)])
def test_a_sketch_is_asked_about_listed_values(values):
    with pytest.raises(InputError, match="look up"):
        local.Campaign("x", local.CountMeanSketch(epsilon=1), CAMPAIGN.ends, values=values)
    with pytest.raises(InputError, match="look up"):
        local.Campaign("x", POLL, CAMPAIGN.ends, values=("a",))


@pytest.mark.parametrize(
    ("protocol", "held", "values"),
    [
        (local.CountMeanSketch(epsilon=9), ["tea"] * 300, ("tea", "coffee")),
        (local.HadamardCountMeanSketch(epsilon=9), [7] * 300, (7, 8)),
        (local.Rappor(), ["tea"] * 3000, ("tea", "coffee")),
        (local.UnitVectorMean(epsilon=9, dimension=2), [[1.0, 0.0]] * 300, ()),
    ],
)
def test_every_protocol_has_a_table_of_estimates(tmp_path, protocol, held, values):
    store = CampaignStore(tmp_path)
    store.begin(local.Campaign("x", protocol, CAMPAIGN.ends, values=values))
    store.collect(store.find("x"), protocol.reporter().report(held))
    again = CampaignStore(tmp_path).find("x")

    done, table = again.read()
    rows = table.to_pylist()
    assert again.campaign.values == values
    assert done.n == len(held)
    assert [row["value"] for row in rows] == list(values or ("mean 0", "mean 1"))
    assert rows[0]["lower"] > rows[1]["upper"]
    assert ("p_value" in table.column_names) is isinstance(protocol, local.Rappor)


def test_a_store_without_a_folder_is_empty_until_it_is_used():
    store = CampaignStore(None)
    assert store.names() == []
    assert store.find("poll") is None
    store.begin(CAMPAIGN)
    assert store.names() == ["poll"]
    with pytest.raises(InputError, match="already"):
        store.begin(CAMPAIGN)
    store.close()


def test_a_campaign_holds_no_more_reports_than_it_said(tmp_path):
    store = CampaignStore(tmp_path)
    store.begin(local.Campaign("few", POLL, CAMPAIGN.ends, most_reports=10))
    log = store.find("few")
    with pytest.raises(InputError, match="room"):
        store.collect(log, POLL.reporter().report([1] * 11))
    assert store.collect(log, POLL.reporter().report([1] * 10)).n == 10


def test_only_what_counts_takes_room(stores, tmp_path):
    """Junk, repeats and malformed rows behind a good report are not kept with it."""
    log, place = stores[0].find("poll"), tmp_path / "poll" / "reports"
    seen = frames(20)
    stores[0].collect(log, seen)
    size = place.stat().st_size
    mixed = write_frame(POLL.digest, np.array([[1], [255], [2]], dtype=np.uint8))
    told = stores[0].collect(log, seen + frames(1) + mixed + bytes(100_000))

    assert (told.n, told.rejected["replayed"], told.rejected["malformed"]) == (3, 20, 2)
    assert place.stat().st_size - size < 100
    assert stores[1].find("poll").read()[0].n == 23


def test_confirmed_reports_are_not_cut_off_behind_one_that_was_changed(stores, tmp_path):
    for _ in range(5):
        stores[0].collect(stores[0].find("poll"), frames(2))
    place = tmp_path / "poll" / "reports"
    whole = place.read_bytes()
    for spot in (0, 5, 9, 40):
        changed = bytearray(whole)
        changed[spot] ^= 1
        place.write_bytes(changed)
        with pytest.raises(LedgerError, match="changed"):
            CampaignStore(tmp_path).find("poll").read()
        assert place.read_bytes() == changed
    place.write_bytes(whole[: len(whole) // 5] + bytes(12) + whole[len(whole) // 5 + 12 :])
    with pytest.raises(LedgerError, match="changed"):  # a lost block, with records behind it
        CampaignStore(tmp_path).find("poll").read()
    place.write_bytes(whole + bytes(50))  # what a crash may leave
    assert CampaignStore(tmp_path).find("poll").read()[0].n == 10
    assert place.read_bytes() == whole
    place.write_bytes(whole[:40])
    with pytest.raises(LedgerError, match="changed"):
        stores[0].collect(stores[0].find("poll"), frames(1))


def test_what_was_not_confirmed_counts_when_it_is_sent_again(stores, monkeypatch):
    log, sent = stores[0].find("poll"), frames(4)
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(5, "broken")))
        with pytest.raises(LedgerError):
            stores[0].collect(log, sent)
    assert stores[0].collect(log, sent).n == 4


def test_a_name_that_a_crash_left_half_begun_can_be_begun(tmp_path):
    (tmp_path / "poll").mkdir()
    store = CampaignStore(tmp_path)
    assert store.find("poll") is None
    store.begin(CAMPAIGN)
    assert store.collect(store.find("poll"), frames(1)).n == 1
