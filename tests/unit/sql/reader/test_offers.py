"""What a refusal offers instead is answered: each offer with code has questions that take it."""

import re

import pytest

from clinic import CLINIC
from discreet.errors import QueryRefused
from discreet.sql.reader.read import read
from golden_pairs import GOLDEN

BLOCKS = (GOLDEN / "offers.txt").read_text(encoding="utf-8").strip().split("\n\n")[1:]
OFFERS = {offer: [one.strip() for one in texts] for offer, *texts in map(str.splitlines, BLOCKS)}
LINES = (GOLDEN / "refused.txt").read_text(encoding="utf-8").splitlines()
REFUSED = [line.split(": ", 1)[1] for line in LINES if line and not line.startswith("# ")]
WHOLE = re.compile(r"(.*as in SELECT) (.*)", re.DOTALL)


def offered(text):
    with pytest.raises(QueryRefused) as refused:
        read(text, CLINIC)
    return refused.value.fix


def test_every_offer_with_code_has_questions_that_take_it():
    known = set()
    for offer in map(offered, REFUSED):
        whole = WHOLE.fullmatch(offer)
        if whole and whole[1] in OFFERS:  # a whole question, made of the refused one
            known.add(whole[1])
            read(f"SELECT {whole[2]}", CLINIC)
        elif re.search(r"[=<>(]|AT TIME", offer):
            assert offer in OFFERS
            known.add(offer)
    assert known == set(OFFERS)


@pytest.mark.parametrize("offer", OFFERS)
def test_what_takes_an_offer_is_answered(offer):
    assert OFFERS[offer]
    for text in OFFERS[offer]:
        read(text, CLINIC)
