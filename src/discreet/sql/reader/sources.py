"""What can stand in FROM: private rows, public tables, written rows, and answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from discreet.plan.expressions import Expression
from discreet.plan.kinds import Type
from discreet.plan.relations import columns_of
from discreet.plan.schema import PublicTable
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.select_list import Answer
from discreet.sql.reader.syntax import NamedRelation, Syntax, Visible, Word, check_name


@dataclass(frozen=True, slots=True)
class Public:
    """A public table in FROM, which has no rows of its own to answer about."""

    table: PublicTable
    columns: tuple[Visible, ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """Rows that the question writes out: values of one kind in each column."""

    columns: tuple[Visible, ...]
    rows: tuple[tuple[Expression, ...], ...]
    types: tuple[Type, ...]


RowSource: TypeAlias = NamedRelation | Public | Constants
Rows: TypeAlias = NamedRelation | Answer | Constants
Source: TypeAlias = Rows | Public
S = TypeVar("S", bound=Source)


def renamed(syntax: Syntax, found: S, words: Sequence[Word]) -> S:
    """The first columns under new names: FROM visits AS v(who, age)."""
    if len(words) > len(found.columns):
        raise syntax.refuse(words[-1].node, _TOO_MANY_NAMES)
    columns: list[Visible] = list(found.columns)
    for at, word in enumerate(words):
        columns[at] = replace(columns[at], name=check_name(syntax, word.text, word.node))
    return replace(found, columns=tuple(columns))


def known_as(found: S, name: str) -> S:
    """The same under the name of one source."""
    columns = tuple(replace(c, source=name, hidden=False) for c in found.columns)
    return replace(found, columns=columns)


def types_of(side: RowSource) -> dict[str, Type]:
    """The types of its columns, by their names in the plan."""
    if isinstance(side, NamedRelation):
        return dict(columns_of(side.relation))
    stored = side.types if isinstance(side, Constants) else side.table.columns.values()
    return {c.column: of for c, of in zip(side.columns, stored, strict=True)}


_TOO_MANY_NAMES = Refusal(
    "syntax", "more names than columns", "each name is for one column", "leave out the last names"
)
