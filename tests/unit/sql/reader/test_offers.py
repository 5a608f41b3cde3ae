"""What a refusal offers instead is answered: each offer with code has questions that take it."""

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest

from clinic import CLINIC
from discreet.errors import QueryRefused
from discreet.sql import reader
from discreet.sql.reader.parse import parse
from discreet.sql.reader.read import read
from discreet.sql.reader.refusals import FUNCTIONS, Refusal
from golden_pairs import GOLDEN

BLOCKS = (GOLDEN / "offers.txt").read_text(encoding="utf-8").strip().split("\n\n")[1:]
OFFERS = {offer: [one.strip() for one in texts] for offer, *texts in map(str.splitlines, BLOCKS)}
LINES = (GOLDEN / "refused.txt").read_text(encoding="utf-8").splitlines()
REFUSED = [line.split(": ", 1)[1] for line in LINES if line and not line.startswith("# ")]
WHOLE = re.compile(r"(.*as in SELECT) (.*)", re.DOTALL)
CODE = re.compile(r"[=<>(]|AT TIME")


def said():
    """What texts that are refused are offered, and what other refusals of the reader offer."""
    for text in REFUSED:
        with pytest.raises(QueryRefused) as refused:
            read(text, CLINIC)
        yield refused.value.fix
    for module in iter_modules(reader.__path__):
        for value in vars(import_module(f"{reader.__name__}.{module.name}")).values():
            listed = value.values() if isinstance(value, dict) else [value]
            yield from (one.fix for one in listed if isinstance(one, Refusal))
    yield from FUNCTIONS.values()


def test_every_offer_with_code_has_questions_that_take_it():
    known = set()
    for offer in said():
        whole = WHOLE.fullmatch(offer)
        if whole and whole[1] in OFFERS:  # a whole question, made of the refused one
            known.add(whole[1])
            read(f"SELECT {whole[2]}", CLINIC)
        elif CODE.search(offer):
            assert offer in OFFERS
            known.add(offer)
    assert known == set(OFFERS)


@pytest.mark.parametrize("offer", OFFERS)
def test_what_takes_an_offer_is_answered(offer):
    assert OFFERS[offer]
    for text in OFFERS[offer]:
        if "VERSION" in text:  # which a curator reads, who knows the versions
            parse(text)
        else:
            read(text, CLINIC)
