"""A plan as lines of text, one for each node, for golden files that people read."""

from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Function,
    IsIn,
    Like,
    Literal,
    Truncate,
)
from discreet.plan.query import Query
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    MatchPerson,
    MatchPublic,
    PerPerson,
    PersonWindow,
    Project,
    Scan,
    Union,
)
from discreet.plan.released_tables import (
    AnswerTable,
    ComputedTable,
    ConstantRows,
    FilteredTable,
    JoinedTables,
    PublicRows,
    RegroupedTable,
    SortedTable,
    StackedTables,
    WindowedTable,
)

INFIX = {
    f
    for f in Function
    if f.value in {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "and", "or", "||"}
}


def plan_text(query: Query) -> str:
    """The question from its rows up to what is done with the answer."""
    lines = relation_lines(query.relation)
    lines += [f"key {named(key)}" for key in query.keys]
    if query.sets != (tuple(range(len(query.keys))),):
        shown = ("(" + ", ".join(query.keys[at].name for at in s) + ")" for s in query.sets)
        lines.append(f"sets {', '.join(shown)}")
    lines += [aggregate_line(a) for a in query.aggregates]
    if query.having is not None:
        lines.append(f"having {expression_text(query.having)}")
    lines += [f"output {named(output)}" for output in query.outputs]
    for order in query.order:
        lines.append(f"order {expression_text(order.expression)}{' desc' * order.descending}")
    for one in query.also:
        lines += ["also", *("  " + line for line in plan_text(one).splitlines())]
    if query.then is not None:
        lines += ["then", *("  " + line for line in table_lines(query.then))]
    if query.limit is not None or query.offset:
        lines.append(f"limit {query.limit} offset {query.offset}")
    return "\n".join(lines) + "\n"


def table_lines(table) -> list[str]:
    """What is computed from released tables, the leaves first."""
    match table:
        case AnswerTable(place):
            return [f"answer {place}"]
        case PublicRows(of):
            return [f"public {of.name}"]
        case ConstantRows(names, rows):
            listed = ("(" + ", ".join(map(expression_text, row)) + ")" for row in rows)
            return [f"rows {', '.join(names)}: {', '.join(listed)}"]
        case ComputedTable(source, outputs):
            return [*table_lines(source), f"compute {', '.join(map(named, outputs))}"]
        case FilteredTable(source, condition):
            return [*table_lines(source), f"filter {expression_text(condition)}"]
        case WindowedTable(source, windows):
            return [*table_lines(source), *(f"window {answer_window_text(one)}" for one in windows)]
        case RegroupedTable(source, keys, aggregates):
            parts = [*map(named, keys), *(aggregate_line(a)[10:] for a in aggregates)]
            return [*table_lines(source), f"group {', '.join(parts)}"]
        case JoinedTables(left, right, kind, on):
            inner = ["  " + line for line in table_lines(right)]
            condition = "" if on is None else f" on {expression_text(on)}"
            return [*table_lines(left), f"{kind.value} join{condition}", *inner]
        case StackedTables(above, below):
            return [*table_lines(above), "union all", *("  " + line for line in table_lines(below))]
        case SortedTable(source, order, limit, offset):
            keys = ", ".join(expression_text(o.expression) + " desc" * o.descending for o in order)
            return [*table_lines(source), f"sort {keys or '-'} limit {limit} offset {offset}"]
    raise TypeError(table)


def answer_window_text(window) -> str:
    inner = ", ".join(map(expression_text, window.arguments))
    inner += "" if window.number is None else f"; {window.number}"
    by = ", ".join(map(expression_text, window.partition))
    order = ", ".join(expression_text(o.expression) + " desc" * o.descending for o in window.order)
    frame = "" if window.frame is None else f" rows {window.frame[0]} to {window.frame[1]}"
    return f"{window.name} := {window.function.name}({inner}) by [{by}] order [{order}]{frame}"


def relation_lines(relation) -> list[str]:
    match relation:
        case Scan(table):
            return [f"scan {table.name}"]
        case FilterRows(below, predicate):
            return [*relation_lines(below), f"filter {expression_text(predicate)}"]
        case Project(below, columns):
            return [*relation_lines(below), f"project {', '.join(map(named, columns))}"]
        case JoinPublic(below, table, on, keep, columns):
            shown = ", ".join(f"{here} := {there}" for here, there in columns)
            keys = ", ".join(
                f"{expression_text(e)} = {k}" for e, k in zip(on, table.key, strict=True)
            )
            head = f"{keep.value} join public {table.name} on {keys} giving {shown}"
            return [*relation_lines(below), head]
        case JoinPerson(left, right, _, keep):
            inner = ["  " + line for line in relation_lines(right)]
            head = f"{keep.value} join same person{meet_text(relation)}"
            return [*relation_lines(left), head, *inner]
        case MatchPerson(left, right, _, name):
            inner = ["  " + line for line in relation_lines(right)]
            head = f"{name} := same person{meet_text(relation)} in"
            return [*relation_lines(left), head, *inner]
        case MatchPublic(below, table, on, name, condition):
            keys = " and ".join(f"{expression_text(a)} = {b}" for a, b in on) or "any"
            where = "" if condition is None else f" where {expression_text(condition)}"
            return [*relation_lines(below), f"{name} := {keys} in public {table.name}{where}"]
        case PersonWindow(below, columns):
            return [*relation_lines(below), *map(window_text, columns)]
        case PerPerson(below, keys, aggregates):
            parts = [*map(named, keys), *map(summary_text, aggregates)]
            return [*relation_lines(below), f"per person {', '.join(parts)}"]
        case Union(left, right):
            inner = ["  " + line for line in relation_lines(right)]
            return [*relation_lines(left), "union all", *inner]
    raise TypeError(relation)


def meet_text(join) -> str:
    keys = [f"{expression_text(a)} = {expression_text(b)}" for a, b in join.on]
    keys += [] if join.condition is None else [expression_text(join.condition)]
    return "".join(f" and {key}" for key in keys)


def order_text(orders) -> str:
    return ", ".join(
        expression_text(o.expression) + " desc" * o.descending + " nulls first" * o.nulls_first
        for o in orders
    )


def window_text(column) -> str:
    inner = "" if column.argument is None else expression_text(column.argument)
    inner += f", {column.offset}" * (column.function.name in {"LAG", "LEAD"})
    inner += "" if column.default is None else f", {expression_text(column.default)}"
    text = f"window {column.name} := {column.function.name}({inner})"
    text += "" if column.where is None else f" where {expression_text(column.where)}"
    text += "".join(f" by {expression_text(one)}" for one in column.partition)
    text += f" order {order_text(column.order)}" if column.order else ""
    return text + ("" if column.frame is None else f" rows {column.frame}")


def named(column) -> str:
    text = expression_text(column.expression)
    return text if text == column.name else f"{column.name} := {text}"


def summary_text(aggregate) -> str:
    inner = "*" if aggregate.argument is None else expression_text(aggregate.argument)
    where = "" if aggregate.where is None else f" where {expression_text(aggregate.where)}"
    by = f" order {order_text(aggregate.by)}" if aggregate.by else ""
    at = "" if aggregate.level is None else f" at {aggregate.level}"
    return f"{aggregate.name} := {aggregate.summary.name}({inner}){at}{by}{where}"


def aggregate_line(aggregate) -> str:
    inner = ", ".join(map(expression_text, aggregate.arguments)) or "*"
    level = "" if aggregate.level is None else f" at {aggregate.level}"
    population = "" if aggregate.sample else " population"
    where = "" if aggregate.where is None else f" where {expression_text(aggregate.where)}"
    head = f"aggregate {aggregate.name} := {aggregate.measure.name}({inner})"
    return f"{head}{level}{population}{where}"


def expression_text(expression) -> str:
    match expression:
        case Literal(value, kind):
            return f"{value!r}:{kind.name}" if value is None else repr(value)
        case Column(name):
            return name
        case Call(function, arguments) if function in INFIX and len(arguments) > 1:
            return "(" + f" {function.value} ".join(map(expression_text, arguments)) + ")"
        case Call(function, arguments):
            return f"{function.name}({', '.join(map(expression_text, arguments))})"
        case Case(branches, otherwise):
            parts = [f"{expression_text(c)} -> {expression_text(v)}" for c, v in branches]
            return f"case[{'; '.join(parts)}; else {expression_text(otherwise)}]"
        case Cast(operand, kind):
            return f"{expression_text(operand)}::{kind.name}"
        case IsIn(operand, values):
            return f"{expression_text(operand)} in {[v.value for v in values]}"
        case Like(operand, pattern, escape):
            tail = f" escape {escape!r}" if escape else ""
            return f"{expression_text(operand)} like {pattern!r}{tail}"
        case Truncate(operand, unit):
            return f"{unit.value} of {expression_text(operand)}"
    raise TypeError(expression)
