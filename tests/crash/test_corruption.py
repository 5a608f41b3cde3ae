"""A curator's folder with something changed in it: refused, found by verify, or harmless."""

import json
import os
import random
import shutil

import pytest

import discreet as dp
from clinic_curator import BY_CITY, add_visits
from discreet.curator.data import registry
from discreet.errors import DiscreetError
from discreet.server import tokens
from discreet.server.access import AccessStore

FILES = (
    *("curator.json", "tables.json", "ledger.sqlite"),
    *("ledger.sqlite.head", "data", "access.sqlite"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with an answer, a group, tokens, and one that was revoked."""
    made = tmp_path_factory.mktemp("whole") / "c"
    with add_visits(dp.Curator(made)) as curator:
        curator.group("lab", "visits", ["alice"], dp.Budget(epsilon=1, delta=1e-6))
        curator.sql(BY_CITY, epsilon=0.1)
        store = AccessStore(made / "access.sqlite")
        for name, role in (("owner", "owner"), ("ann", "analyst"), ("bob", "analyst")):
            one = tokens.issue(store, name, role).token
            curator.ledger.record("token made", by="owner", facts=one.said)
        tokens.revoke(store, one.id)
        curator.ledger.record("token revoked", by="owner", facts=one.said)
        store.close()
    return made


def state(folder):
    """Everything that anybody is told, after everything was verified."""
    with dp.Curator(folder) as curator:
        assert curator.ledger.verify().problem is None, "found"
        curator.check_tables()
        store = AccessStore(folder / "access.sqlite")
        try:
            tokens.check_tokens(store, curator.ledger)
            kept = tokens.all_tokens(store)
        finally:
            store.close()
        entries = curator.ledger.entries()
        charged = [one.sequence for one in entries if one.kind == "charged"]
        tables = registry.load(folder / "tables.json").tables
        return (
            [one.text for one in entries],
            [curator.ledger.release(one) for one in charged],
            curator.ledger.accounts(),
            {name: one.said for name, one in tables.items()},
            [(one.id, one.works(one.made + 1), one.said) for one in kept],
            curator.neighbours,
        )


def spoil(stored, chance):
    """Change bytes as disks, copies and people do."""
    packed, start = bytearray(stored), chance.randrange(len(stored))
    match chance.randrange(6):
        case 0 | 1:
            packed[start] ^= 1 << chance.randrange(8)
        case 2:
            packed[start : start + 16] = chance.randbytes(len(packed[start : start + 16]))
        case 3:
            page = start // 512 * 512
            packed[page : page + 512] = b"\0" * len(packed[page : page + 512])
        case 4:
            del packed[start:]
        case _:
            other = chance.randrange(len(stored))
            packed[start : start + 8], packed[other : other + 8] = (
                packed[other : other + 8],
                packed[start : start + 8],
            )
    return bytes(packed)


def keep_stamps(copy):
    """Make the folder believe that no file was touched, as a disk that rots would."""
    path = copy / "tables.json"
    facts = json.loads(path.read_text())
    for one in facts["tables"].values():
        one["stamp"] = registry.stamp(copy / one["source"])
    path.write_text(json.dumps(facts))


def silent(whole, tmp_path, turns, seed):
    """Which changes were neither refused, nor found, nor harmless."""
    chance, before, missed = random.Random(seed), state(whole), []  # noqa: S311 - what is changed
    for turn in range(turns):
        copy, name = tmp_path / "copy", FILES[turn % len(FILES)]
        shutil.copytree(whole, copy)
        path = next((copy / name).iterdir()) if name == "data" else copy / name
        stored = path.read_bytes()
        spoilt = spoil(stored, chance)
        path.write_bytes(spoilt)
        if name == "data":
            keep_stamps(copy)
        try:
            if state(copy) != before or (name == "data" and spoilt != stored):
                missed.append((turn, name))
        except (DiscreetError, AssertionError):
            pass
        shutil.rmtree(copy)
    return missed


def test_no_change_is_silent(folder, tmp_path):
    assert silent(folder, tmp_path, 90, seed=1) == []


@pytest.mark.audit
def test_of_a_thousand_changes_none_is_silent(folder, tmp_path):
    assert silent(folder, tmp_path, 1000, seed=os.urandom(8)) == []


def test_a_table_under_another_name_than_its_own_is_refused(folder, tmp_path):
    """What the ledger proves is proved of the name inside; questions would find the other."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    path = copy / "tables.json"
    path.write_text(path.read_text().replace('"visits": {', '"viwits": {', 1))
    with pytest.raises(DiscreetError, match=r"tables.json cannot be read"):
        state(copy)


def test_a_verify_that_believes_stamps_is_caught(folder, tmp_path, monkeypatch):
    """The planted fault: files of data are not read through."""
    monkeypatch.setattr(registry, "check_content", registry.check_unchanged)
    assert silent(folder, tmp_path, 30, seed=1)


def test_a_total_or_a_cap_that_was_edited_is_refused_when_it_is_used(folder, tmp_path):
    import sqlite3

    for column, value in (("spent", f"{0:078d}"), ("cap", f"{9:078d}"), ("entry", 1)):
        copy = tmp_path / column
        shutil.copytree(folder, copy)
        with dp.Curator(copy) as curator:
            sql = f"UPDATE accounts SET {column} = ? WHERE key LIKE '[\"dataset%'"  # noqa: S608
            connection = sqlite3.connect(copy / "ledger.sqlite")
            with connection:
                connection.execute("PRAGMA ignore_check_constraints = ON")
                connection.execute(sql, (value,))
            connection.close()
            with pytest.raises(DiscreetError, match="newest entry"):
                curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)
            with pytest.raises(DiscreetError, match="newest entry"):
                curator.budget("visits")
