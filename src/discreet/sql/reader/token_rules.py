"""Which words and signs may follow one another: the parser skips some that stand for nothing."""

from itertools import pairwise
from typing import Final

from sqlglot import Token, TokenType

from discreet.sql.reader.refusals import said
from discreet.sql.reader.syntax import Place

MALFORMED: Final = said("""syntax: the text is not a SQL statement
    it cannot be read on from this place
    look for a missing comma, operator, parenthesis or quote here""")

BEFORE_NAMES: Final = {
    *(TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.DOT, TokenType.L_PAREN),
    *(TokenType.ALIAS, TokenType.FROM, TokenType.JOIN, TokenType.ON, TokenType.WHERE),
    *(TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.PARTITION_BY),
    *(TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.BETWEEN, TokenType.LIKE),
    *(TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.EQ, TokenType.NEQ),
    *(TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.PLUS, TokenType.DASH),
    *(TokenType.STAR, TokenType.SLASH, TokenType.MOD),
}
"""After these a value, a table or a name begins."""

_JOINING = {TokenType.COMMA, TokenType.DOT, TokenType.ALIAS}
_OPENING = BEFORE_NAMES - {TokenType.STAR} | {TokenType.LIMIT, TokenType.WITH, TokenType.L_BRACKET}
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


def check_order(tokens: list[Token]) -> None:
    """Refuse parentheses that do not match, and signs between which something is missing."""
    opened: list[Token] = []
    for token in tokens:
        kind = token.token_type
        if kind in _PAIRS.values():
            opened.append(token)
        elif kind in _PAIRS and (not opened or opened.pop().token_type is not _PAIRS[kind]):
            raise MALFORMED.at(*span(token))
    if opened:
        raise MALFORMED.at(*span(opened[-1]))
    named = len(tokens) > 1 and tokens[-2].text == ":"  # :limit
    if tokens[-1].token_type in {TokenType.ALIAS, TokenType.LIMIT} and not named:
        raise MALFORMED.at(*span(tokens[-1]))
    for at, (before, after) in enumerate(pairwise(tokens)):
        kinds = before.token_type, after.token_type
        follows = tokens[at + 2].text.upper() if at + 2 < len(tokens) else ""
        known = after.text == "." and follows[:1].isdigit()  # .5
        known |= after.text == ":" or follows in {"STRUCT", "VALUE"}  # SELECT AS STRUCT
        hangs = kinds[0] in _OPENING and kinds[1] in _JOINING and not known
        picks = kinds[1] in _UNPICKED and before.text.upper() in _PICKING
        starred = picks and tokens[at - 1].token_type is TokenType.STAR
        if hangs or starred or kinds[1] in _NEVER_AFTER.get(kinds[0], ()):
            raise MALFORMED.at(*span(after))


def span(token: Token) -> Place:
    """The place of a word or sign."""
    return token.start, token.end + 1
