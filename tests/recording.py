"""Every exact integer of a question that would meet noise, recorded for tests."""

import pyarrow as pa

from discreet.answer.ask import _settle
from discreet.engines.engine import ARROW
from discreet.plan.query import key_types
from discreet.plan.statistics import Distinct, Ranks


def record(compiled, weighing, budget, engine):
    """{(statistic, group, cell): total}, and the number of people of each group."""
    with engine.snapshot() as session:
        if not compiled.by_row:
            session.keep(*compiled.pairs())
            session.keep(*compiled.norms())
        _settle(compiled, budget, weighing, session, "salt")
        found, groups = _totals(compiled, session)
        columns = {
            name: pa.array([key[i] for key in groups], ARROW[of.kind])
            for i, (name, of) in enumerate(
                zip(compiled.keys, key_types(compiled.query), strict=True)
            )
        }
        places = pa.array(range(len(groups)), pa.int64())
        session.put("groups", pa.table({"place": places, **columns}))
        for i, statistic in enumerate(compiled.statistics):
            if isinstance(statistic, Ranks):
                for place, cell, weight in _rows(session, compiled.ranks(statistic)):
                    found[i, groups[place], cell] = weight
            if isinstance(statistic, Distinct):
                statement = compiled.distincts(statistic, weighing.rows, "salt")
                for place, total in _rows(session, statement):
                    found[i, groups[place], None] = total
    return found


def _totals(compiled, session):
    found, groups = {}, []
    for batch in session.stream(compiled.totals()):
        for row in batch.to_pylist():
            key = tuple(row[name] for name in compiled.keys)
            groups.append(key)
            found["people", key, None] = row["people"] or 0
            for i, statistic in enumerate(compiled.statistics):
                if not isinstance(statistic, Ranks | Distinct):
                    found[i, key, None] = row[f"t{i}"] or 0
    return found, groups


def _rows(session, statement):
    return [tuple(row.values()) for batch in session.stream(statement) for row in batch.to_pylist()]
