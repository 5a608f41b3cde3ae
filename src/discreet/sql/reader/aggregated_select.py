"""The aggregated SELECT: keys and aggregates, and what is made of them once they are released.

Grouped by the person it gives rows, one a person, for the question around it; else an answer.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.answer_program import Program
from discreet.plan.expressions import Column, Expression, Function, Literal, call, chain, parts_of
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import (
    GROUPING,
    Aggregate,
    AggregateFunction,
    Query,
    SortKey,
    check,
    grouping_name,
    of_possible_groups,
    released_kind,
)
from discreet.plan.relations import FilterRows, Named, PerPerson, Relation, columns_of
from discreet.plan.released_tables import AnswerTable, ComputedTable
from discreet.plan.row_counts import row_counts, spread
from discreet.plan.typing import infer
from discreet.sql.reader.aggregates import Aggregates, AskedValue
from discreet.sql.reader.composed_aggregates import (
    MOST_COLUMNS,
    Entropy,
    FinerGroups,
    ValueHistogram,
)
from discreet.sql.reader.expressions import ExpressionReader, Resolve
from discreet.sql.reader.group_by import Groups
from discreet.sql.reader.refusals import said
from discreet.sql.reader.released_tables import Beyond, Shown, regrouped
from discreet.sql.reader.select_list import (
    Answer,
    Item,
    Lift,
    answer_named,
    name_items,
    or_earlier,
    or_selected,
    read_limits,
    read_order,
)
from discreet.sql.reader.syntax import NamedRelation, Node, Visible, copied, fresh, has_aggregate

if TYPE_CHECKING:
    from discreet.sql.reader.select import SelectReader


class AggregatedSelect:
    """The aggregated SELECT: keys, aggregates, and values over them."""

    def __init__(self, select: "SelectReader", groups: Groups, *, per_person: bool) -> None:
        self.outer = select
        self.syntax = select.syntax
        self.select = select.select
        released = select.program is not None
        self.groups = groups if per_person or released else self._possible(groups)
        self.per_person = per_person
        self.aggregates = Aggregates(
            reader=select.reader,
            columns=select.columns,
            per_person=per_person,
            released=released,
            counts=lambda: {} if released else row_counts(select.relation),
            total=self._total if select.totals else None,
            finer=None if released else self._finer,
        )
        self.beyond = Beyond(self.syntax, self.aggregates.types, select.subquery)
        self.reader = self._reader(select.meaning)
        self.items: list[tuple[str, Expression, Node]] = []
        self.keys = list(self.groups.keys)
        self.groupings: dict[Expression, Expression] = {}
        self.valued: dict[object, list[tuple[str, Expression]]] = {}
        self.summed: dict[int, Query] = {}

    def _possible(self, groups: Groups) -> Groups:
        """The groups without keys that are functions of keys whose values are public.

        Why: `GROUP BY d, dayofweek(d)` has the groups of `GROUP BY d`, and each its own weekday;
        all combinations of both would be measured, of which no row can be in most. A row is in one
        group before and after, so limits and sensitivity stay. The function is computed from the
        released key, by the same expression.
        """
        if len(groups.keys) < 2:
            return groups
        scope = columns_of(self.outer.relation)
        public = {key for key in groups.keys if infer(key, scope).keys is not None}
        kept = {
            key: node
            for key, node in groups.keys.items()
            if not _is_function_of(key, public - {key})
        }
        if len(groups.sets) > 1 or self.select.find(exp.Grouping) or len(kept) == len(groups.keys):
            return groups
        return Groups(kept, (tuple(range(len(kept))),))

    @property
    def _asks_beyond(self) -> bool:
        """Whether it has windows over released rows, or answers inside expressions."""
        return bool(self.beyond.windows or self.beyond.answers)

    def read(self) -> NamedRelation | Answer:
        """The rows of people, or the answer."""
        self.items = self._read_items()
        having = self._read_condition("having")
        qualify = self._read_condition("qualify")
        ordered = self._read_order()
        names = self._names()
        lift = Lift(self.syntax, names, self.outer.columns)
        outputs = [(name, lift.lift(e, node), node) for name, e, node in self.items]
        condition = None if having is None else lift.lift(having[0], having[1])
        if self.per_person:
            return self._people(names, outputs, condition)
        order = lift.order(ordered)
        if self.outer.program is None and not self._asks_beyond and qualify is None:
            query = self._query(names, outputs, condition, having and having[1])
            return self._finished(query, order)
        selected = [(name, expression) for name, expression, _ in outputs]
        kept = None if qualify is None else lift.lift(*qualify)
        limits = read_limits(self.syntax, self.select)
        shown = Shown(selected, condition, kept, order, limits)
        return self.syntax.build(self.select, self._over, shown, names, lift)

    # --- reading ---------------------------------------------------------------------------------

    def _read_items(self) -> list[tuple[str, Expression, Node]]:
        """Name, expression and place of each value; a list of quantiles is several."""
        items: list[Item] = []
        stems: list[str | None] = []
        values: list[Expression] = []
        named: list[tuple[str | None, Expression]] = []
        reader = or_earlier(self.reader, self.outer.columns, named)
        for item in self.outer.items:
            own = item.is_aggregate and not isinstance(item.node, exp.Grouping)
            asked = self.aggregates.ask_all(item.node) if own else [AskedValue(item.read(reader))]
            for value, stem, ending in asked:
                alias = f"{item.alias}_{ending}" if item.alias and ending else item.alias
                items.append(replace(item, alias=alias))
                stems.append(stem)
                values.append(value)
                named.append((alias, value))
        names = name_items(self.syntax, items, stems)
        nodes = [item.node for item in items]
        return list(zip(names, values, nodes, strict=True))

    def _read_condition(self, clause: str) -> tuple[Expression, Node] | None:
        """HAVING with conditions of WHERE that groups are told by, or QUALIFY."""
        node = self.syntax.part(self.select, clause, "this")
        nodes = [] if node is None else [node]
        nodes += [one for one, _, _ in self.outer.of_groups] if clause == "having" else []
        found = [self._post_reader().checked(one) for one in nodes]
        return (chain(Function.AND, found), nodes[0]) if found else None

    def _read_order(self) -> tuple[SortKey, ...]:
        if self.per_person and self.select.args.get("order"):
            raise self.syntax.refuse(self.select.args["order"], ORDER)
        return read_order(self.syntax, self.select, self._outputs, self._post_reader().checked)

    def _post_reader(self) -> ExpressionReader:
        """A reader of HAVING, QUALIFY and ORDER BY, which may name selected values."""
        columns, outputs = self.outer.columns, self._outputs
        return self._reader(or_selected(self.outer.meaning, self.syntax, columns, outputs))

    @property
    def _outputs(self) -> list[tuple[str | None, Expression]]:
        return [(name, expression) for name, expression, _ in self.items]

    def _reader(self, meaning: Resolve) -> ExpressionReader:
        return ExpressionReader(
            self.syntax,
            self.aggregates.types,
            meaning,
            self._ask,
            look=self.outer.rows.look and self._look,
            beyond=None if self.per_person else self._over_groups,
        )

    def _over_groups(self, reader: ExpressionReader, node: Node) -> Expression:
        """A window over groups, or an answer beside them; a key may ask about rows of a person."""
        look = self.outer.rows.look
        of_groups = any(one is node for _, one, _ in self.outer.of_groups)
        if isinstance(node, exp.In) and look is not None and not of_groups:
            query = node.args["query"].unnest()
            grouped = isinstance(query, exp.Select) and (
                query.args.get("group") or any(map(has_aggregate, query.expressions))
            )
            if not grouped or not isinstance(self.outer.subquery(query), Answer):
                return self._look(node)
        if look is not None and self.outer.private.knows(node):
            return self._look(node)
        return self.beyond.read(reader, node)

    def _finer(
        self, node: Node, kind: type[Node], of: Expression, where: Expression | None
    ) -> list[tuple[str, Expression]]:
        """Aggregates computed from counts of each value in each group."""
        if len(self.groups.sets) > 1:
            raise self.syntax.refuse(node, _FINER_SETS)
        known = (kind, of, where)
        if known in self.valued:
            return self.valued[known]
        scope = self.outer.reader.types
        *keys, value = self._named_beside((*self.keys, of))
        groups = FinerGroups(self.outer.relation, keys, of, where, value.name)
        type_of = infer(of, scope)
        if kind is ValueHistogram:
            listed = [one for one in groups.values or () if one is not None]
            if not 0 < len(listed) <= MOST_COLUMNS:
                raise self.syntax.refuse(node, _HISTOGRAM)
            columns = [self.beyond.column("value", Type(Kind.INTEGER)) for _ in listed]
            program = groups.histogram([c.name for c in columns], listed, type_of.kind)
            endings = [str(one) for one in listed]
        else:
            result = Kind.REAL if kind is Entropy else type_of.kind
            columns, endings = [self.beyond.column("value", Type(result))], [""]
            program = (groups.entropy if kind is Entropy else groups.mode)(columns[0].name)
        self.beyond.answers.append((columns[0].name, program, _meeting(keys)))
        self.valued[known] = list(zip(endings, columns, strict=True))
        return self.valued[known]

    def _named_beside(self, keys: Sequence[Expression]) -> list[Named]:
        """Keys of a question beside this one, under names that no other column has."""
        stems = [self._key_name(key, at) for at, key in enumerate(keys, start=1)]
        scope = self.outer.reader.types
        return [
            Named(self.beyond.column(stem, infer(key, scope)).name, key)
            for stem, key in zip(stems, keys, strict=True)
        ]

    def _total(self, of: Expression, where: Expression | None) -> Expression | None:
        """A sum over people, by their rows: all of them are one question beside this one."""
        by_rows = ((rows, rows.each(of)) for rows in spread(self.outer.relation))
        rows, each = next((one for one in by_rows if one[1] is not None), (None, None))
        if rows is None or each is None or len(self.groups.sets) > 1:
            return None
        found = self.beyond.column("total", Type(Kind.REAL))
        total = Aggregate(found.name, AggregateFunction.SUM, (each,), where)
        with suppress(InputError):
            check(total, columns_of(rows.relation))
            self.beyond.types[found.name] = Type(released_kind(total))
            known = (at for at, one in self.summed.items() if one.relation == rows.relation)
            at = next(known, len(self.beyond.answers))
            if at in self.summed:
                query, (name, _, on) = self.summed[at], self.beyond.answers[at]
                query = replace(query, aggregates=(*query.aggregates, total))
            else:
                keys = self._named_beside(self.keys)
                query = of_possible_groups(Query(rows.relation, tuple(keys), (total,)))
                name, on = found.name, _meeting(keys)
            self.summed[at] = query
            self.syntax.spread.append(self.outer.relation)
            self.beyond.answers[at : at + 1] = [(name, _alone(query), on)]
            return found
        return None

    def _look(self, node: Node) -> Expression:
        """A key's lookup among a person's rows; beside keys nothing has a value for each row."""
        look = self.outer.rows.look
        assert look is not None  # noqa: S101 - narrowing: see `_reader`
        found = look(node)
        try:
            infer(found, self.aggregates.types)
        except InputError:
            raise self.syntax.refuse(node, _UNGROUPED) from None
        return found

    def _ask(self, node: Node) -> Expression:
        return self._grouping(node) if isinstance(node, exp.Grouping) else self.aggregates.ask(node)

    def _grouping(self, node: Node) -> Expression:
        """GROUPING(a, b): a bit for each key, 1 where a row is not grouped by it."""
        listed = self.syntax.parts(node, "expressions")
        if self.per_person or not listed:
            raise self.outer.reader.unknown(node)
        found = self._left_out(listed[0])
        for one in listed[1:]:
            found = found * 2 + self._left_out(one)
        return found

    def _left_out(self, node: Node) -> Expression:
        """Whether rows are not grouped by a key: a column that stands for it until it is lifted."""
        key = self.outer.rows.checked(node)
        if key not in self.keys:
            raise self.syntax.refuse(node, _NO_KEY)
        if all(len(chosen) == len(self.keys) for chosen in self.groups.sets):
            return Literal(0, Kind.INTEGER)
        column = Column(f"\0grouping {self.keys.index(key)}")
        self.aggregates.types[column.name] = GROUPING
        self.groupings[column] = key
        return self.syntax.remember(column, node)

    # --- building --------------------------------------------------------------------------------

    def _names(self) -> dict[Expression, str]:
        """The released name of each key and aggregate: the one it is selected under, or its own."""
        beyond = self.beyond.names if self._asks_beyond else []
        chosen: dict[Expression, str] = {Column(name): name for name in beyond}
        taken = {name.lower() for name in beyond}
        keys, asked_of = set(self.keys), self.aggregates.asked
        for name, expression, _ in self.items:
            own = expression in keys or expression in asked_of
            if own and expression not in chosen:
                chosen[expression] = fresh(name, taken)
        for at, key in enumerate(self.keys, start=1):
            if key not in chosen:
                chosen[key] = fresh(self._key_name(key, at), taken)
        for placeholder, asked in asked_of.items():
            if placeholder not in chosen:
                chosen[placeholder] = fresh(self.aggregates.default_name(asked), taken)
        for column, key in self.groupings.items():
            chosen[column] = grouping_name(chosen[key])
        return chosen

    def _key_name(self, key: Expression, at: int) -> str:
        found = self._visible(key)
        return f"key_{at}" if found is None else found.name

    def _named_keys(self, names: dict[Expression, str]) -> tuple[Named, ...]:
        return tuple(Named(names[key], key) for key in self.keys)

    def _people(
        self,
        names: dict[Expression, str],
        outputs: list[tuple[str, Expression, Node]],
        having: Expression | None,
    ) -> NamedRelation:
        """One row a person: PerPerson, HAVING as a filter above it, the values above that."""
        if len(self.groups.sets) > 1:
            raise self.syntax.refuse(self.select.args["group"], _PEOPLE_SETS)
        for part in ("limit", "offset"):
            if self.select.args.get(part) is not None:
                raise self.syntax.refuse(self.select.args[part], LIMIT)
        build, select = self.syntax.build, self.select
        summaries = self.aggregates.summaries(names)
        keys = self._named_keys(names)
        relation: Relation = build(select, PerPerson, self.outer.relation, keys, summaries)
        if having is not None:
            relation = build(select.args["having"], FilterRows, relation, having)
        columns = [(name, expression) for name, expression, _ in outputs]
        relation = self.outer.project(relation, columns, select)
        owned = {names[key]: found for key in self.keys if (found := self._visible(key))}
        return NamedRelation(relation, tuple(copied(*one, owned) for one in columns))

    def _visible(self, key: Expression) -> Visible | None:
        return next((c for c in self.outer.columns if key == Column(c.column)), None)

    def _query(
        self,
        names: dict[Expression, str],
        outputs: list[tuple[str, Expression, Node]],
        having: Expression | None,
        having_node: Node | None,
    ) -> Query:
        aggregates = self.aggregates.releases(names)
        values = tuple(Named(name, expression) for name, expression, _ in outputs)
        fields = self.outer.relation, self._named_keys(names), aggregates, self.groups.sets
        bare = self.syntax.build(self.select, lambda: of_possible_groups(Query(*fields)))
        reader = ExpressionReader(self.syntax, bare.released_columns, self.outer.meaning)
        for _, expression, node in outputs:
            if not isinstance(expression, Column):  # which is shown as it is
                reader.check(expression, node)
        if having is not None and having_node is not None:
            reader.check(having, having_node)
            reader.expect_condition(having, having_node, "a condition")
        return replace(bare, outputs=values, having=having)

    def _over(self, shown: Shown, names: dict[Expression, str], lift: Lift) -> Answer:
        """A SELECT over groups: of private rows once they are released, or of released ones."""
        windows = {
            replace(
                window,
                arguments=tuple(lift.lift(one, None) for one in window.arguments),
                partition=tuple(lift.lift(one, None) for one in window.partition),
                order=lift.order(window.order),
            ): name
            for window, name in self.beyond.windows.items()
        }
        keys, aggregates = self._named_keys(names), self.aggregates.releases(names)
        below = self.outer.program
        if below is None:
            program = self._measured(keys, aggregates)
        else:
            fields = keys, aggregates, self.groups.sets, self.aggregates.turns
            program = replace(below, table=regrouped(below.table, *fields))
        return shown.over(self.beyond.joined(program, self.select, lift.lift), windows)

    def _measured(self, keys: tuple[Named, ...], aggregates: tuple[Aggregate, ...]) -> Program:
        """The groups that are measured; those of totals or finer ones where nothing else is."""
        if aggregates or not (self.valued or self.summed):
            asked = Query(self.outer.relation, keys, aggregates, self.groups.sets)
            return _alone(of_possible_groups(asked))
        if self.summed:
            at = next(iter(self.summed))
        else:
            first = next(iter(self.valued.values()))[0][1]
            names = [name for name, _, _ in self.beyond.answers]
            at = next(i for i, name in enumerate(names) if Column(name) == first)
        _, program, _ = self.beyond.answers.pop(at)
        columns = list(program.table.columns)
        renamed = dict(zip(columns, (key.name for key in keys), strict=False))
        outputs = tuple(Named(renamed.get(name, name), Column(name)) for name in columns)
        return replace(program, table=ComputedTable(program.table, outputs))

    def _finished(self, query: Query, order: tuple[SortKey, ...]) -> Answer:
        """Add ORDER BY, LIMIT and OFFSET."""
        limit, offset = read_limits(self.syntax, self.select)
        if order or limit is not None or offset:
            query = self.syntax.build(
                self.select.args.get("order"),
                lambda: replace(query, order=order, limit=limit, offset=offset),
            )
        return answer_named(query, (output.name for output in query.outputs))


def _is_function_of(expression: Expression, keys: set[Expression]) -> bool:
    """Whether an expression reads columns in these keys alone."""
    return expression in keys or (
        not isinstance(expression, Column)
        and all(_is_function_of(part, keys) for part in parts_of(expression))
    )


def _alone(query: Query) -> Program:
    return Program((query,), AnswerTable.of(0, query))


def _meeting(keys: Sequence[Named]) -> Expression | None:
    """Where keys are those of a row beside."""
    same = [_same(key.expression, Column(key.name)) for key in keys]
    return chain(Function.AND, same) if same else None


def _same(here: Expression, there: Expression) -> Expression:
    """Equal, or both NULL."""
    return call(Function.COALESCE, here.equals(there), here.is_null() & there.is_null())


LIMIT = said("""limit_on_rows: LIMIT or OFFSET stands where there are private rows
    which rows it keeps would depend on other people's
    aggregate first; LIMIT then counts rows of the answer""")
ORDER = said("""order_of_rows: ORDER BY stands where there are private rows
    their order means nothing to an aggregate
    leave it out, or order the answer""")
_FINER_SETS = said("""grouping: MODE, ENTROPY or HISTOGRAM beside several grouping sets
    values are counted once, in the groups of one set
    ask it for each set, and put the answers together with UNION ALL""")
_HISTOGRAM = said(f"""collection: HISTOGRAM of values that are not declared, or more than \
    {MOST_COLUMNS}
    each value is a column of the answer, and columns are known before it is priced
    ask SELECT x, COUNT(*) FROM ... GROUP BY x, of numbers GROUP BY WIDTH_BUCKET(x, low, \
    high, bins)""")
_NO_KEY = said("""grouping: GROUPING of something that is no key
    it tells whether a row of the answer is grouped by one
    name a key of GROUP BY""")
_PEOPLE_SETS = said("""grouping: a subquery per person has several grouping sets
    each person would have rows of several shapes
    group it by the person and further columns""")
_UNGROUPED = said("""ungrouped_column: a condition on other rows of a person is neither grouped \
    nor aggregated
    it holds or not for each row, and the answer has one row for each group
    put it in WHERE, in GROUP BY, or count where it holds: COUNT(*) FILTER (WHERE ...)""")
