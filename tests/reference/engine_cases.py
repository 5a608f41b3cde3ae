"""The answers of `discreet/engines/cases.json`, computed by the reference; run it to write them.

A case is added by its SQL, with anything for an answer.
"""

# ruff: noqa: S608 - it is a script too; the statements are its own

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from discreet.engines import conformance
from discreet.engines.conformance import BUCKETS, CELLS, LABELS, SALT, SCHEMA, plain, stored
from discreet.plan.schema import PERSON
from discreet.plan.statistics import needed
from discreet.sql.reader.read import read as read_sql
from reference.bounded import steps
from reference.interpreter import read
from reference.plans import rows_of

FILE = Path(conformance.__file__).with_name("cases.json")


def clean(name):
    """The rows of a table as questions read them, each with its owner."""
    table = SCHEMA.tables[name]
    rows = [
        {column: read(row[column], of) for column, of in table.columns.items()}
        for row in conformance.rows_of(name)
    ]
    if table is LABELS:
        return rows
    if table is CELLS:
        return [{PERSON: at, **row} for at, row in enumerate(rows)]
    return [
        {PERSON: row[table.unit.column], **row}
        for row in rows
        if row[table.unit.column] is not None
    ]


def values_of(text, tables):
    """The number of each row of `cells`, and an expression's value on it."""
    query = read_sql(f"SELECT COUNT(*) FROM (SELECT id, {text} AS v FROM cells)", SCHEMA)
    rows = sorted(rows_of(query.relation, tables), key=lambda row: row["id"])
    return [[row["id"], plain(row["v"])] for row in rows]


def measured(case, tables):
    """The rows of each step of a question."""
    query = read_sql(case["sql"], SCHEMA)
    by_row = query.is_by_row
    found = steps(query, needed(query), tables, case, SALT, BUCKETS, by_row=by_row)
    return {step: [[plain(value) for value in row] for row in rows] for step, rows in found.items()}


def answered(asked):
    """The same cases, with the answers of the reference."""
    tables = {name: clean(name) for name in SCHEMA.tables}
    return {
        "rows": asked["rows"],
        "values": {text: values_of(text, tables) for text in asked["values"]},
        "questions": [{**case, "rows": measured(case, tables)} for case in asked["questions"]],
    }


def write(found):
    """One case a line."""
    lines = [f'"rows":{dumped(found["rows"])},', '"values":{']
    lines.append(",\n".join(f"{dumped(t)}:{dumped(v)}" for t, v in found["values"].items()))
    lines += ["},", '"questions":[', ",\n".join(map(dumped, found["questions"])), "]"]
    return "{" + "\n".join(lines) + "}\n"


def dumped(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    FILE.write_text(write(answered(stored())), "utf-8")
