"""Entry point of the reader: an analyst's SQL becomes a question of the plan.

Guarantee: the query that comes back means what the text means, in full; everything that is not
understood to the last word is refused (`QueryRefused`) with a code, the place in the text and what
to ask instead. Only the text and the schema are read. Whatever the text, the outcome is a `Query`
or a refusal.
"""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from discreet.errors import DiscreetError, InputError
from discreet.plan.answer_program import Program
from discreet.plan.query import Query, questions_in
from discreet.plan.relations import Relation, nodes_of
from discreet.plan.released_tables import ReleasedTable
from discreet.plan.schema import Schema
from discreet.plan.work import MOST_ROWS_EACH, bound_work, check_work
from discreet.sql.reader.refusals import Refusal, said

T = TypeVar("T")


def read(
    text: str,
    schema: Schema,
    now: dt.datetime | None = None,
    views: Mapping[str, Relation] | None = None,
    rows: Relation | None = None,
) -> Query:
    """The question that a SQL text asks of a schema.

    CURRENT_DATE and NOW() are the time `now`, in UTC to the second: that becomes a part of the
    question, so an order that is repeated means the same. It is the time of the clock unless given.
    `views` are read in place of private tables, and have their columns; `rows` are the table self.

    Example:
        >>> from discreet.plan.kinds import Kind, Type
        >>> from discreet.plan.schema import Person, Table
        >>> columns = {"who": Type(Kind.INTEGER), "city": Type(Kind.TEXT)}
        >>> schema = Schema({"visits": Table("visits", columns, Person("who"))})
        >>> query = read("SELECT city, COUNT(*) AS n FROM visits GROUP BY 1", schema)
        >>> [key.name for key in query.keys], [a.measure.name for a in query.aggregates]
        (['city'], ['COUNT'])
    """
    return _guarded(text, lambda: _read(text, schema, now, views or {}, rows))


def read_at_version(text: str, schema: Schema) -> tuple[Query, int | None]:
    """The question, and the version of its dataset that it names; None for the newest."""
    plain, version = split_version(text)
    return read(plain, schema), version


def read_public(text: str, schema: Schema, now: dt.datetime | None = None) -> ReleasedTable | None:
    """The table that a text about public tables computes; None if it names another."""
    return _guarded(text, lambda: _read_public(text, schema, now))


def _guarded(text: str, reads: Callable[[], T]) -> T:
    if not isinstance(text, str):
        raise InputError(
            f"a question of type {type(text).__name__}", why="SQL is text", fix="pass a string"
        )
    try:
        return reads()
    except InputError as wrong:
        refusal = Refusal.of(wrong, "too_large")
    except DiscreetError:
        raise
    except RecursionError:
        refusal = Refusal("too_deep", "the question is nested too deep", fix=_SIMPLER)
    except Exception:  # noqa: BLE001 - a fault of the parser on odd text is a refusal, not a crash
        refusal = Refusal("unreadable", "the question cannot be read", fix=_SIMPLER)
    raise refusal.at(0, len(text))


_SIMPLER = "ask a simpler SELECT with aggregates"
reads_clock = re.compile(r"now|cur|localtime|today|(date|age)\W*[(]|--|/[*]", re.IGNORECASE).search
"""Whether a text may mean something else at another time."""
writes_rows = re.compile(r"\b(values|unnest|range|generate_series)\b", re.IGNORECASE).search
"""Whether a text may have rows of its own."""


def _read(
    text: str,
    schema: Schema,
    now: dt.datetime | None,
    views: Mapping[str, Relation],
    rows: Relation | None,
) -> Query:
    # The parser takes 0.2 s to import: it is loaded with the first question, not with the package.
    from discreet.sql.reader.from_clause import OTHER_ROWS, PUBLIC_ONLY, RelationReader  # noqa: PLC0415
    from discreet.sql.reader.parse import check_words, parse  # noqa: PLC0415
    from discreet.sql.reader.syntax import NamedRelation, row_columns  # noqa: PLC0415

    syntax, tokens = parse(text, now)
    own = () if rows is None else (("self", NamedRelation(rows, row_columns(schema, rows))),)
    query = RelationReader(syntax, schema, own, views=views).answer(syntax.tree).query
    if isinstance(query, Program):
        raise syntax.refuse(syntax.tree, PUBLIC_ONLY)
    parts = [*(one.relation for one in questions_in(query)), *syntax.spread]
    if rows is not None and all(rows not in nodes_of(one)[0] for one in parts):
        raise syntax.refuse(syntax.tree, OTHER_ROWS)
    check_words(syntax, tokens)
    try:
        schema.check_same_people([table.name for table in query.tables])
    except InputError as wrong:
        raise Refusal.of(wrong, "people").at(0, len(text)) from None
    work = bound_work(query, MOST_ROWS_EACH)
    try:
        check_work(work)
    except InputError as error:
        raise syntax.blame_word(work.costliest, error) from None
    return query


def _read_public(text: str, schema: Schema, now: dt.datetime | None) -> ReleasedTable | None:
    from discreet.sql.reader.from_clause import RelationReader, public_part  # noqa: PLC0415
    from discreet.sql.reader.parse import check_words, parse  # noqa: PLC0415 - see _read

    syntax, tokens = parse(text, now)
    public = public_part(syntax.tree, schema)
    if public is None:
        return None
    found = RelationReader(syntax, public).answer(syntax.tree).query
    assert isinstance(found, Program)  # noqa: S101 - narrowing: there is nothing to measure
    check_words(syntax, tokens)
    return found.table


_WORDS = ["FOR", "VERSION", "AS", "OF"]
_VERSION = re.compile(r"\bfor\s+version\b", re.IGNORECASE)
_VERSIONS = said("""version: a version that is not the same number after every table
    a question is answered on one version of a dataset, with all of its tables
    write FOR VERSION AS OF 2 after each of them, before AS, or pass as_of=2""")
_NUMBERED = re.compile(r"FOR VERSION AS OF ([0-9]{1,9})")


def split_version(text: str) -> tuple[str, int | None]:
    """The question without FOR VERSION AS OF, as long as before; the version, None for the newest.

    A version is of a whole dataset, so it is no part of the question: it is taken out of the text,
    and what is left is read in its place, letter by letter.

    Edge cases: every table of a question has to have the same one; one that stands anywhere but
    after a table is refused.

    Example:
        >>> split_version("SELECT COUNT(*) FROM visits FOR VERSION AS OF 2 WHERE x = 1")
        ('SELECT COUNT(*) FROM visits                     WHERE x = 1', 2)
    """
    if not isinstance(text, str) or _VERSION.search(text) is None:
        return text, None
    from sqlglot import exp  # noqa: PLC0415 - 0.2 s, for the few who need it

    from discreet.sql.reader.parse import parse  # noqa: PLC0415 - see above

    syntax, tokens = parse(text)
    words = [text[one.start : one.end + 1].upper() for one in tokens]
    marks = [i for i in range(len(words) - 4) if words[i : i + 4] == _WORDS]
    spans = [(tokens[i].start, tokens[i + 4].end + 1) for i in marks]
    if not spans:  # the words are in a text or a comment
        return text, None
    named = {one.alias.lower() for one in syntax.tree.find_all(exp.CTE)}
    tables = [one for one in syntax.tree.find_all(exp.Table) if one.name.lower() not in named]
    stated = [one.args.get("version") for one in tables]
    asked = {"" if one is None else one.sql(comments=False) for one in stated}
    found = _NUMBERED.fullmatch(asked.pop()) if len(asked) == 1 else None
    if len(spans) != len(tables) or found is None:
        raise _VERSIONS.at(*spans[0])
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text, int(found[1])
