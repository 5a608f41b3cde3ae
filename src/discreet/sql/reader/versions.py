"""FOR VERSION AS OF: which version of a dataset a question in SQL is about.

A version is of a whole dataset, so it is no part of the question: it is taken out of the text, and
what is left is read in its place, letter by letter.
"""

import re
from collections.abc import Iterable

from discreet.errors import QueryRefused

_WORDS = ["FOR", "VERSION", "AS", "OF"]
_VERSION = re.compile(r"\bfor\s+version\b", re.IGNORECASE)


def split_version(text: str) -> tuple[str, int | None]:
    """The question without its version, as long as before; and the version, None for the newest.

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
    asked = [one.args.get("version") for one in tables]
    numbers = {one.expression.name for one in asked if one is not None and _is_plain(one)}
    if len(spans) != len(tables) or None in asked or len(numbers) != 1:
        raise _refused(spans)
    [number] = numbers
    if not number.isascii() or not number.isdigit() or not 0 < len(number) < 10:
        raise _refused(spans)
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text, int(number)


def _is_plain(version: object) -> bool:
    from sqlglot import exp  # noqa: PLC0415 - see above

    return (
        isinstance(version, exp.Version)
        and version.args.get("kind") == "AS OF"
        and isinstance(version.expression, exp.Literal)
        and not version.expression.is_string
    )


def _refused(spans: Iterable[tuple[int, int]]) -> QueryRefused:
    start, end = next(iter(spans))
    return QueryRefused(
        "a version that is not the same number after every table",
        why="a question is answered on one version of a dataset, with all of its tables",
        fix="write FOR VERSION AS OF 2 after each of them, before AS, or pass as_of=2",
        code="version",
        start=start,
        end=end,
    )
