"""Refusals: what is not answered, why, and the nearest question that is.

Tables of words only: by first word of a statement, by node of the syntax tree, by clause, by
function.
"""

from dataclasses import dataclass, replace

from discreet.errors import InputError, QueryRefused

_NOT_PART = "only questions that are understood to the last word are answered"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The words of a refusal."""

    code: str
    what: str
    why: str = _NOT_PART
    fix: str = "leave it out"

    @staticmethod
    def of(error: InputError, code: str) -> "Refusal":
        """A refusal by the plan."""
        return Refusal(code, error.what, error.why, error.fix)

    def at(self, start: int, end: int) -> QueryRefused:
        """The refusal of a part of the text."""
        said = {"why": self.why, "fix": self.fix, "code": self.code}
        return QueryRefused(self.what, **said, start=start, end=end)


def said(text: str) -> Refusal:
    '''A refusal: its code and what happened, why (often `_NOT_PART`), what to do; a line each.

    Example:
        >>> said("""clause: LIMIT BY is used
        ...     rows are counted as a whole
        ...     give a number of rows""").fix
        'give a number of rows'
    '''
    first, *why, fix = (" ".join(line.split()) for line in text.split("\n"))
    code, _, what = first.partition(": ")
    return Refusal(code, what, why[0] if why else _NOT_PART, fix)


_ONLY_READS = "a question reads and changes nothing"
_ASK = "ask a SELECT with aggregates, such as SELECT city, COUNT(*) FROM visits GROUP BY city"


_COMMANDS = """
INSERT UPDATE DELETE MERGE CREATE ALTER DROP TRUNCATE ATTACH DETACH COPY EXPORT IMPORT LOAD INSTALL
SET RESET PRAGMA CALL USE VACUUM CHECKPOINT BEGIN COMMIT ROLLBACK GRANT REVOKE PREPARE EXECUTE SHOW
DESCRIBE SUMMARIZE PIVOT UNPIVOT VALUES TABLE ANALYZE KILL COMMENT
"""
_COLLECTIONS = """
Array List Struct Map Bracket Dot JSONExtract JSONExtractScalar Tuple Slice ToMap PropertyEQ Lambda
Kwarg Columns JSONObject JSONArray Explode Unnest
"""

STATEMENTS = {
    "": Refusal("statement", "the text does not begin with SELECT or WITH", _ONLY_READS, _ASK),
    **{
        word: Refusal("statement", f"{word} is not a question", _ONLY_READS, _ASK)
        for word in _COMMANDS.split()
    },
    "EXPLAIN": Refusal(
        "statement", "EXPLAIN is not a question", _ONLY_READS, "pass the SELECT alone to explain"
    ),
}

ROW_OUTPUT = said("""row_output: the question asks for rows
    a row is somebody's; only aggregates over many people are answered
    aggregate, for example SELECT COUNT(*), or group by a category""")
WINDOW = said("""window: a window function over the rows of many people
    the value beside a row would depend on other people's rows
    put the column that names the person in PARTITION BY, or aggregate first: windows over \
    groups are free, as in SUM(COUNT(*)) OVER () with GROUP BY""")
_SUBQUERY = said("""subquery: a subquery stands inside an expression over private rows
    which rows count would depend on other people's rows
    write id IN (SELECT person ...), EXISTS, or a join on the column that names the person; \
    or ask the subquery first and write its number out (beside aggregates it can stand as \
    it is)""")
_COLLECTION = Refusal(
    "collection",
    "a list, struct, map or JSON value is used",
    "values are booleans, numbers, texts, dates and timestamps",
    'use a column for each part; names that need it stand in "double quotes"',
)
_PLACEHOLDER = said("""placeholder: a placeholder stands where a value belongs
    the question has to be complete before it is priced
    write the value itself""")
_TABLE_FUNCTION = said("""table_function: a table function or a file stands in FROM
    only the tables of the dataset, and rows that are written out, can be asked about
    write (VALUES ('a', 1), ('b', 2)) AS v(x, y), UNNEST(['a', 'b']) or GENERATE_SERIES(1, 9); \
    more belongs in a public table""")
SAMPLE = said("""sample: the question samples rows
    sampling is part of the guarantee and not of the question
    leave TABLESAMPLE out; the price does not depend on the number of rows""")
_NOW = said("""clock: the question depends on the time at which it is asked
    the same question has to have the same answer
    write the date, as in DATE '2026-01-31'""")
SET_OPERATION = said("""set_operation: UNION, INTERSECT or EXCEPT of rows that do not name the \
    same person in one column
    a row of one person would hide or keep that of another
    select the column that names the person on both sides, or use UNION ALL""")
_PATTERN = said("""pattern: a regular expression or GLOB pattern is used
    engines disagree on their meaning
    use LIKE, where % is any text and _ any character""")
_ORDERED_ARGUMENT = said("""clause: ORDER BY stands inside an aggregate
    the aggregates here do not depend on the order of rows
    leave it out""")
NODES = {
    **dict.fromkeys(("Window", "WindowSpec"), WINDOW),
    **dict.fromkeys(("Subquery", "Select", "Exists", "Union"), _SUBQUERY),
    **dict.fromkeys(("Except", "Intersect"), SET_OPERATION),
    **dict.fromkeys(_COLLECTIONS.split(), _COLLECTION),
    "Bracket": replace(_COLLECTION, fix="use a column for each part, as in QUANTILE_CONT(x, 0.5)"),
    **dict.fromkeys(("Placeholder", "Parameter", "SessionParameter"), _PLACEHOLDER),
    **dict.fromkeys(("CurrentTime", "Localtime"), _NOW),
    **dict.fromkeys(("RegexpILike", "SimilarTo", "Glob"), _PATTERN),
    **dict.fromkeys(
        ("Any", "All", "ArrayContains"),
        said("""collection: a value is compared with a list that is not written out, or otherwise \
            than by = ANY and <> ALL
            lists have no bound on their length
            write x IN ('a', 'b'), or x = ANY (ARRAY['a', 'b']); of the least or the largest of \
            several values, x > LEAST(a, b); of people, id IN (SELECT person FROM ...)"""),
    ),
    "Overlaps": said("""clause: OVERLAPS of two periods
        engines disagree on periods that are empty or end at NULL
        write a.start < b.end AND b.start < a.end"""),
    "Star": ROW_OUTPUT,
    "Order": _ORDERED_ARGUMENT,
    "Limit": _ORDERED_ARGUMENT,
    "Distinct": said("""distinct: DISTINCT stands inside this aggregate
        one person could be the only one with a value, however far from all others
        compute it from the values that are found: SELECT SUM(x) FROM (SELECT x FROM ... \
        GROUP BY x)"""),
    "Null": said("""null: NULL stands where its kind cannot be told
        every value has a kind
        write CAST(NULL AS BIGINT), or use IS NULL to test for it"""),
    "Rand": said("""function: a random number is asked for
        rows must not depend on chance
        leave it out"""),
    "Collate": said("""function: COLLATE is used
        texts are compared by code point on every engine
        compare LOWER(x) instead"""),
    "Grouping": said("""grouping: GROUPING stands where there are no groups
        it tells which keys a row of the answer is grouped by
        select it beside aggregates, with GROUP BY ROLLUP (...)"""),
    "Values": _TABLE_FUNCTION,
    "Alias": said("""clause: AS stands inside an expression
        put AS after the whole expression"""),
    "PositionalColumn": said("""clause: # refers to a column by position
        name the column"""),
}

CLAUSES = {
    ("", "sample"): SAMPLE,
    ("", "qualify"): Refusal(
        "window", "QUALIFY filters rows by a window function", WINDOW.why, WINDOW.fix
    ),
    ("", "windows"): WINDOW,
    ("", "pivots"): said("""pivot: PIVOT twice, or of a public table
        a source of rows is pivoted once
        put it in a subquery: FROM (SELECT a, b FROM ...) PIVOT (COUNT(*) FOR b IN ('x', \
        'y'))"""),
    ("", "laterals"): said("""lateral: LATERAL VIEW of Hive and Spark
        lists are no values here
        write CROSS JOIN LATERAL (VALUES (a), (b)) v(x) for values of the row"""),
    ("", "into"): Refusal("statement", "SELECT INTO writes a table", _ONLY_READS, "leave INTO out"),
    ("", "locks"): Refusal("clause", "FOR UPDATE locks rows", _ONLY_READS, "leave it out"),
    ("", "recursive"): said("""recursive: WITH RECURSIVE is used
        it has no bound
        write out the steps as subqueries; numbers and days are FROM GENERATE_SERIES(DATE \
        '2024-01-01', DATE '2024-12-31', INTERVAL 1 DAY) AS d(day)"""),
    ("", "materialized"): said("""clause: MATERIALIZED is a hint to one engine
        leave it out"""),
    ("Table", "db"): said("""unknown_table: a schema stands before a table
        name the table alone"""),
    ("Column", "db"): said("""unknown_column: a schema stands before a column
        name table.column"""),
    ("Distinct", "on"): said("""distinct: DISTINCT ON without ORDER BY
        which row it keeps would be anything
        add ORDER BY, the columns of DISTINCT ON first"""),
    ("Union", "by_name"): said("""set_operation: UNION BY NAME is used
        list the columns of both sides in one order"""),
    ("Limit", "limit_options"): said("""clause: a limit by percent or with ties is used
        give a number of rows"""),
    ("Limit", "expressions"): Refusal("clause", "LIMIT BY is used", fix="give a number of rows"),
    ("Trim", "expression"): said("""function: TRIM of other characters than spaces
        write TRIM(x)"""),
    ("Star", "rename"): Refusal("clause", "* RENAME is used", fix="list the columns"),
    ("Group", "all"): said("""grouping: GROUP BY DISTINCT is used
        list each grouping set once"""),
    ("Table", "joins"): said("""join: a join stands in parentheses
        leave the parentheses out"""),
    ("Join", "method"): said("""join: an ASOF or POSITIONAL join
        which row is the last before another is told by more than the two
        write the periods out, JOIN (VALUES (DATE '2024-01-01', DATE '2024-07-01', 'a'), ...) \
        v(since, until, x) ON t >= since AND t < until; for rows of one person LATERAL (SELECT ... \
        ORDER BY ... DESC LIMIT 1)"""),
    ("Between", "symmetric"): said("""clause: BETWEEN SYMMETRIC is used
        order the limits"""),
}

_LOGICAL = "LOGICAL_AND", "LOGICAL_OR", "BOOLAND_AGG", "BOOLOR_AGG"
_LISTED = "it would list the values of single people"
WHY = {
    **dict.fromkeys(["STRING_AGG", "GROUP_CONCAT", "LISTAGG", "ARRAY_AGG", "LIST"], _LISTED),
    **dict.fromkeys(["FIRST", "LAST", "ANY_VALUE", "ARG_MAX", "ARG_MIN"], "it is one row's value"),
    **dict.fromkeys(["BOOL_AND", "BOOL_OR", "EVERY", *_LOGICAL], "one person alone decides it"),
    **dict.fromkeys(["HASH", "MD5", "SHA256"], "each engine has another one"),
    "GENERATE_SERIES": "after SELECT it is a list to some engines, and rows to others",
    "TOP": "the number of rows is said at the end",
    "REGEXP_REPLACE": "one row could take long, and engines disagree on it",
}
"""Why some functions are not there; of the others the list is closed."""

_LISTS = "ask SELECT x, COUNT(*) FROM ... GROUP BY x, or of one person's rows FIRST(x ORDER BY y)"

FUNCTIONS = {
    "TOP": "write LIMIT 3 at the end, instead of TOP(3)",
    **dict.fromkeys(["STRING_AGG", "GROUP_CONCAT", "LISTAGG", "ARRAY_AGG", "LIST"], _LISTS),
    "MODE": "ask SELECT x, COUNT(*) AS n FROM ... GROUP BY x ORDER BY n DESC LIMIT 1",
    "HISTOGRAM": "ask SELECT WIDTH_BUCKET(x, low, high, bins), COUNT(*) FROM ... GROUP BY 1",
    "ENTROPY": "ask SELECT -SUM(p * LOG2(p)) FROM (SELECT n / SUM(n) OVER () AS p FROM"
    " (SELECT x, COUNT(*) AS n FROM ... GROUP BY x))",
    "APPROX_QUANTILES": "write QUANTILE_CONT(x, [0.25, 0.5, 0.75])",
    "GROUPING_ID": "write GROUPING(a, b)",
    "REGEXP_REPLACE": "use REGEXP_EXTRACT(x, '^([A-Z]+)-', 1), or CASE with LIKE",
    **dict.fromkeys(["HASH", "MD5", "SHA256"], "group by the value, or by LEFT(x, 1)"),
    **dict.fromkeys(
        ["FIRST", "LAST"], "use MIN, MAX or MEDIAN of a number, or count the values with GROUP BY"
    ),
    **dict.fromkeys(["ANY_VALUE", "ARG_MAX", "ARG_MIN"], "group by the column"),
    **dict.fromkeys(
        ["BOOL_AND", "EVERY", *_LOGICAL[::2]], "write COUNT(*) FILTER (WHERE NOT condition)"
    ),
    **dict.fromkeys(["BOOL_OR", *_LOGICAL[1::2]], "write COUNT(*) FILTER (WHERE condition)"),
    "GENERATE_SERIES": "write FROM GENERATE_SERIES(1, 9) AS t(x), or SELECT UNNEST([1, 2]) AS x",
    "STRPTIME": "write CAST(x AS DATE) for texts like 2026-01-31",
}
