"""One SELECT over answers: filtered, grouped again, and windows over what is left."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.answer_program import Program
from discreet.plan.expressions import Expression
from discreet.plan.released_tables import FilteredTable
from discreet.sql.reader.aggregated_select import AggregatedSelect
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.released_tables import Beyond, Shown, answer_of
from discreet.sql.reader.select import SelectReader
from discreet.sql.reader.select_list import (
    Answer,
    check_released,
    name_items,
    orders,
    position,
    read_items,
    read_limits,
)
from discreet.sql.reader.syntax import Node, Syntax, Visible, bare_word, order_parts


class ReleasedSelect(SelectReader):
    """Reads one SELECT over the released tables of its FROM; None where it has no FROM."""

    def __init__(
        self,
        syntax: Syntax,
        select: Node,
        program: Program | None,
        columns: Sequence[Visible],
        subquery: Callable[[Node], object],
    ) -> None:
        self.syntax = syntax
        self.select = select
        self.whole = False
        self.columns = tuple(columns)
        self.subquery = subquery
        self.program = program and self._filtered_program(program)
        types = self.program.table.columns if self.program else {}
        self.reader = ExpressionReader(syntax, types, self.meaning, clause="an aggregate")
        self.rows = ExpressionReader(syntax, types, self.meaning, clause="GROUP BY")
        self.items = read_items(syntax, select, self.columns)

    def read(self) -> Answer:
        """The answer."""
        distinct = self.select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise self.syntax.refuse(distinct, _DISTINCT_ON)
        groups = self._groups() if self.program else None
        if groups is None:
            return self._plain()
        found = AggregatedSelect(self, groups, per_person=False).read()
        assert isinstance(found, Answer)  # noqa: S101 - narrowing: it is not per person
        return found

    def _distinct_reader(self) -> ExpressionReader:
        return self.rows

    def _filtered_program(self, program: Program) -> Program:
        where = self.syntax.part(self.select, "where")
        if where is None:
            return program
        node = self.syntax.part(where, "this")
        beyond = Beyond(self.syntax, dict(program.table.columns), self.subquery)
        reader = ExpressionReader(
            self.syntax, beyond.types, self.meaning, clause="WHERE", beyond=beyond.read
        )
        condition = reader.checked(node)
        check_released(reader, condition, node)
        program = beyond.joined(program, node)
        return replace(program, table=FilteredTable(program.table, condition))

    def _plain(self) -> Answer:
        """Without groups: a row for each row below."""
        types = dict(self.reader.types)
        beyond = Beyond(self.syntax, types, self.subquery)
        reader = ExpressionReader(self.syntax, types, self.meaning, beyond=beyond.read)
        values = [item.read(reader) for item in self.items]
        names = name_items(self.syntax, self.items, [None] * len(self.items))
        named = dict(zip((name.lower() for name in names), values, strict=True))

        def after(node: exp.Column) -> Expression:
            word = bare_word(self.syntax, node)
            known = word and named.get(word.text.lower())
            return known or self.meaning(node)

        late = replace(reader, resolve=after)
        clause = self.syntax.part(self.select, "qualify")
        qualify = None
        if clause is not None:
            node = self.syntax.part(clause, "this")
            qualify = late.checked(node)
            check_released(late, qualify, node)
        order = []
        for node, descending, first in order_parts(self.syntax, self.select):
            at = position(self.syntax, node, len(values))
            key = late.checked(node) if at is None else values[at]
            order += orders(key, descending=descending, nulls_first=first)
        shown = Shown(
            list(zip(names, values, strict=True)),
            qualify=qualify,
            order=tuple(order),
            limits=read_limits(self.syntax, self.select),
        )
        try:
            joined = beyond.joined(self.program, self.select)
            return answer_of(shown.over(joined, beyond.windows))
        except InputError as error:
            raise self.syntax.blame(self.select, error) from None


_DISTINCT_ON = Refusal(
    "distinct",
    "DISTINCT ON over answers",
    "its first rows are told by a window",
    "write QUALIFY ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) = 1",
)
