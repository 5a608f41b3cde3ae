"""Names that people cannot tell apart, over the whole of Unicode's table."""

import itertools
import unicodedata

import pytest
from confusable_homoglyphs.confusables import confusables_data

from discreet.curator.confusables import confusable

MARK = "\u200e"
PAIRS = [
    (one.replace(MARK, ""), other["c"].replace(MARK, ""))
    for one, others in confusables_data.items()
    for other in others
]


@pytest.mark.parametrize("around", ["al{}ce", "{}", "Ann {} Lee", "visits_{}"])
def test_every_pair_of_the_table_reads_alike_within_a_name(around):
    assert len(PAIRS) > 10_000
    apart = [
        pair for pair in PAIRS if not confusable(around.format(pair[0]), around.format(pair[1]))
    ]

    assert apart == []


def test_how_accents_are_written_makes_no_difference():
    letters = {one for pair in PAIRS for one in pair}
    apart = [one for one in letters if not confusable(one, unicodedata.normalize("NFD", one))]

    assert apart == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice", "al\u0131ce"),  # a dotless i
        ("ida", "i\u0307da"),  # a second dot on the i is not seen
        ("ida", "\u0130da"),  # its capital
        ("alice", "ALICE"),
        ("Alice", "AIice"),  # a capital i
        ("alice", "AIice"),
        ("Al", "AI"),
        ("alice", "\u0430l\u0456c\u0435"),  # Cyrillic
        ("modern", "modem"),
        ("team0", "teamO"),
        ("team0", "teamo"),
        ("visits1", "visitsl"),
        ("Stra\u00dfe", "strasse"),
        ("caf\u00e9", "cafe\u0301"),
    ],
)
def test_names_that_people_take_for_each_other_read_alike(one, other):
    assert confusable(one, other)
    assert confusable(other, one)


def test_names_that_people_tell_apart_do_not_read_alike():
    names = ["IA", "LA", "IL", "MAIL", "MALL", "Mali", "Malli", "ann", "anna", "anne", "hans"]
    names += ["visits", "visit", "visits_2", "visits-2", "visits 2", "jose", "jos\u00e9", "n\u00f6"]
    names += ["visits_10", "visits_11", "visits_12", "no", "2019", "2020", "ali", "all", "bill"]

    alike = [pair for pair in itertools.combinations(names, 2) if confusable(*pair)]
    assert alike == []
