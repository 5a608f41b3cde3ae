"""Text to one syntax tree: limits first, then one SELECT statement or a refusal.

The dialect is DuckDB's, since that is the default engine and the most generous reader of the SQL
that analysts type; where it differs from Postgres (`/` is never integer division, NULL sorts last)
the plan has DuckDB's meaning.
"""

import datetime as dt
import re
from itertools import pairwise
from typing import ClassVar, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser

from discreet.sql.reader import spellings
from discreet.sql.reader.lists import REWRITTEN, copied, without_lists
from discreet.sql.reader.refusals import NODES, STATEMENTS, Refusal, said
from discreet.sql.reader.syntax import TOO_MUCH, Node, Place, Syntax

LONGEST = 100_000
"""Characters; longer texts are refused unread."""
MOST_TOKENS = 20_000
"""Words and signs; texts of more are refused."""
DEEPEST = 60
"""Levels of the syntax tree; deeper ones are refused."""


class _Dialect(DuckDB):
    """DuckDB's, with names in backticks; a[1] is left as it is, else all of `a` is typed."""

    INDEX_OFFSET = 0

    class Tokenizer(DuckDB.Tokenizer):
        """Cuts `a name`, as MySQL, Spark and BigQuery write it, out as one."""

        IDENTIFIERS: ClassVar = [*DuckDB.Tokenizer.IDENTIFIERS, "`"]
        KEYWORDS: ClassVar = {**DuckDB.Tokenizer.KEYWORDS, "FLOAT64": TokenType.DOUBLE}
        RAW_STRINGS: ClassVar = [(f"{r}'", "'") for r in "rR"]


_TOO_DEEP = said(f"""too_deep: the question is nested more than {DEEPEST} deep
    nobody reads such a question, and engines refuse it
    name parts of it in WITH, or leave out parentheses""")
_TOO_LONG = said(f"""too_long: the text has more than {LONGEST} characters or {MOST_TOKENS} words \
    and signs
    it would take too long to read
    shorten it; long lists of values belong in a public table""")
_STARTS = {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN}
_STARTS |= {TokenType.PIVOT, TokenType.UNPIVOT}
_OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.PARAMETER}


def parse(text: str, now: dt.datetime | None = None) -> tuple[Syntax, list[Token]]:
    """The one statement of a text, and its tokens."""
    if len(text) > LONGEST:
        raise _TOO_LONG.at(0, LONGEST)
    tokens = _tokens(text)
    if len(tokens) > MOST_TOKENS:
        raise _TOO_LONG.at(*_span(tokens[MOST_TOKENS]))
    tokens = _of_tsql(text, tokens)
    for token in tokens:
        if token.token_type is TokenType.RAW_STRING:  # r'a' of BigQuery: no escapes, as in 'a'
            token.token_type = TokenType.STRING
    _check_tokens(text, tokens)
    tree = _statement(text, tokens)
    gone, room = set[int](), MOST_TOKENS
    for node in _check_depth(text, tree):
        if not isinstance(node, REWRITTEN):
            continue
        room -= copied(node)
        if room < 0:
            raise Syntax(text, node).refuse(node, TOO_MUCH)
        if isinstance(node, exp.Anonymous):
            _spell(node)
        gone.update(part.meta.get("start", -1) for part in without_lists(node))
    return Syntax(text, tree, _spots(tokens), now, gone), tokens


def _spell(node: exp.Anonymous) -> None:
    """RATIO_TO_REPORT(x) OVER (...) is x by its sum over the same rows."""
    name, window = str(node.this).upper(), node.parent
    if name != "RATIO_TO_REPORT" or len(node.expressions) != 1:
        return
    if isinstance(window, exp.Window) and _is_whole(window):
        (of,) = node.expressions
        node.replace(exp.Sum(this=of.copy()))
        window.replace(exp.SafeDivide(this=of, expression=window.copy()))


def _is_whole(window: exp.Window) -> bool:
    """Whether a window has all rows of its partition: no order, and no frame."""
    return not (window.args.get("order") or window.args.get("spec"))


def check_words(syntax: Syntax, tokens: list[Token]) -> None:
    """Refuse what was not read of the tree, and a word that the parser did not keep in it."""
    syntax.finish()
    nodes = list(syntax.tree.walk())
    kept = syntax.gone | {node.meta["start"] for node in nodes if "start" in node.meta}
    dated = (node for node in nodes if isinstance(node, exp.TimeToStr))
    formats = {node.args["format"].name for node in dated}  # the parser keeps them without a mark
    for at, token in enumerate(tokens):
        told = token.token_type is TokenType.STRING and token.text in formats
        if token.start not in kept and not told and not _is_structure(tokens, at):
            unknown = Refusal("clause", f"{token.text!r} is not understood at this place")
            raise _MATCHES.get(token.text.upper(), unknown).at(*_span(token))


def _tokens(text: str) -> list[Token]:
    try:
        return _Dialect().tokenize(text)
    except TokenError:
        raise _UNFINISHED.at(*_open_quote(text)) from None


def _of_tsql(text: str, tokens: list[Token]) -> list[Token]:
    """The same with TOP after SELECT, and [names in brackets].

    DuckDB has no TOP. Lists are no values here, so a bracket holds a name where a value or a table
    may begin; anywhere else it stays what DuckDB reads.
    """
    for at in range(1, len(tokens) - 2):
        word, opens = tokens[at], tokens[at + 1].token_type is TokenType.L_PAREN
        counts = tokens[at + 1 + opens].token_type is TokenType.NUMBER
        if tokens[at - 1].token_type in _BEFORE_TOP and counts and word.text.upper() == "TOP":
            word.token_type = TokenType.TOP
    found: list[Token] = []
    for token in tokens:
        closes = token.token_type is TokenType.R_BRACKET
        near = range(max(1, len(found) - _WORDS_OF_A_NAME), len(found)) if closes else ()
        start = max((i for i in near if found[i].token_type is TokenType.L_BRACKET), default=0)
        name = text[found[start].end + 1 : token.start] if start else ""
        if re.fullmatch(r"[^\W\d][\w ]*", name) and _begins(found[max(0, start - 2) : start]):
            place = found[start].line, found[start].col, found[start].start, token.end
            found[start:] = [Token(TokenType.IDENTIFIER, name, *place)]
        else:
            found.append(token)
    return found


def _begins(before: list[Token]) -> bool:
    """Whether a value, a table or a name may begin after these."""
    last = before[-1].token_type
    top = last is TokenType.NUMBER and before[-2].token_type is TokenType.TOP
    return top or last in _BEFORE_NAMES


_BEFORE_TOP = {TokenType.SELECT, TokenType.DISTINCT}
_WORDS_OF_A_NAME = 10


def without_comments(text: str) -> str:
    """A question as it was written, but for its comments."""
    tokens, kept, end = _tokens(text), [], 0
    for token in tokens:
        gap = text[end : token.start]
        kept += [gap if not gap.strip() else " ", text[token.start : token.end + 1]]
        end = token.end + 1
    return "".join(kept).strip()


def _check_tokens(text: str, tokens: list[Token]) -> None:
    if not tokens:
        what = Refusal("syntax", "the question is empty", "there is nothing to answer", _EXAMPLE)
        raise what.at(0, len(text))
    first = tokens[0]
    if first.token_type not in _STARTS:
        raise STATEMENTS.get(first.text.upper(), STATEMENTS[""]).at(*_span(first))
    _check_nesting(tokens)
    for token in tokens:
        if token.token_type in {TokenType.PLACEHOLDER, TokenType.PARAMETER} and token.text != "@":
            raise NODES["Placeholder"].at(*_span(token))
    for before, after in pairwise(tokens):
        touching = after.start == before.end + 1 and after.token_type is TokenType.VAR
        if touching and before.token_type is TokenType.NUMBER:
            raise _BAD_NUMBER.at(before.start, after.end + 1)
        ends = before.token_type is TokenType.SEMICOLON
        if ends and after.token_type is not TokenType.SEMICOLON:
            raise _SEVERAL.at(before.start, len(text))
    _check_order(tokens)


def _check_nesting(tokens: list[Token]) -> None:
    depth = run = 0
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENS) - (kind in _CLOSES)
        run = run + 1 if kind in _PREFIXES else 0
        if depth > DEEPEST or run > DEEPEST:
            raise _TOO_DEEP.at(*_span(token))


# --- which words and signs may follow one another: the parser skips some that stand for nothing ---

_MALFORMED: Final = said("""syntax: the text is not a SQL statement
    it cannot be read on from this place
    look for a missing comma, operator, parenthesis or quote here""")

_BEFORE_NAMES: Final = {
    *(TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.DOT, TokenType.L_PAREN),
    *(
        TokenType.WITH,
        TokenType.ALIAS,
        TokenType.FROM,
        TokenType.JOIN,
        TokenType.ON,
        TokenType.WHERE,
    ),
    *(TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.PARTITION_BY),
    *(TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.BETWEEN, TokenType.LIKE),
    *(TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.EQ, TokenType.NEQ),
    *(TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.PLUS, TokenType.DASH),
    *(TokenType.STAR, TokenType.SLASH, TokenType.MOD),
}
"""After these a value, a table or a name begins."""

_JOINING = {TokenType.COMMA, TokenType.DOT, TokenType.ALIAS}
_OPENING = _BEFORE_NAMES - {TokenType.STAR} | {TokenType.LIMIT, TokenType.L_BRACKET}
_ENDS = {TokenType.COMMA, TokenType.SEMICOLON, TokenType.R_PAREN}
_SETS = {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT}
_NEVER_AFTER = {
    TokenType.ALIAS: _ENDS | {TokenType.SELECT},
    TokenType.LIMIT: _ENDS,
    TokenType.COMMA: {TokenType.JOIN},
    TokenType.PARAMETER: _ENDS,
    TokenType.PLUS: {TokenType.STAR, TokenType.WHEN, TokenType.SELECT},
    TokenType.ASC: {TokenType.DESC},
    TokenType.DESC: {TokenType.ASC},
    TokenType.NATURAL: _SETS,
}
_PAIRS = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
    TokenType.R_BRACE: TokenType.L_BRACE,
}
_PICKING, _UNPICKED = {"EXCEPT", "EXCLUDE", "REPLACE"}, {TokenType.R_PAREN, TokenType.FROM}


def _check_order(tokens: list[Token]) -> None:
    """Refuse parentheses that do not match, and signs between which something is missing."""
    opened: list[Token] = []
    for token in tokens:
        kind = token.token_type
        if kind in _PAIRS.values():
            opened.append(token)
        elif kind in _PAIRS and (not opened or opened.pop().token_type is not _PAIRS[kind]):
            raise _MALFORMED.at(*_span(token))
    if opened:
        raise _MALFORMED.at(*_span(opened[-1]))
    named = len(tokens) > 1 and tokens[-2].text == ":"  # :limit
    if tokens[-1].token_type in {TokenType.ALIAS, TokenType.LIMIT} and not named:
        raise _MALFORMED.at(*_span(tokens[-1]))
    for at, (before, after) in enumerate(pairwise(tokens)):
        kinds = before.token_type, after.token_type
        follows = tokens[at + 2].text.upper() if at + 2 < len(tokens) else ""
        known = after.text == "." and follows[:1].isdigit()  # .5
        known |= after.text == ":" or follows in {"STRUCT", "VALUE"}  # SELECT AS STRUCT
        hangs = kinds[0] in _OPENING and kinds[1] in _JOINING and not known
        picks = kinds[1] in _UNPICKED and before.text.upper() in _PICKING
        starred = picks and tokens[at - 1].token_type is TokenType.STAR
        if hangs or starred or kinds[1] in _NEVER_AFTER.get(kinds[0], ()):
            raise _MALFORMED.at(*_span(after))


def _span(token: Token) -> Place:
    """The place of a word or sign."""
    return token.start, token.end + 1


# --- the tree -------------------------------------------------------------------------------------


class _Parser(DuckDBParser):
    """DuckDB's with spellings of others, and types as they are written: VARCHAR(3), NUMERIC."""

    FUNCTIONS: ClassVar = {**DuckDBParser.FUNCTIONS, **spellings.FUNCTIONS}
    FUNCTION_PARSERS: ClassVar = {**DuckDBParser.FUNCTION_PARSERS, **spellings.PARSERS}
    TYPE_CONVERTERS: ClassVar = {}


def _statement(text: str, tokens: list[Token]) -> Node:
    try:
        parsed = _Parser(dialect=_Dialect()).parse(tokens, text)
    except ParseError as error:
        raise _MALFORMED.at(*_place(error, text, tokens)) from None
    except RecursionError:
        raise _TOO_DEEP.at(0, len(text)) from None
    (tree,) = (t for t in parsed if t is not None and not isinstance(t, exp.Semicolon))
    stars = [one for one in tokens if one.token_type is TokenType.STAR]
    if len(stars) > len(list(tree.find_all(exp.Star, exp.Mul))):  # FROM visits *
        raise _MALFORMED.at(*_span(stars[-1]))
    return tree


def _check_depth(text: str, tree: Node) -> list[Node]:
    """Refuse a tree that is too deep; its nodes, the inner ones first."""
    pending, nodes = [(tree, 0)], list[Node]()
    while pending:
        node, depth = pending.pop()
        nodes.append(node)
        if depth > DEEPEST:
            raise Syntax(text, node).refuse(node, _TOO_DEEP)
        if isinstance(node, exp.TableAlias) and _is_reserved(node.this):
            raise Syntax(text, node).refuse(node, _RESERVED)
        for child in node.iter_expressions():
            chained = isinstance(node, exp.And | exp.Or) and type(child) is type(node)
            pending.append((child, depth if chained else depth + 1))
    return nodes[::-1]


def _is_reserved(name: Node | None) -> bool:
    return isinstance(name, exp.Identifier) and not name.quoted and name.name.upper() in RESERVED


def _spots(tokens: list[Token]) -> dict[str, list[Place]]:
    """The places of words that leave no mark in the tree."""
    spots: dict[str, list[Place]] = {}
    for token in tokens:
        spots.setdefault(token.text.upper(), []).append(_span(token))
    return spots


def _place(error: ParseError, text: str, tokens: list[Token]) -> Place:
    for told in error.errors:
        for token in tokens:
            if (token.line, token.col) == (told.get("line"), told.get("col")):
                return _span(token)
    return 0, len(text)


def _open_quote(text: str) -> Place:
    """The start of a quote or comment that never ends."""
    closed = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|\$\$.*?\$\$"
    rest = re.sub(closed, lambda found: " " * len(found[0]), text, flags=re.DOTALL)
    start = min((at for at in map(rest.find, ("'", '"', "`", "/*", "$")) if at >= 0), default=0)
    return start, len(text)


_EXAMPLE = "ask for example SELECT city, COUNT(*) FROM visits GROUP BY city"
_UNFINISHED = said("""syntax: a quote, comment or number is not finished
    the text cannot be cut into words
    close what begins here""")
_RESERVED = said("""syntax: a table is called by a word of SQL
    it may be the beginning of a clause that is not finished
    leave it out, call the table otherwise, or put the name in double quotes""")
_SEVERAL = said("""several_statements: the text holds several statements
    each question is priced and answered by itself
    ask one question at a time""")
_TILDE = said("""pattern: a pattern after ~
    it matches the whole text in DuckDB and a part of it in Postgres
    write REGEXP_MATCHES(x, '^J') or x LIKE 'J%'""")
_MATCHES = dict.fromkeys(
    ("REGEXP", "RLIKE"),
    said("""pattern: a pattern after REGEXP or RLIKE
    it matches a part of the text or all of it, and minds case or not, as each engine has it
    write REGEXP_MATCHES(x, 'late|early'), of LOWER(x) where case does not matter"""),
)
_MATCHES["~"] = _TILDE
_BAD_NUMBER = said("""literal: letters follow a number
    numbers are written in decimal digits here
    write the number in decimal, or put a space after it""")

_NAMES = """
WITH ALIAS SELECT FROM FILTER WHERE DCOLON NOT LIKE ILIKE ESCAPE PLUS DASH STAR SLASH MOD DOT EQ NEQ
LT LTE GT GTE LEFT RIGHT OUTER INNER JOIN ON USING IS NULL AND OR BETWEEN DISTINCT GROUP_BY ROLLUP
CUBE GROUPING_SETS HAVING ORDER_BY DESC ASC FIRST LIMIT OFFSET ROWS SEMICOLON CASE WHEN THEN ELSE
END TRUE FALSE IN INTERVAL L_BRACKET R_BRACKET L_PAREN R_PAREN COMMA DPIPE ALL FOR UNION ISNULL
NOTNULL CARET_AT PARAMETER TEXT VARCHAR CHAR DOUBLE FLOAT BIGINT INT BOOLEAN DATE TIMESTAMP
TIMESTAMPNTZ DATETIME DIV DSTAR CARET SEMI ANTI FULL CROSS OVER PARTITION_BY QUALIFY WINDOW EXISTS
INTERSECT EXCEPT RANGE CURRENT_DATE CURRENT_TIMESTAMP CURRENT_DATETIME LOCALTIMESTAMP PIVOT
NATURAL UNPIVOT INTO TIME DECIMAL REPLACE TOP VALUES UNNEST ARRAY STRUCT ANY SOME
LATERAL TIMESTAMPTZ TIMESTAMPLTZ
"""
_RESERVED_WORDS = """
ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC BOTH CASE CAST CHECK COLLATE COLUMN CONSTRAINT
CREATE DEFAULT DEFERRABLE DESC DESCRIBE DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FROM
GROUP HAVING IN INITIALLY INTERSECT INTO LAMBDA LATERAL LEADING LIMIT NOT NULL OFFSET ON ONLY OR
ORDER PIVOT PIVOT_LONGER PIVOT_WIDER PLACING PRIMARY QUALIFY REFERENCES RETURNING SELECT SHOW SOME
SUMMARIZE SYMMETRIC TABLE THEN TO TRAILING TRUE UNION UNIQUE UNPIVOT USING VARIADIC WHEN WHERE
WINDOW WITH PARTITION
"""
RESERVED = frozenset(_RESERVED_WORDS.split())
"""Words that name nothing in DuckDB unless quoted; and PARTITION, which begins a MySQL clause."""
_STRUCTURE = {TokenType[name] for name in _NAMES.split()}
_WORDS = {"NULLS", "LAST", "WITHIN", "GROUP", "UNKNOWN", "LEADING", "TRAILING", "BOTH"}
_WORDS |= {
    "LATERAL",
    "APPLY",
    "EXCLUDE",
    "FETCH",
    "NEXT",
    "ONLY",
    "ROWS",
    "INCLUDE",
    "NAME",
    "VALUE",
}
_WORDS |= {"AT", "ZONE"}
_WORDS |= {"UNBOUNDED", "PRECEDING", "FOLLOWING", "CURRENT", "ROW"}
_UNIT_BEFORE = {"EXTRACT", "DATE_TRUNC", "DATETRUNC", "DATE_DIFF", "DATEDIFF"}


def _is_structure(tokens: list[Token], at: int) -> bool:
    """Whether a token that is not in the tree carries no meaning that could be lost."""
    token = tokens[at]
    if token.token_type in _STRUCTURE or token.text.upper() in _WORDS:
        return True
    if any(before.token_type is TokenType.INTERVAL for before in tokens[max(0, at - 3) : at]):
        return True
    if _follows_interval(tokens, at):
        return True
    follows = at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN
    names_function = follows and token.token_type is TokenType.VAR
    return names_function or _is_unit(tokens, at) or _is_fraction(tokens, at)


def _follows_interval(tokens: list[Token], at: int) -> bool:
    """Whether a token is the unit in INTERVAL (...) unit."""
    depth = 0
    for before in range(at - 1, 0, -1):
        kind = tokens[before].token_type
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth == 0:
            closed = before < at - 1
            return closed and tokens[before - 1].token_type is TokenType.INTERVAL
    return False


def _is_fraction(tokens: list[Token], at: int) -> bool:
    """Whether a token is the 5 of .5, which is in the tree as 0.5 and without a mark."""
    before = tokens[at - 1]
    number = tokens[at].token_type is TokenType.NUMBER
    return number and before.token_type is TokenType.DOT and before.end + 1 == tokens[at].start


def _is_unit(tokens: list[Token], at: int) -> bool:
    """Whether a token is the unit in EXTRACT(unit FROM ...) or DATE_TRUNC('unit', ...).

    DATEDIFF(day, a, b) has it as a word; weeks of other engines begin on some day of theirs.
    """
    if at < 2 or tokens[at - 1].token_type is not TokenType.L_PAREN:
        return False
    function = tokens[at - 2].text.upper()
    quoted = tokens[at].token_type is TokenType.STRING
    worded = function == "EXTRACT" or (function == "DATEDIFF" and tokens[at].text.upper() != "WEEK")
    return function in _UNIT_BEFORE and (quoted or worded)
