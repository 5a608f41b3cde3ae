"""Hypothesis strategies that several property tests share."""

from fractions import Fraction

from hypothesis import strategies as st

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
