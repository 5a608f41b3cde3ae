"""Well-typed expressions grown by a chooser, over columns of every kind and rows full of poison.

`grow(choose, kind, depth)` asks `choose.one(options)` for decisions and `choose.value(kind)` for
constants, so that hypothesis can shrink what it grew, and a seeded chooser can grow very many.
"""

import datetime as dt
import math
import random
import struct

from discreet.plan.calendar import PARTS
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
    Unit,
)
from discreet.plan.kinds import Kind, Range, Type

COLUMNS = {
    "x": Type(Kind.REAL),
    "p": Type(Kind.REAL, range=Range(-3.5, 10)),
    "r": Type(Kind.REAL, nullable=False, range=Range(0, 1e300)),
    "n": Type(Kind.INTEGER),
    "q": Type(Kind.INTEGER, range=Range(0, 100)),
    "m": Type(Kind.INTEGER, nullable=False, range=Range(-(2**40), 2**40)),
    "b": Type(Kind.BOOLEAN),
    "t": Type(Kind.TEXT),
    "k": Type(Kind.TEXT, keys=("Ab", "c'd", "", None)),
    "d": Type(Kind.DATE),
    "e": Type(Kind.DATE, range=Range(-400, 20000)),
    "s": Type(Kind.TIMESTAMP),
}
"""Free and bounded, with and without NULL."""

_DATES = [(1, 1, 1), (1, 1, 8), (9999, 12, 31), (9999, 12, 27), (1969, 12, 31), (1970, 1, 1),
          (2000, 2, 29), (1900, 2, 28), (2024, 12, 30), (2023, 1, 1), (1582, 10, 15)]  # fmt: skip
_HOURS = [(), (23, 59, 59, 999999), (12, 30, 0, 1)]
_TEXTS = [
    *("", " ", "a", "Ab", "aB%_\\", "c'd", '"', "É", "e\u0301", "\u0130ß", "👨‍👩‍👧", "a%"),
    *(
        "\U0010ffff",
        "\uffff",
        "\ud7ff",
        "a\x00b",
        "\x00",
        "\n",
        " a\t ",
        "\u00a0a ",
        "a_b",
        "a" * 9000,
    ),
    *(
        "12",
        "-7",
        "+1",
        " 1",
        "1_0",
        "0x1f",
        "9223372036854775807",
        "9223372036854775808",
        "\u0661",
    ),
    *("1e400", "-1e-400", "1.5", ".5", "5.", ".", "1e", "inf", "nan", "0e9999999999", "2024-02-29"),
    *("true", "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2024-1-1", "12024-01-01"),
    *("2024-02-29 23:59:59.5", "2024-02-29T24:00:00", "2024-02-29 23:59:60", "0000-01-01 00:00:00"),
]
_WHOLE = [0, 1, 2, 7, 100, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 3652058, 719162, 10**15]
_FINE = [0.0, 0.1, 0.5, 1.5, 2.5, 100.0, 709.9, 745.2, 5e-324, 1e-310, 2.2250738585072014e-308]
_BIG = [1e300, 1.7976931348623157e308, 2.0**53, 2.0**63, 9.223372036854775e18, 4503599627370497.5]
HARD = {
    Kind.BOOLEAN: [True, False],
    Kind.INTEGER: [*_WHOLE, *(-value for value in _WHOLE), -(2**63)],
    Kind.REAL: [*_FINE, *_BIG, *(-value for value in _FINE + _BIG), 0.49999999999999994],
    Kind.TEXT: _TEXTS,
    Kind.DATE: [dt.date(*day) for day in _DATES],
    Kind.TIMESTAMP: [dt.datetime(*day, *hour) for day in _DATES for hour in _HOURS],  # noqa: DTZ001
}
"""Values at the edges of every kind."""
NOT_NUMBERS = [math.nan, math.inf, -math.inf]


class Seeded:
    """A chooser of any number of expressions, the same on every run."""

    def __init__(self, seed):
        self.random = random.Random(seed)  # noqa: S311 - tests repeat themselves on purpose

    def one(self, options):
        return self.random.choice(options)

    def value(self, kind):
        if self.random.random() < 0.5 or kind not in {Kind.INTEGER, Kind.REAL}:
            return self.random.choice(HARD[kind])
        bits = self.random.getrandbits(64)
        if kind is Kind.INTEGER:
            size = bits >> self.random.randrange(1, 64)
            return -size if bits % 2 else size
        real = struct.unpack("d", struct.pack("Q", bits))[0]
        return real if math.isfinite(real) else 0.25


def stored_values(name, count, seed):
    """What a column may hold: edges, tame values, NaN and infinity, NULL."""
    of, choose = COLUMNS[name], Seeded(seed)
    hard = [key for key in of.keys or () if key is not None] or HARD[of.kind]
    if of.kind is Kind.REAL:
        hard = [*hard, *NOT_NUMBERS]
    tame = {
        Kind.INTEGER: range(-20, 120),
        Kind.REAL: [step / 8 for step in range(-50, 110)],
    }.get(of.kind, hard)
    return [choose.one(choose.one([hard, hard, tame, hard, tame, [None]])) for _ in range(count)]


def grow(choose, kind, depth):
    """An expression of a kind; a number of either kind where REAL is asked for."""
    if kind is Kind.REAL and choose.one([False, False, False, True]):
        kind = Kind.INTEGER
    if depth == 0 or choose.one([False] * 5 + [True]):
        return leaf(choose, kind)
    return choose.one(MAKERS[kind])(choose, depth - 1)


def leaf(choose, kind):
    """A column, a constant, now and then NULL."""
    columns = [name for name, of in COLUMNS.items() if of.kind is kind]
    what = choose.one(["column", "column", "column", "value", "value", "null"])
    if what == "column":
        return Column(choose.one(columns))
    return Literal(choose.value(kind) if what == "value" else None, kind)


# --- makers: (choose, depth) -> expression --------------------------------------------------------


def calls(kinds, *functions):
    """Calls of one of some functions, with arguments of these kinds."""

    def make(choose, depth):
        function = choose.one(functions)
        return Call(function, tuple(grow(choose, kind, depth) for kind in kinds))

    return make


def several(kind, *functions):
    """The same for functions of any number of arguments."""
    return lambda choose, depth: calls([kind] * choose.one([1, 2, 2, 3]), *functions)(choose, depth)


def cases(kind):
    def make(choose, depth):
        arms = [
            (grow(choose, Kind.BOOLEAN, depth), grow(choose, kind, depth))
            for _ in range(choose.one([1, 2]))
        ]
        return Case(tuple(arms), grow(choose, kind, depth))

    return make


def casts(source, target):
    return lambda choose, depth: Cast(grow(choose, source, depth), target)


def narrowed(choose, depth):
    """Arithmetic of INTEGER, cast back where it became REAL."""
    return Cast(calls([Kind.INTEGER] * 2, *PAIRS)(choose, depth), Kind.INTEGER)


def truncations(kind):
    return lambda choose, depth: Truncate(grow(choose, kind, depth), choose.one(list(Unit)))


def compared(choose, depth):
    kind = choose.one(list(Kind))
    other = Kind.DATE if kind is Kind.TIMESTAMP and choose.one([True, False]) else kind
    return calls([kind, other], *COMPARISONS)(choose, depth)


def tests_for_null(choose, depth):
    return calls([choose.one(list(Kind))], Function.IS_NULL)(choose, depth)


def lists(choose, depth):
    kind = choose.one(list(Kind))
    other = {Kind.REAL: Kind.INTEGER, Kind.INTEGER: Kind.REAL, Kind.DATE: Kind.TIMESTAMP}
    kinds = [choose.one([kind, other.get(kind, kind)]) for _ in range(choose.one([1, 2, 3]))]
    return IsIn(grow(choose, kind, depth), tuple(Literal(choose.value(k), k) for k in kinds))


def likes(choose, depth):
    escape = choose.one([None, "\\", "!", "é"])
    plain = [c for c in ("%", "%", "_", "a", "B", "é", "'", "\x00", "\u0301") if c != escape]
    escaped = [] if escape is None else [escape + c for c in ("%", "_", escape)]
    pattern = "".join(choose.one(plain + escaped) for _ in range(choose.one([0, 1, 2, 3, 4])))
    return Like(grow(choose, Kind.TEXT, depth), pattern, escape)


def buckets(choose, depth):
    ends = choose.one([(0, 1), (0.0, 100.0), (-3.5, 7), (-8e307, 8e307), (0.1, 0.7), (0, 5e-324)])
    limits = [Literal(end, Kind.INTEGER if type(end) is int else Kind.REAL) for end in ends]
    count = Literal(choose.one([1, 3, 7, 10, 1000]), Kind.INTEGER)
    return Call(Function.BUCKET, (grow(choose, Kind.REAL, depth), *limits, count))


def substrings(choose, depth):
    limits = choose.one([1, 2, 3, 2**40]), choose.one([0, 1, 2, 2**40])
    text = grow(choose, Kind.TEXT, depth)
    return Call(Function.SUBSTRING, (text, *(Literal(n, Kind.INTEGER) for n in limits)))


def ends(choose, depth):
    count = Literal(choose.one([0, 1, 2, 2**40]), Kind.INTEGER)
    return Call(Function.RIGHT, (grow(choose, Kind.TEXT, depth), count))


def splits(choose, depth):
    mark = Literal(choose.one(["a", "é", "ab", "aa", "'", "\U0010ffff"]), Kind.TEXT)
    place = Literal(choose.one([1, 2, 3]), Kind.INTEGER)
    return Call(Function.SPLIT_PART, (grow(choose, Kind.TEXT, depth), mark, place))


def extracts(choose, depth):
    pattern, groups = choose.one(
        [
            (r"a([^ab]{0,9})b?", 1),
            (r"^(\w+)", 1),
            (r"([A-Z]{1,2})([^A-Z])", 2),
            (r"é{1,5}([^é\]-]?)$", 1),
            (r"^[^\d.]+$", 0),
            (r"\s?('[^']{0,20})", 1),
            (r"^.+", 0),
        ]
    )
    literals = Literal(pattern, Kind.TEXT), Literal(choose.one(range(groups + 1)), Kind.INTEGER)
    return Call(Function.EXTRACT, (grow(choose, Kind.TEXT, depth), *literals))


def replacements(choose, depth):
    what = choose.one(["a", "é", "ab", "\x00", "aa", "a" * 9000, "'", "\u0301"])
    by = choose.one(["", "a", "é'", "aaa", "b" * 9000, "\U0010ffff"])
    texts = (Literal(what, Kind.TEXT), Literal(by, Kind.TEXT))
    return Call(Function.REPLACE, (grow(choose, Kind.TEXT, depth), *texts))


def parts(choose, depth):
    return calls([choose.one([Kind.DATE, Kind.TIMESTAMP])], *PARTS)(choose, depth)


def choices(kind):
    return [several(kind, Function.COALESCE), calls([kind] * 2, Function.NULL_IF), cases(kind)]


COMPARISONS = [
    Function.EQUAL,
    Function.NOT_EQUAL,
    Function.LESS,
    Function.LESS_EQUAL,
    Function.GREATER,
    Function.GREATER_EQUAL,
]
PAIRS = [Function.ADD, Function.SUBTRACT, Function.MULTIPLY]
EXTREMES = [Function.LEAST, Function.GREATEST]
NUMBER = Kind.REAL
MAKERS = {
    Kind.BOOLEAN: [
        compared,
        compared,
        several(Kind.BOOLEAN, Function.AND, Function.OR),
        calls([Kind.BOOLEAN], Function.NOT),
        tests_for_null,
        lists,
        likes,
        calls([Kind.TEXT] * 2, Function.STARTS_WITH, Function.ENDS_WITH),
        casts(Kind.INTEGER, Kind.BOOLEAN),
        *choices(Kind.BOOLEAN),
    ],
    Kind.INTEGER: [
        calls([Kind.INTEGER] * 2, Function.MODULO, Function.QUOTIENT),
        calls([NUMBER], Function.SIGN),
        calls([Kind.TEXT], Function.LENGTH),
        calls([Kind.TEXT] * 2, Function.POSITION),
        calls([Kind.DATE] * 2, Function.SUBTRACT),
        parts,
        buckets,
        casts(NUMBER, Kind.INTEGER),
        casts(Kind.TEXT, Kind.INTEGER),
        casts(Kind.BOOLEAN, Kind.INTEGER),
        several(Kind.INTEGER, *EXTREMES),
        narrowed,
        narrowed,
        *choices(Kind.INTEGER),
    ],
    Kind.REAL: [
        calls([NUMBER] * 2, *PAIRS),
        calls([NUMBER] * 2, *PAIRS),
        calls([Kind.INTEGER] * 2, *PAIRS),
        calls([NUMBER] * 2, Function.DIVIDE),
        calls([NUMBER], Function.NEGATE, Function.ABS),
        calls([NUMBER], Function.FLOOR, Function.CEIL, Function.ROUND),
        calls([NUMBER], Function.SQRT, Function.EXP, Function.LN, Function.LOG10, Function.LOG2),
        several(NUMBER, *EXTREMES),
        casts(Kind.TEXT, Kind.REAL),
        casts(Kind.INTEGER, Kind.REAL),
        casts(Kind.BOOLEAN, Kind.REAL),
        *choices(NUMBER),
    ],
    Kind.TEXT: [
        calls([Kind.TEXT], Function.LOWER, Function.UPPER),
        calls([Kind.TEXT], Function.TRIM, Function.LTRIM, Function.RTRIM),
        several(Kind.TEXT, Function.CONCAT, *EXTREMES),
        substrings,
        splits,
        extracts,
        ends,
        replacements,
        casts(Kind.INTEGER, Kind.TEXT),
        casts(Kind.BOOLEAN, Kind.TEXT),
        casts(Kind.DATE, Kind.TEXT),
        *choices(Kind.TEXT),
    ],
    Kind.DATE: [
        calls([Kind.DATE, Kind.INTEGER], Function.ADD, Function.SUBTRACT),
        calls([Kind.INTEGER, Kind.DATE], Function.ADD),
        calls([Kind.DATE, Kind.INTEGER], Function.ADD_MONTHS),
        several(Kind.DATE, *EXTREMES),
        truncations(Kind.DATE),
        casts(Kind.TEXT, Kind.DATE),
        casts(Kind.TIMESTAMP, Kind.DATE),
        *choices(Kind.DATE),
    ],
    Kind.TIMESTAMP: [
        calls([Kind.TIMESTAMP, Kind.INTEGER], Function.ADD, Function.SUBTRACT),
        calls([Kind.INTEGER, Kind.TIMESTAMP], Function.ADD),
        calls([Kind.TIMESTAMP, Kind.INTEGER], Function.ADD_MONTHS, Function.ADD_SECONDS),
        several(Kind.TIMESTAMP, *EXTREMES),
        truncations(Kind.TIMESTAMP),
        casts(Kind.DATE, Kind.TIMESTAMP),
        casts(Kind.TEXT, Kind.TIMESTAMP),
        *choices(Kind.TIMESTAMP),
    ],
}
