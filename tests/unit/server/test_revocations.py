"""A token that was revoked stays so, whatever file of tokens is put back."""

import pytest

from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError
from discreet.server import tokens
from discreet.server.access import AccessStore
from discreet.server.tokens import Revocations


@pytest.fixture
def ledger():
    return Ledger.in_memory()


def made(store, ledger, name="ann"):
    one = tokens.issue(store, name, "analyst")
    ledger.record("token made", by="owner", facts=one.token.said)
    return one


def revoked(store, ledger, one):
    return tokens.end(store, ledger, one.token.id, by="owner")


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
    monkeypatch.setattr(tokens, "FRESH", 0.0)
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


def test_revoking_again_tells_the_ledger_what_a_crash_kept_from_it(ledger, monkeypatch):
    store = AccessStore(None)
    one = made(store, ledger)
    with monkeypatch.context() as broken:
        broken.setattr(ledger, "record", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            revoked(store, ledger, one)
    assert tokens.find(store, one.text) is None
    with pytest.raises(LedgerError, match="whether it was revoked"):
        tokens.check_tokens(store, ledger)
    assert revoked(store, ledger, one).revoked is not None
    tokens.check_tokens(store, ledger)
    assert revoked(store, ledger, one) is None
    assert len(ledger.noted("token revoked")) == 1


def test_a_token_that_a_crash_kept_from_the_ledger_is_revoked_as_the_error_says(ledger):
    store = AccessStore(None)
    lost = tokens.issue(store, "ann", "analyst")
    with pytest.raises(LedgerError, match="revoke it"):
        tokens.check_tokens(store, ledger)
    revoked(store, ledger, lost)
    tokens.check_tokens(store, ledger)


def test_an_old_file_is_told_by_revoking_again(ledger):
    store = AccessStore(None)
    one = made(store, ledger)
    ledger.record("token revoked", by="owner", facts=one.token.said)
    assert revoked(store, ledger, one).revoked is not None
    tokens.check_tokens(store, ledger)
    assert tokens.end(store, ledger, "0123", by="owner") is None
