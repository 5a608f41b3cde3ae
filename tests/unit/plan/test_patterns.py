"""Regular expressions that are extracted alike everywhere."""

import random
import re

import duckdb
import pytest

from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.engines.postgres_dialect import PostgresDialect
from discreet.engines.spark_dialect import SparkDialect
from discreet.errors import InputError, QueryRefused
from discreet.plan.patterns import read_pattern

ATOMS = r"a b - _ / . \. \d \w \s \- \$ [a-c] [^a-c] [^/] [-b] [b-] [^-] [\w-] [\d.] [à-ÿ] é ' [\]]"
SETS = [*ATOMS.split(" "), " ", r"\n", "&", "[,;]", "#", "[a||b]", "[~~]", r"[\\d]", r"[a\-]"]
SETS += [r"[^\s\-]", r"[\\a]"]


def grown(coin):
    """A random pattern, and which of its groups is asked for."""
    repeated = ("", "", "", "+", "*", "?", "{2}", "{1,2}", "{1,}")
    pieces = [coin.choice(SETS) + coin.choice(repeated) for _ in range(coin.randint(1, 4))]
    if coin.random() < 0.6:
        first = coin.randrange(len(pieces))
        last = coin.randrange(first, len(pieces))
        pieces[first] = coin.choice(["(", "(?:"]) + pieces[first]
        pieces[last] += ")"
    anchors = coin.choice(["", "", "^"]), coin.choice(["", "", "$"])
    return "".join(pieces).join(anchors), coin.randint(0, 1)


def test_what_is_extracted_is_what_duckdb_extracts():
    coin = random.Random(5)  # noqa: S311 - no secret
    server, known = duckdb.connect(), 0
    for _ in range(400):
        written, group = grown(coin)
        try:
            pattern = read_pattern(written, group)
        except InputError:
            continue
        known += 1
        size = range(coin.randint(0, 9))
        texts = ["".join(coin.choice("aab-_/.1$ bcé'\n&,]#\t\\xÀ") for _ in size) for _ in range(9)]
        found = server.execute(
            "SELECT regexp_extract(x, ?, ?), regexp_extract(x, ?, 1) FROM (SELECT unnest(?) AS x)",
            [written, group, pattern.write("$"), texts],
        ).fetchall()
        assert found == [(pattern.extract(text),) * 2 for text in texts], written
    assert known > 100


@pytest.mark.parametrize(
    "written",
    ["", "a*ab", "[ab]+b", r"\w+\d", ".+x", "a|b", "(a)+", "(a", "a)", "[Z-A]", "a+?", "^",
     "[a-c-e]", r"[\d-x]", r"\b", "a{2,1}", "x{0}", "[à-åé-ÿ]?[^à-åé-ö]", "a" * 300,
     r"\€", ".{99}" * 3],
)  # fmt: skip
def test_what_engines_might_match_differently_is_refused(written):
    with pytest.raises(InputError, match="regular expression"):
        read_pattern(written, 0)


def test_a_group_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="regular expression"):
        read_pattern("a(b)(?:c)", 2)


def test_gaps_of_ranges_are_seen():
    """æ is in the range, and in the gap of the others: what repeats could end at either place."""
    with pytest.raises(InputError):
        read_pattern("[à-ÿ]+[^à-åé-ÿ]", 0)
    assert re.search(read_pattern("[à-å]+([^à-å])", 1).write("$"), "àáx")[1] == "x"


@pytest.mark.parametrize("dialect", [PostgresDialect(), SparkDialect()])
def test_engines_that_try_each_start_refuse_open_repeats_that_begin_anywhere(dialect):
    for written in ("a[^b]*bd", ".+"):
        pattern = read_pattern(written, 0)
        assert DuckDBDialect().extract("x", pattern)
        with pytest.raises(QueryRefused, match="begin it with"):
            dialect.extract("x", pattern)
        assert dialect.extract("x", read_pattern(f"^{written}", 0))
    assert dialect.extract("x", read_pattern("a[^b]{0,20}bd", 0))


def test_long_sets_count_as_several_states():
    listed = "".join(chr(0x800 + 257 * i) for i in range(100))
    assert read_pattern(f"z[^{listed}]{{2}}X", 0).states > 30
    assert read_pattern("z[^a]{2}X", 0).states == 4
