"""Hypothesis strategies that several property tests share."""

from fractions import Fraction

from hypothesis import strategies as st

from discreet.plan.kinds import Kind
from reference.growth import HARD, grow

LARGE = st.integers(1, 2**200)


@st.composite
def scales(draw):
    """Rationals from 2^-20 to 2^56, many with large terms."""
    exponent = draw(st.integers(-20, 55))
    wiggle = Fraction(draw(LARGE), 2**200 + 1)  # in (0, 1)
    return Fraction(2) ** exponent * (1 + wiggle)


bad_numbers = st.one_of(
    st.sampled_from([float("nan"), float("inf"), float("-inf"), None, "1", True, 1j, [], {}]),
    st.floats(max_value=0, allow_nan=False),
    st.integers(max_value=0),
)


VALUES = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Kind.REAL: st.floats(allow_nan=False, allow_infinity=False),
    Kind.TEXT: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    Kind.DATE: st.dates(),
    Kind.TIMESTAMP: st.datetimes(),
}
"""Any value of each kind."""


class Drawn:
    """A chooser that hypothesis can shrink."""

    def __init__(self, draw):
        self.draw = draw

    def one(self, options):
        return self.draw(st.sampled_from(options))

    def value(self, kind):
        return self.draw(st.one_of(st.sampled_from(HARD[kind]), VALUES[kind]))


@st.composite
def expressions(draw, depth=3):
    """A well-typed expression over `reference.growth.COLUMNS`."""
    return grow(Drawn(draw), draw(st.sampled_from(list(Kind))), depth)
