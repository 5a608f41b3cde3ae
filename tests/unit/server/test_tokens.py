"""Tokens: random, stored as hashes, compared alike, scoped, ending."""

import hmac
import sqlite3

import pytest

from discreet.errors import InputError, LedgerError
from discreet.server import tokens
from discreet.server.access import AccessStore


@pytest.fixture
def store():
    return AccessStore(None)


def test_a_token_opens_what_it_was_made_for(store):
    made = tokens.issue(store, "ann", "analyst", datasets=["visits"], days=2)

    found = tokens.find(store, made.text)

    assert (found.name, found.role, found.datasets) == ("ann", "analyst", frozenset({"visits"}))
    assert found.expires - found.made == 2 * tokens.DAY


def test_secrets_have_256_bits_and_never_repeat(store):
    texts = [tokens.issue(store, "ann", "analyst").text for _ in range(50)]

    secrets = {text.split("_", 2)[2] for text in texts}
    assert len(secrets) == 50
    assert all(len(one) == 43 for one in secrets)  # 32 bytes in base64


def test_neither_the_file_nor_a_repr_holds_a_secret(tmp_path):
    store = AccessStore(tmp_path / "access.sqlite")
    made = tokens.issue(store, "ann", "analyst")
    secret = made.text.split("_", 2)[2].encode()
    store.close()

    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert made.token.id.encode() in files
    assert secret not in files
    assert made.text not in repr(made)
    assert (tmp_path / "access.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + "x",
        lambda text: text[:-1],
        lambda text: text.upper(),
        lambda text: text.replace("dpt", "dpx"),
        lambda text: text.split("_", 2)[2],
        lambda text: "_".join([*text.split("_", 2)[:2], ""]),
        lambda text: f"dpt_{'0' * 16}_" + text.split("_", 2)[2],
        lambda _: "",
        lambda _: "dpt__",
        lambda _: "dpt_%_x",
        lambda _: "\x00",
        lambda _: "\ud800",
        lambda _: "é" * 100,
    ],
)
def test_anything_but_the_token_opens_nothing(store, spoil):
    text = tokens.issue(store, "ann", "analyst").text

    assert tokens.find(store, text) is not None
    assert tokens.find(store, spoil(text)) is None


def test_every_lookup_compares_two_digests_once_in_constant_time(store, monkeypatch):
    # By construction: found or not, expired or not, one compare_digest of 32 bytes each.
    text = tokens.issue(store, "ann", "analyst").text
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(
        tokens.hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or real(a, b)
    )

    for one in (text, text + "x", f"dpt_{'0' * 16}_x", "", "nothing"):
        compared.clear()
        tokens.find(store, one)
        assert compared == [(32, 32)]


def test_an_expired_token_opens_nothing():
    clock = [1e9]
    store = AccessStore(None, clock=lambda: clock[0])
    made = tokens.issue(store, "ann", "analyst", days=1)

    clock[0] += tokens.DAY - 1
    assert tokens.find(store, made.text) is not None
    clock[0] += 1
    assert tokens.find(store, made.text) is None


def test_a_revoked_token_opens_nothing_in_any_worker(tmp_path):
    one, other = (AccessStore(tmp_path / "access.sqlite") for _ in range(2))
    made = tokens.issue(one, "ann", "analyst")
    assert tokens.find(other, made.text) is not None

    assert tokens.revoke(one, made.token.id)

    assert tokens.find(one, made.text) is None
    assert tokens.find(other, made.text) is None
    assert not tokens.revoke(other, made.token.id)


def test_a_name_has_one_role(store):
    tokens.issue(store, "ann", "analyst")
    tokens.issue(store, "ann", "analyst")

    with pytest.raises(InputError, match="ann is an analyst already"):
        tokens.issue(store, "ann", "owner")


@pytest.mark.parametrize("role", ["analyst", "owner"])
def test_a_new_name_reads_like_nobody_elses(store, role):
    tokens.issue(store, "ann", "analyst")
    for name in ("Ann", "\u0430nn", "ann\ufe0f", "a\u0578n"):
        with pytest.raises(InputError, match="reads like ann, who has a token"):
            tokens.issue(store, name, role)
    with pytest.raises(InputError, match=f"an {role} called Owner"):
        tokens.issue(store, "Owner", role)
    assert [one.name for one in tokens.all_tokens(store)] == ["ann"]


def test_names_that_both_had_tokens_before_get_others(store, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(tokens, "confusable", str.__eq__)
        for name in ("ann", "Ann"):
            tokens.issue(store, name, "analyst")
    for name in ("ann", "Ann"):
        assert tokens.find(store, tokens.issue(store, name, "analyst").text) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": " ann"},
        {"name": "a\nb"},
        {"name": "a\x00"},
        {"name": "owner"},
        {"role": "root"},
        {"days": 0},
        {"days": -1},
        {"days": float("nan")},
        {"days": float("inf")},
        {"days": 10**6},
        {"datasets": []},
        {"role": "owner", "datasets": ["visits"]},
        {"role": "auditor", "datasets": ["visits"]},
    ],
)
def test_senseless_tokens_are_refused(store, wrong):
    facts = {"name": "ann", "role": "analyst"} | wrong
    name, role = facts.pop("name"), facts.pop("role")

    with pytest.raises(InputError):
        tokens.issue(store, name, role, **facts)

    assert tokens.all_tokens(store) == []


def test_an_owner_is_one_whose_token_works(store):
    assert not tokens.has_owner(store)
    tokens.issue(store, "ann", "analyst")
    assert not tokens.has_owner(store)
    made = tokens.issue(store, "olga", "owner")
    assert tokens.has_owner(store)
    tokens.revoke(store, made.token.id)
    assert not tokens.has_owner(store)


def test_another_programs_file_is_left_alone(tmp_path):
    path = tmp_path / "access.sqlite"
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE tokens (x)")
    foreign.close()
    before = path.read_bytes()

    with pytest.raises(LedgerError, match="another program"):
        AccessStore(path)

    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_an_error_of_ours(tmp_path):
    with pytest.raises(LedgerError):
        AccessStore(tmp_path / "nowhere" / "access.sqlite")


@pytest.fixture
def two_workers(tmp_path):
    """The token store as two workers have it open."""
    stores = [AccessStore(tmp_path / "access.sqlite") for _ in range(2)]
    yield stores
    for one in stores:
        one.close()


def test_a_token_that_was_found_is_recalled_without_being_looked_up(two_workers):
    store, _ = two_workers
    made = tokens.issue(store, "ann", "analyst")
    assert tokens.recall(store, made.text) is None

    found = tokens.find(store, made.text)

    with store.write():  # whoever waits for it would wait for ever
        assert tokens.recall(store, made.text) == found
    assert tokens.recall(store, made.text + "x") is None


@pytest.mark.parametrize("revoking", [0, 1])
def test_a_revoked_token_is_not_recalled_by_any_worker(two_workers, revoking):
    made = tokens.issue(two_workers[0], "ann", "analyst")
    assert all(tokens.find(one, made.text) for one in two_workers)
    assert all(tokens.recall(one, made.text) for one in two_workers)

    tokens.revoke(two_workers[revoking], made.token.id)

    assert [tokens.recall(one, made.text) for one in two_workers] == [None, None]
    assert [tokens.find(one, made.text) for one in two_workers] == [None, None]


def test_a_token_is_not_recalled_after_its_end_or_a_revocation_in_the_ledger(tmp_path):
    now = [0.0]
    store = AccessStore(tmp_path / "access.sqlite", clock=lambda: now[0])
    made = tokens.issue(store, "ann", "analyst", days=1)
    found = tokens.find(store, made.text)
    assert found is not None
    assert tokens.recall(store, made.text) == found

    store.revoked = {made.token.id: 1.0}.get
    assert tokens.recall(store, made.text) is None

    store.revoked = lambda _: None
    now[0] = 1.0 * tokens.DAY
    assert tokens.recall(store, made.text) is None


def test_nothing_is_recalled_from_a_file_that_cannot_be_read(two_workers):
    store, _ = two_workers
    made = tokens.issue(store, "ann", "analyst")
    assert tokens.find(store, made.text)

    store._watch.close()

    assert store.version() is None
    assert tokens.recall(store, made.text) is None
