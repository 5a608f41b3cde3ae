"""What a question measures under limits, step by step, in plain Python: the rows that engines give.

The steps are those of `discreet.engines.conformance`.
"""

import math
from fractions import Fraction

from discreet.plan.relations import columns_of
from discreet.plan.schema import PERSON
from discreet.plan.statistics import Distinct, People, Ranks, Rows, Total
from reference.interpreter import meaning
from reference.plans import FULL, cell_of, digest, grouped, on_grid, rows_of


def steps(query, statistics, tables, case, salt, buckets, *, by_row):
    """{step: rows}, in the order and with the columns of the engine's statements."""
    scope = columns_of(query.relation)
    keys = [meaning(key.expression, scope) for key in query.keys]
    known = [of.keys for of in query.key_types]
    is_known = all(listed is not None for listed in known)
    groups = grouped(rows_of(query.relation, tables, salt), keys)
    if not (by_row and is_known):  # what is no known key finds no place later
        groups = {g: rows for g, rows in groups.items() if listed(g, known)}
    found = {}
    heavy, roaming = {}, {}
    if not by_row:
        found |= {f"people by {n}": spread(groups, n, buckets) for n in ("l0", "l1", "l2")}
        if not is_known:
            groups = few_groups(groups, case["groups"], salt)
        most, norm = (case["each"] ** 2, "l2") if case["square"] else (case["each"], "l1")
        heavy = weights(groups, norm, most, square=case["square"], far=case.get("far"))
        roaming = weights(groups, "l0", case["groups"], square=case["square"])
    if not keys and not groups:
        groups = {(): []}
    order = sorted(groups, key=lambda g: [(k is None, k if k is not None else 0) for k in g])
    totals = {
        g: [total(s, groups[g], scope, heavy, roaming) for s in statistics if is_total(s)]
        for g in order
    }
    found["totals"] = [[*g, people(groups[g], by_row=by_row), *totals[g]] for g in order]
    if is_known:
        places = [(place_of(g, known), totals[g]) for g in order if listed(g, known)]
        found["placed totals"] = [[place, *sums] for place, sums in sorted(places)]
    for i, statistic in enumerate(statistics):
        if isinstance(statistic, Ranks):
            found[f"ranks {i}"] = ranks(statistic, groups, order, scope, heavy)
        if isinstance(statistic, Distinct):
            cells = None if by_row else case["each"]
            whole = grouped(rows_of(query.relation, tables, salt), keys)
            whole = {g: rows for g, rows in whole.items() if listed(g, known) or by_row}
            found[f"distinct {i}"] = distincts(statistic, whole, order, scope, cells, salt)
    return found


def is_total(statistic):
    return isinstance(statistic, Rows | Total | People)


def listed(group, known):
    return all(one is None or k in one for k, one in zip(group, known, strict=True))


def place_of(group, known):
    place = 0
    for key, values in zip(group, known, strict=True):
        place = place * len(values) + values.index(key)
    return place


def people(rows, *, by_row):
    return len(rows) if by_row else len({row[PERSON] for row in rows})


# --- limits ---------------------------------------------------------------------------------------


def norms(groups):
    """{person: [rows in each of their groups]}."""
    found = {}
    for rows in groups.values():
        for person, own in grouped(rows, [lambda row: row[PERSON]]).items():
            found.setdefault(person[0], []).append(len(own))
    return found


def norm_of(counts, name):
    return {"l0": len(counts), "l1": sum(counts), "l2": sum(n * n for n in counts)}[name]


def spread(groups, name, buckets):
    found = {}
    for counts in norms(groups).values():
        size = norm_of(counts, name)
        bucket = next((i for i, limit in enumerate(buckets) if size <= limit), len(buckets))
        found[bucket] = found.get(bucket, 0) + 1
    return [list(item) for item in sorted(found.items())]


def weights(groups, name, limit, *, square, far=None):
    """{person: weight} of those above a limit, which is lower by a share for those who are far."""
    found = {}
    for person, counts in norms(groups).items():
        size, most = norm_of(counts, name), limit
        if far is not None and size > (far[0] ** 2 if square else far[0]):
            most = limit * Fraction(far[1])
        if size > most:
            top = (float(most) ** 0.5 if square else float(most)) * FULL * (1 - 2.0**-40)
            found[person] = math.floor(top / (math.sqrt(size) if square else float(size)))
    return found


def few_groups(groups, most, salt):
    """Each person in so many groups, those whose keyed hash is least."""
    own = {}
    for group, rows in groups.items():
        for row in rows:
            own.setdefault(row[PERSON], {})[group] = None
    stays = {
        person: sorted(mine, key=lambda g: digest({PERSON: person, **dict(enumerate(g))}, salt))[
            :most
        ]
        for person, mine in own.items()
    }
    left = {g: [row for row in rows if g in stays[row[PERSON]]] for g, rows in groups.items()}
    return {g: rows for g, rows in left.items() if rows}


# --- statistics -----------------------------------------------------------------------------------


def counting(statistic, rows, scope):
    if statistic.where is None:
        return rows
    holds = meaning(statistic.where, scope)
    return [row for row in rows if holds(row) is True]


def total(statistic, rows, scope, heavy, roaming):
    rows = counting(statistic, rows, scope)
    if isinstance(statistic, People):
        return sum(roaming.get(person, FULL) for person in {row[PERSON] for row in rows})
    parts = [1] * len(rows)
    if isinstance(statistic, Total):
        value = meaning(statistic.value, scope)
        parts = [on_grid(value(row), statistic.grid) for row in rows]
    return sum(part * heavy.get(row[PERSON], FULL) for part, row in zip(parts, rows, strict=True))


def ranks(statistic, groups, order, scope, heavy):
    value, found = meaning(statistic.value, scope), {}
    for place, group in enumerate(order):
        for row in counting(statistic, groups[group], scope):
            at = place, cell_of(float(value(row)), statistic)
            found[at] = found.get(at, 0) + heavy.get(row[PERSON], FULL)
    return [[*at, weight] for at, weight in sorted(found.items()) if weight]


def distincts(statistic, groups, order, scope, most, salt):
    value = meaning(statistic.value, scope)
    each = {
        (row[PERSON], group, value(row)): None
        for group, rows in groups.items()
        for row in counting(statistic, rows, scope)
    }
    if most is not None:
        own = grouped(each, [lambda one: one[0]])
        each = [
            one
            for mine in own.values()
            for one in sorted(
                mine,
                key=lambda o: digest({PERSON: o[0], **dict(enumerate([*o[1], o[2]]))}, salt),
            )[:most]
        ]
    values = {}
    for _, group, v in each:
        values.setdefault(group, set()).add(v)
    if not order[0]:
        values.setdefault((), set())
    return [[i, len(values[g]) * FULL] for i, g in enumerate(order) if g in values]
