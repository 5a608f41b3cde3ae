"""A token that was revoked stays so, whatever file of tokens is put back."""

import pytest

from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError
from discreet.server import revocations, tokens
from discreet.server.access import AccessStore
from discreet.server.revocations import Revocations


@pytest.fixture
def ledger():
    return Ledger.in_memory()


def made(store, ledger, name="ann"):
    one = tokens.issue(store, name, "analyst")
    ledger.record("token made", by="owner", facts=one.token.said)
    return one


def revoked(store, ledger, one):
    tokens.revoke(store, one.token.id)
    ledger.record("token revoked", by="owner", facts=one.token.said)


def test_an_old_file_of_tokens_does_not_bring_one_back(tmp_path, ledger):
    path, old = tmp_path / "access.sqlite", tmp_path / "old"
    store = AccessStore(path)
    kept, ended = made(store, ledger), made(store, ledger, "bob")
    store.close()
    old.write_bytes(path.read_bytes())
    store = AccessStore(path)
    revoked(store, ledger, ended)
    store.close()
    path.write_bytes(old.read_bytes())
    store = AccessStore(path)
    assert tokens.find(store, ended.text) is not None  # the file alone does not know
    with pytest.raises(LedgerError, match="whether it was revoked"):
        tokens.check_tokens(store, ledger)
    store.revoked = Revocations(ledger)
    assert tokens.find(store, ended.text) is None
    assert tokens.find(store, kept.text).name == "ann"
    assert tokens.by_id(store, ended.token.id).revoked is not None
    store.close()


def test_what_is_revoked_later_is_read_while_it_runs(ledger, monkeypatch):
    monkeypatch.setattr(revocations, "FRESH", 0.0)
    store = AccessStore(None)
    one = made(store, ledger)
    store.revoked = Revocations(ledger)
    assert tokens.find(store, one.text) is not None
    ledger.record("token revoked", by="owner", facts=one.token.said)
    for _ in range(200):
        if tokens.find(store, one.text) is None:
            return
        with store.revoked._lock:
            pass
    pytest.fail("it still works")


def test_tokens_that_the_ledger_does_not_know_so_are_found(ledger):
    store = AccessStore(None)
    made(store, ledger)
    tokens.check_tokens(store, ledger)
    with store.write() as connection:
        connection.execute("UPDATE tokens SET expires = expires + 1")
    with pytest.raises(LedgerError, match="was made so"):
        tokens.check_tokens(store, ledger)
