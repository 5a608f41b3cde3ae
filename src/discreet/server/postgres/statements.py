"""Statements as clients write them: where each ends, what it is, and its parameters put in."""

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from discreet.server.postgres.messages import PostgresError

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<comment>/\*)
    |(?P<string>[eE]'(?:[^'\\]|\\.|'')*'|[bBxXnN]?'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*")
    |(?P<open>[eE]?'|")
    |(?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
    |(?P<parameter>\$\d{1,5})
    |(?P<word>[^\W\d][\w$]*)
    |(?P<number>\d[\w.]*(?:(?<=[eE])[+-]\d+)?|\.\d+)
    |(?P<symbol>.)""",
    re.VERBOSE | re.DOTALL,
)
MOST_TOKENS: Final = 20_000
MOST_PARAMETERS: Final = 1000
LARGEST: Final = 1 << 17
"""Characters of a statement with its parameters put in."""


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A word, a sign or a literal, and its position."""

    kind: str
    text: str
    start: int

    @property
    def name(self) -> str:
        """An identifier: unquoted words in lower case, quoted ones as they are; "" for others."""
        if self.kind == "word":
            return self.text.lower()
        return self.text[1:-1].replace('""', '"') if self.kind == "quoted" else ""

    @property
    def value(self) -> str:
        """The text of a literal or a name."""
        if self.kind == "string" and self.text[0] == "'":
            return self.text[1:-1].replace("''", "'")
        return self.name or self.text


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text, where that begins in what was sent, and its tokens."""

    text: str
    start: int
    tokens: tuple[SqlToken, ...]

    @property
    def words(self) -> list[str]:
        """The first words, in lower case."""
        return [one.text.lower() for one in self.tokens[:4]]

    @property
    def parameters(self) -> int:
        """The highest number of a parameter."""
        found = (int(one.text[1:]) for one in self.tokens if one.kind == "parameter")
        highest = max(found, default=0)
        if highest > MOST_PARAMETERS:
            raise PostgresError("54000", "too many parameters", hint="use fewer")
        return highest

    def after(self, count: int) -> "Statement":
        """The statement that begins after so many tokens, as DECLARE and EXPLAIN hold one."""
        if len(self.tokens) <= count:
            raise PostgresError("42601", "the statement ends too early", hint="complete it")
        start = self.tokens[count].start - self.start
        return Statement(self.text[start:], self.start + start, self.tokens[count:])


def split(text: str) -> list[Statement]:
    """The statements of a text; those that are empty are left out.

    Example:
        >>> [one.text for one in split("SET a = 1; SELECT ';' -- ;")]
        ['SET a = 1', "SELECT ';'"]
    """
    found: list[list[SqlToken]] = [[]]
    for token in _tokens(text):
        if token.text == ";" and token.kind == "symbol":
            found.append([])
        else:
            found[-1].append(token)
    return [
        Statement(text[some[0].start : some[-1].start + len(some[-1].text)], some[0].start, some)
        for some in map(tuple, found)
        if some
    ]


def _tokens(text: str) -> list[SqlToken]:
    place, found = 0, []
    while place < len(text):
        one = _TOKEN.match(text, place)
        assert one is not None  # noqa: S101 - any character is a symbol
        kind, end = one.lastgroup, one.end()
        if kind == "comment":
            end = _comment_end(text, place)
        elif kind == "dollar":
            close = text.find(one[0], end)
            kind, end = ("dollar" if close >= 0 else "open"), close + len(one[0])
        if kind == "open":
            raise PostgresError(
                "42601", "a quote that does not end", hint="close it", position=place + 1
            )
        if kind not in {"space", "comment"}:
            found.append(SqlToken(str(kind), text[place:end], place))
        if len(found) > MOST_TOKENS:
            raise PostgresError("54000", "the statement is too long", hint="send less at once")
        place = end
    return found


def _comment_end(text: str, place: int) -> int:
    """The end of a comment; comments are nested."""
    depth = 0
    for one in re.compile(r"/\*|\*/").finditer(text, place):
        depth += 1 if one[0] == "/*" else -1
        if depth == 0:
            return one.end()
    return len(text)


# --- what a statement is about ------------------------------------------------------------------

_FROM: Final = frozenset({"from", "join"})
SYSTEM: Final = frozenset({"pg_catalog", "information_schema"})


def is_question(statement: Statement, tables: Collection[str]) -> bool:
    """Whether a SELECT is about data; what is about the catalogue, or about nothing, is not.

    A question names a table that was declared, or one that is nowhere (and is refused as such).
    """
    known = {name.casefold() for name in tables}
    plain, system = False, False
    for *schemas, name in _sources(statement):
        if SYSTEM.intersection(schemas) or name.startswith("pg_"):
            system = True
        elif name.casefold() in known:
            return True
        else:
            plain = True
    return plain and not system


def _sources(statement: Statement) -> list[list[str]]:
    """The names after FROM and JOIN, part by part; functions are left out."""
    tokens, found = statement.tokens, []
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.text.lower() in _FROM:
            path, at = [], place + 1
            if at < len(tokens) and tokens[at].text.lower() in {"only", "lateral"}:
                at += 1
            while at < len(tokens) and tokens[at].name:
                path.append(tokens[at].name)
                if at + 1 >= len(tokens) or tokens[at + 1].text != ".":
                    at += 1
                    break
                at += 2
            called = at < len(tokens) and tokens[at].text == "("
            if path and not called:
                found.append(path)
    return found


# --- putting in ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A statement with other words in some places, and where each part came from."""

    text: str
    _outs: tuple[int, ...]
    _ins: tuple[int, ...]

    def position(self, place: int) -> int:
        """The place in what was sent, counted from 1, of a place in the text, from 0."""
        piece = bisect_right(self._outs, place) - 1
        length = (*self._outs, len(self.text))[piece + 1] - self._outs[piece]
        return self._ins[piece] + min(place - self._outs[piece], max(0, length - 1)) + 1


def rewrite(statement: Statement, changes: dict[int, str]) -> Rewritten:
    """Replace tokens, by their place among all; what lies between them stays."""
    parts: list[str] = []
    outs, ins, size, place = [0], [statement.start], 0, statement.start
    for index in sorted(changes):
        token = statement.tokens[index]
        before = statement.text[place - statement.start : token.start - statement.start]
        parts += [before, changes[index]]
        size += len(before)
        outs.append(size)
        ins.append(token.start)
        size += len(changes[index])
        place = token.start + len(token.text)
        outs.append(size)
        ins.append(place)
    parts.append(statement.text[place - statement.start :])
    if sum(map(len, parts)) > LARGEST:
        raise PostgresError("54000", "the statement is too long", hint="send less at once")
    return Rewritten("".join(parts), tuple(outs), tuple(ins))


def literals(statement: Statement, values: Sequence[str]) -> dict[int, str]:
    """The changes that put literals in the place of parameters."""
    found = {}
    for index, token in enumerate(statement.tokens):
        if token.kind == "parameter":
            number = int(token.text[1:])
            if not 1 <= number <= len(values):
                raise PostgresError("42P02", "there is no such parameter", hint="bind all of them")
            found[index] = values[number - 1]
    return found


def unqualified(
    statement: Statement, tables: Collection[str], database: str
) -> tuple[dict[int, str], bool]:
    """The changes that leave out `public.` before tables, and LIMIT 0; whether that was there."""
    known, tokens = {name.casefold() for name in tables}, statement.tokens
    found: dict[int, str] = {}
    for index, token in enumerate(tokens[:-2]):
        schema, dot, table = token, tokens[index + 1], tokens[index + 2]
        if schema.name == "public" and dot.text == "." and table.name.casefold() in known:
            found |= {index: "", index + 1: ""}
            if index >= 2 and tokens[index - 1].text == "." and tokens[index - 2].name == database:
                found |= {index - 2: "", index - 1: ""}
    last = [one.text.lower() for one in tokens[-2:]]
    if last == ["limit", "0"]:
        found |= {len(tokens) - 2: "", len(tokens) - 1: ""}
    return found, last == ["limit", "0"]


def compared(statement: Statement) -> dict[int, str]:
    """The columns that parameters are compared with, by the numbers of the parameters.

    Example:
        >>> compared(split("SELECT COUNT(*) FROM t AS v WHERE v.age >= $1 AND 1 < $2")[0])
        {1: 'v.age'}
    """
    tokens = statement.tokens
    found: dict[int, str] = {}
    for index, token in enumerate(tokens):
        at = index - 1
        while token.kind == "parameter" and at > 0 and tokens[at].text in {"=", "<", ">", "!"}:
            at -= 1
        if at < index - 1 and tokens[at].name:
            name = tokens[at].text
            if at >= 2 and tokens[at - 1].text == "." and tokens[at - 2].name:
                name = f"{tokens[at - 2].text}.{name}"
            found.setdefault(int(token.text[1:]), name)
    return found
