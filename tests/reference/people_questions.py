"""Questions about people as sets and about each person's own history, as analysts write them.

`grow(choose)` gives the text of a question over tables like those of `clinic`; every text means the
same to DuckDB itself, since orders are told apart by `visit_id` where that matters.
"""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import datetime as dt

from clinic import CLINIC
from discreet.engines.engine import ARROW
from reference.growth import Seeded

PEOPLE = {"visits": "patient_id", "patients": "id", "tests": "patient"}
CONDITIONS = {
    "visits": ["urgent", "NOT urgent", "age > 40", "city = 'Haifa'", "cost < 300",
               "day >= '2023-01-01'",
               "city IN (SELECT name FROM cities WHERE population > 50)", "age IS NULL",
               "(SELECT c.population FROM cities c WHERE c.name = city AND region = 'north') > 50",
               "age > (SELECT population FROM cities WHERE name = 'Austin')"],
    "patients": ["sex = 'f'", "income > 30000", "born IS NULL", "sex IS NOT NULL"],
    "tests": ["value > 4", "value IS NULL", "visit_id % 2 = 0"],
}  # fmt: skip
EQUALITIES = [("visits", "tests", "visit_id", "visit_id"), ("visits", "visits", "city", "city")]
LATER = [
    ("visits", "visits", "{b}.day > {a}.day"),
    ("visits", "visits", "{b}.visit_id <> {a}.visit_id AND {b}.cost >= {a}.cost"),
    ("visits", "visits", "{b}.visit_id = {a}.visit_id + 1"),
    ("visits", "tests", "{b}.value * 100 > {a}.cost"),
    ("patients", "visits", "{b}.cost * 100 > {a}.income"),
    ("patients", "tests", "{a}.sex = 'f' AND {b}.value > 2"),
]
ORDERS = ["day, visit_id", "visit_id", "cost DESC, visit_id DESC", "city NULLS FIRST, visit_id"]
WINDOWS = [
    "ROW_NUMBER() OVER ({w} ORDER BY {o})",
    "RANK() OVER ({w} ORDER BY city)",
    "DENSE_RANK() OVER ({w} ORDER BY age DESC)",
    "COUNT(*) OVER ({w})",
    "COUNT(age) OVER ({w} ORDER BY day)",
    "COUNT(*) FILTER (WHERE urgent) OVER ({w} ORDER BY {o})",
    "SUM(age) OVER ({w} ORDER BY {o})",
    "SUM(age) OVER ({w} ORDER BY {o} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "CAST(AVG(cost) OVER ({w} ORDER BY {o} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS BIGINT)",
    "MAX(age) OVER ({w} ORDER BY {o} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
    "age - LAG(age) OVER ({w} ORDER BY {o})",
    "day - LAG(day, 2) OVER ({w} ORDER BY {o})",
    "LEAD(age, 1, 7) OVER ({w} ORDER BY {o})",
    "FIRST_VALUE(age) OVER ({w} ORDER BY {o})",
    "LAST_VALUE(age) OVER ({w} ORDER BY {o} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "NTILE(3) OVER ({w} ORDER BY {o})",
    "CAST(100 * PERCENT_RANK() OVER ({w} ORDER BY city) AS BIGINT)",
    "CAST(100 * CUME_DIST() OVER ({w} ORDER BY age) AS BIGINT)",
]
OF_GROUPS = [
    "ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY COUNT(*) DESC, urgent)",
    "SUM(COUNT(*)) OVER (PARTITION BY patient_id)",
    "MAX(age) - LAG(MAX(age)) OVER (PARTITION BY patient_id ORDER BY urgent)",
    "RANK() OVER (PARTITION BY patient_id ORDER BY MIN(visit_id))",
]
SUMMARIES = [
    *("COUNT(*)", "COUNT(DISTINCT city)", "SUM(age)", "MIN(visit_id)", "MAX(age)", "MEDIAN(age)"),
    *("MEDIAN(cost)", "CAST(AVG(cost) AS BIGINT)", "COUNT(*) FILTER (WHERE urgent)"),
    *("VAR_POP(age)", "QUANTILE_CONT(cost, 0.9)", "QUANTILE_CONT(age, 0.25)"),
    "PERCENTILE_CONT(0.7) WITHIN GROUP (ORDER BY cost DESC) FILTER (WHERE urgent)",
    *("STDDEV(age)", "ARG_MIN(age, visit_id)", "ARG_MAX(age, visit_id)", "FIRST(age ORDER BY {o})"),
    *("LAST(age ORDER BY visit_id)", "CASE WHEN BOOL_OR(urgent) THEN 1 END", "COUNT(DISTINCT age)"),
    *("CASE WHEN BOOL_AND(urgent) THEN 2 ELSE 1 END", "MAX(day) - MIN(day)", "YEAR(MIN(day))"),
    *("LENGTH(ARG_MIN(city, visit_id))", "LENGTH(FIRST(city ORDER BY {o}))", "LENGTH(MAX(city))"),
]  # fmt: skip


def stored(people, seed, most=25):
    """{table: {column: values}}: tame values, some NULL; the first person has `most` visits."""
    choose = Seeded(seed)
    tables = {name: {c: [] for c in CLINIC.tables[name].columns} for name in (*PEOPLE, "cities")}

    def add(name, *row):
        for column, value in zip(tables[name].values(), row, strict=True):
            column.append(value)

    visit = 0
    for person in range(1, people + 1):
        known = choose.one([True, True, True, False])
        if known:
            born = choose.one([None, dt.date(1960, 1, 1)])
            add("patients", person, choose.one(["f", "m", None]), born, 1e4 * choose.one([1, 4, 9]))
        for _ in range(choose.one([0, 1, 2, 4, 9]) if person > 1 else most):
            visit += 1
            day = dt.date(2022, 1, 1) + dt.timedelta(days=choose.one(range(1000)))
            add("visits", visit, person, choose.one(["Austin", "Haifa", None]),
                choose.one([None, *range(20, 80, 7)]), choose.one(range(1, 1000, 13)) / 2, day,
                dt.datetime.combine(day, dt.time()),
                choose.one([True, False, None]), "x")  # fmt: skip
            for _ in range(choose.one([0, 0, 1, 2]) if known else 0):  # a test has an owner there
                add("tests", person, visit, choose.one([None, 0.5, 2.0, 4.5, 9.0]))
    add("cities", "Haifa", "north", 100)
    add("cities", "Austin", None, 10)
    return tables


def arrow(tables):
    """The same as Arrow tables."""
    import pyarrow as pa

    return {
        name: pa.table(
            {c: pa.array(v, ARROW[CLINIC.tables[name].columns[c].kind]) for c, v in columns.items()}
        )
        for name, columns in tables.items()
    }


# --- growing --------------------------------------------------------------------------------------


def grow(choose):
    """The text of a question."""
    shapes = [rows_question, rows_question, joined, windowed, summed, written, lateral]
    return choose.one(shapes)(choose)


def rows_question(choose):
    table = choose.one(sorted(PEOPLE))
    where = condition(choose, table, "a", 2)
    key = {"visits": "a.urgent", "patients": "a.sex = 'f'", "tests": "a.value > 3"}[table]
    by = choose.one([False, False, True])
    head = f"SELECT {f'{key}, ' * by}{measured(choose, table)} FROM {table} a WHERE {where}"
    return head + f" GROUP BY {key}" * by


def measured(choose, table):
    """What is asked of rows of a table called a."""
    counts = choose.one(["COUNT(*)", f"COUNT(*), COUNT(DISTINCT a.{PEOPLE[table]})"])
    if table == "visits":
        counts += choose.one(["", ", SUM(a.age)"])
    flag = f", COUNT(*) FILTER (WHERE {condition(choose, table, 'a', 1)})"
    return f"{counts}{choose.one(['', '', flag])}"


def condition(choose, table, name, depth):
    """A condition on a row of a table under a name."""
    one = choose.one(CONDITIONS[table])
    if not depth:
        return one
    person = f"{name}.{PEOPLE[table]}"
    found = choose.one(
        [
            f"{person} IN ({people(choose, depth)})",
            f"{person} NOT IN ({people(choose, depth)})",
            exists(choose, table, name, depth),
            f"NOT {exists(choose, table, name, depth)}",
            "NOT (city IN (SELECT name FROM cities WHERE region = 'north'))"
            if table == "visits"
            else one,
            scalar(choose, table, name, depth),
            *(["({n}.patient_id, {n}.visit_id) IN (SELECT patient, visit_id FROM tests)",
               "({n}.city, {n}.urgent) IN (('Haifa', TRUE), ('Austin', FALSE))",
               "({n}.city, {n}.age) IN (SELECT name, population FROM cities)",
               "{n}.city IN (VALUES ('Haifa'), ('Haifa'))", "NOT list_contains([27, 34], {n}.age)",
               "EXISTS (SELECT 1 FROM (VALUES (2, 4), (6, 70)) x(a, b) WHERE age > a AND age < b)"]
              if table == "visits" else [one]),
        ]
    ).format(n=name)  # fmt: skip
    return choose.one([found, f"({one}) AND {found}", f"({one} OR {found})"])


def exists(choose, table, name, depth):
    other = choose.one(sorted(PEOPLE))
    inner = f"{name}{depth}"
    parts = [f"{inner}.{PEOPLE[other]} = {name}.{PEOPLE[table]}"]
    equal = [(x, y) for a, b, x, y in EQUALITIES if (a, b) == (table, other)]
    parts += [f"{inner}.{y} = {name}.{x}" for x, y in equal if choose.one([True, False])]
    later = [text for a, b, text in LATER if (a, b) == (table, other)]
    if later and choose.one([True, False]):
        parts.append(choose.one(later).format(a=name, b=inner))
    if choose.one([True, False]):
        parts.append(own(choose, other, inner, depth))
    return f"EXISTS (SELECT 1 FROM {other} {inner} WHERE {' AND '.join(parts)})"


def scalar(choose, table, name, depth):
    """A value of a subquery about the same person."""
    inner = f"{name}s{depth}"
    value, most, order = choose.one(
        [("COUNT(*)", 2, ""), ("AVG({i}.cost)", 250, ""), ("MAX({i}.age)", 40, ""),
         ("COUNT({i}.age)", 1, ""), ("{i}.age", 41, " ORDER BY {i}.visit_id DESC LIMIT 1")]
    )  # fmt: skip
    parts = [f"{inner}.patient_id = {name}.{PEOPLE[table]}"]
    if table == "visits" and choose.one([True, False]):
        parts.append(f"{name}.city = {inner}.city")
    if choose.one([True, False]):
        parts.append(own(choose, "visits", inner, depth))
    select = f"SELECT {value.format(i=inner)} FROM visits {inner} WHERE {' AND '.join(parts)}"
    select += order.format(i=inner)
    return f"({select}) {choose.one(['<', '>', '='])} {most}"


def own(choose, table, name, depth):
    """A condition on a table's own columns, by their full names."""
    simple = {
        "visits": [f"{name}.age > 30", f"{name}.urgent", f"{name}.city = 'Haifa'"],
        "patients": [f"{name}.sex = 'f'", f"{name}.income > 20000"],
        "tests": [f"{name}.value < 5", f"{name}.visit_id % 3 = 0"],
    }[table]
    nested = f"{name}.{PEOPLE[table]} IN ({people(choose, depth - 1)})"
    return choose.one([*simple, nested])


def people(choose, depth):
    """A query of people."""
    table = choose.one(sorted(PEOPLE))
    person = PEOPLE[table]
    plain = f"SELECT {person} FROM {table} WHERE {choose.one(CONDITIONS[table])}"
    if depth <= 0:
        return plain
    counted = (
        f"SELECT {person} FROM {table} GROUP BY {person} HAVING COUNT(*) > {choose.one([1, 3])}"
    )
    sets = choose.one(["UNION", "INTERSECT", "EXCEPT", "UNION ALL"])
    both = f"{people(choose, depth - 1)} {sets} {people(choose, depth - 1)}"
    return choose.one([plain, counted, both])


def joined(choose):
    """Rows of two tables side by side."""
    how = choose.one(["FULL", "LEFT", "SEMI", "ANTI", "", ",", "RIGHT", "set"])
    a, b, later = choose.one(LATER)
    on = f"a.{PEOPLE[a]} = b.{PEOPLE[b]}"
    theta = choose.one(["", f" AND {later.format(a='a', b='b')}"])
    theta += choose.one(["", f" AND {own(choose, b, 'b', 1)}"]) if how != "FULL" else ""
    if how == "set":
        sides = [
            f"SELECT {PEOPLE[t]}{', city' if 'visits' == t == a == b else ''} FROM {t} "
            f"WHERE {choose.one(CONDITIONS[t])}"
            for t in (a, b)
        ]
        op = choose.one(["UNION", "INTERSECT", "EXCEPT"])
        return f"SELECT COUNT(*) FROM ({sides[0]} {op} {sides[1]}) s"
    if how == ",":
        return f"SELECT COUNT(*) FROM {a} a, {b} b WHERE {on}{theta}"
    if how in {"SEMI", "ANTI"}:
        theta = theta if "IN (" not in theta else ""
        return f"SELECT COUNT(*) FROM {a} a {how} JOIN {b} b ON {on}{theta}"
    theta = theta if "IN (" not in theta else ""
    missing = f"COUNT(*) FILTER (WHERE b.{PEOPLE[b]} IS NULL)"
    head = f"SELECT COUNT(*), {missing}, COUNT(a.{PEOPLE[a]})"
    return f"{head} FROM {a} a {how} JOIN {b} b ON {on}{theta}"


def windowed(choose):
    """A value of a person's other visits beside each."""
    part = choose.one(["patient_id", "patient_id", "patient_id, urgent"])
    text = choose.one(WINDOWS).format(w=f"PARTITION BY {part}", o=choose.one(ORDERS))
    where = choose.one(["", " WHERE urgent", " WHERE city = 'Haifa'"])
    inner = f"SELECT patient_id, urgent, {text} AS w FROM visits{where}"
    if choose.one([True, False, False]):
        order = choose.one(ORDERS)
        inner += f" QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY {order}) <= 3"
    elif choose.one([True, False, False]):
        inner = f"SELECT DISTINCT ON (patient_id) patient_id, urgent, age AS w FROM visits{where}"
        inner += f" ORDER BY patient_id, {choose.one(ORDERS)}"
    elif choose.one([True, False, False]):
        inner = f"SELECT patient_id, urgent, {choose.one(OF_GROUPS)} AS w FROM visits{where}"
        inner += " GROUP BY patient_id, urgent"
        inner += choose.one(["", " HAVING COUNT(*) > 1", " QUALIFY w < 3"])
    few = f"w {choose.one(['<', '>', '='])} {choose.one([1, 2, 3, 30])}"
    clamped = "LEAST(GREATEST(w, -50), 500)"
    return choose.one(
        [
            f"SELECT COUNT(*), COUNT(w), SUM({clamped}) FROM ({inner})",
            f"SELECT urgent, COUNT(*) FROM ({inner}) WHERE {few} GROUP BY urgent",
            f"SELECT w > 2, COUNT(*), COUNT(DISTINCT patient_id) FROM ({inner}) GROUP BY 1",
        ]
    )


def summed(choose):
    """A summary of each person's visits."""
    text = choose.one(SUMMARIES).format(o=choose.one(ORDERS))
    where = choose.one(["", " WHERE urgent", " WHERE age > 30"])
    key = choose.one(["", "", ", urgent"])
    having = choose.one(["", "", " HAVING COUNT(*) > 2"])
    inner = f"SELECT patient_id, {text} AS v FROM visits{where} GROUP BY patient_id{key}{having}"
    clamped, many = "LEAST(GREATEST(v, -50), 5000)", f"SELECT * FROM ({inner}) WHERE v > 2"
    return choose.one(
        [
            f"SELECT COUNT(*), COUNT(v), SUM({clamped}) FROM ({inner})",
            f"SELECT COUNT(*) FROM ({inner}) WHERE v > {choose.one([1.31, 20.31, 42.31])}",
            f"SELECT COUNT(*) FROM patients WHERE id IN (SELECT patient_id FROM ({many}))",
        ]
    )


LISTS = [
    "(VALUES ('Haifa', 1), ('Austin', 2)) x(k, v)",
    "(VALUES ('Haifa', 1), ('Haifa', 30), (NULL, 40)) x(k, v)",
    "(SELECT 'Haifa' AS k, 20 AS v UNION ALL SELECT 'Bern', 60) x",
    "(SELECT 'Austin' AS k, unnest([20, 48, 62]) AS v) x",
]
MEETINGS = [
    "x.k = a.city", "a.age >= x.v", "x.k = a.city AND a.age > x.v",
    "a.age >= x.v AND a.age < 2 * x.v",
    "a.age BETWEEN x.v AND x.v + 9", "upper(x.k) = upper(a.city)", "TRUE",
]  # fmt: skip


def written(choose):
    """Rows of a table beside rows that the question writes out."""
    listed, on = choose.one(LISTS), choose.one(MEETINGS)
    where = choose.one(["", " WHERE a.urgent", " WHERE x.v > 20"])
    how = choose.one(["JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN", "first"])
    if how in {"SEMI JOIN", "ANTI JOIN"}:
        return f"SELECT COUNT(*), SUM(a.age) FROM visits a {how} {listed} ON {on}"
    rows = f"visits a {how} {listed} ON {on}"
    if how == "first":
        rows = f"{listed} JOIN visits a ON {on}"
    head = choose.one(["", "x.v, ", "x.k, "])
    values = f"{head}COUNT(*), COUNT(x.v), SUM(a.age)"
    return f"SELECT {values} FROM {rows}{where}" + " GROUP BY 1" * bool(head)


def lateral(choose):
    """Rows beside what a subquery gives for each of them."""
    table = choose.one(sorted(PEOPLE))
    same = f"b.patient_id = a.{PEOPLE[table]}"
    kept = choose.one(
        ["CROSS JOIN LATERAL {} l", "LEFT JOIN LATERAL {} l ON TRUE", ", LATERAL {} l"]
    )
    if table == "visits":
        same += choose.one(["", " AND b.city = a.city"])
        later = choose.one(["", " AND b.day > a.day", " AND b.visit_id <> a.visit_id"])
    own = choose.one(["", " AND b.urgent", " AND b.age > 30"])
    order, many = choose.one(ORDERS), choose.one([1, 2, 4])
    aggregate = choose.one(
        ["COUNT(*)", "SUM(b.age)", "MAX(b.age) - MIN(b.age)", "2 * COUNT(b.age) + 1"]
    )
    inner = [
        f"(SELECT b.age AS v FROM visits b WHERE {same}{own} ORDER BY {order} LIMIT {many})",
        f"(SELECT {aggregate} AS v FROM visits b WHERE {same}{own})",
        f"(SELECT urgent AS u, COUNT(*) AS v FROM visits b WHERE {same}{own} GROUP BY urgent)",
        f"(SELECT DISTINCT b.age AS v FROM visits b WHERE {same}{own})",
    ]
    if table == "visits":
        inner += [
            f"(SELECT b.age AS v FROM visits b WHERE {same}{own}{later})",
            "(VALUES (a.age), (a.visit_id % 50), (7))",
            "(SELECT a.age + 1 WHERE a.urgent)",
        ]
    text = choose.one(inner)
    if " v FROM" not in text:
        kept = kept.replace(" l", " l(v)")
    clamped = "LEAST(GREATEST(l.v, -50), 500)"
    values = choose.one([f"COUNT(*), COUNT(l.v), SUM({clamped})", "l.v > 2, COUNT(*)"])
    rows = f"{table} a{'' if kept.startswith(',') else ' '}{kept.format(text)}"
    return f"SELECT {values} FROM {rows}" + " GROUP BY 1" * values.startswith("l.v")
