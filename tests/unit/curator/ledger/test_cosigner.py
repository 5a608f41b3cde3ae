"""A witness elsewhere: a folder that was put back as a whole is noticed."""

import shutil

import pytest

import discreet as dp
from clinic_curator import BUDGET, add_visits
from discreet.curator.ledger import merkle
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.cosigner import Cosigner, head_text, is_signed
from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError


def show(ledger, witness):
    """Have the newest head signed."""
    head, known = ledger.tree_head(), None
    known = witness.newest(head.ledger)
    size = head.size if known is None else min(known.size, head.size)
    return head, witness.cosign(head, ledger.prove_consistency(size, head.size))


def test_heads_that_continue_are_signed_and_others_are_not(tmp_path):
    witness, place = Cosigner(tmp_path / "witness"), tmp_path / "c" / "ledger.sqlite"
    place.parent.mkdir()
    with Ledger.open(place) as ledger:
        ledger.open_account(dataset("visits"), BUDGET.cap("add-remove"), by="owner")
        show(ledger, witness)
    shutil.copytree(place.parent, tmp_path / "old")
    with Ledger.open(place) as ledger:
        for n in range(5):
            ledger.record("noted", by="owner", facts={"n": n})
            head, signature = show(ledger, witness)
            assert is_signed(head_text(head), signature, witness.public_key)
        assert not is_signed(head_text(head), signature, Cosigner(tmp_path / "other").public_key)
        proof = [bytes.fromhex(one) for one in ledger.prove_inclusion(3, head.size)]
        leaf = bytes.fromhex(ledger.entries(after=2, limit=1)[0].head.hash)
        assert merkle.includes(leaf, 2, head.size, proof, bytes.fromhex(head.root))
    shutil.rmtree(place.parent)
    (tmp_path / "old").rename(place.parent)
    with Ledger.open(place) as ledger:  # whole, with its own witness: only one elsewhere knows
        ledger.record("noted", by="owner", facts={})
        with pytest.raises(LedgerError, match="does not continue"):
            show(ledger, Cosigner(tmp_path / "witness"))


def test_a_folder_put_back_as_a_whole_is_refused_by_a_witness_on_another_disk(tmp_path):
    folder, elsewhere = tmp_path / "c", tmp_path / "elsewhere.head"
    with add_visits(dp.Curator(folder, witness=elsewhere)):
        pass
    shutil.copytree(folder, tmp_path / "old")
    with dp.Curator(folder) as curator:  # the folder remembers where its witness is
        curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)
    assert not list(folder.glob("*.head"))
    shutil.rmtree(folder)
    (tmp_path / "old").rename(folder)
    with pytest.raises(LedgerError, match="restored from an older copy"):
        dp.Curator(folder)
    with pytest.raises(LedgerError, match="another witness"):
        dp.Curator(folder, witness=tmp_path / "another.head")


def test_what_a_witness_remembers_is_not_guessed(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        show(ledger, Cosigner(tmp_path / "witness"))
        (tmp_path / "witness" / "heads.json").write_text("{")
        with pytest.raises(LedgerError, match="cannot be read"):
            show(ledger, Cosigner(tmp_path / "witness"))
