"""How wrong a synthesis is, pair by pair, as one Vega-Lite chart."""

from typing import Any

import pyarrow.compute as pc

from discreet.answer.present.chart import altair
from discreet.workload.synthesis import Synthesis

_BARS = 40
"""The worst pairs are drawn."""


def draw_errors(synthesis: Synthesis) -> Any:
    """The estimated error of the worst pairs of columns, with its 95 % interval."""
    alt, report = altair(), synthesis.report()
    checked = report.filter(pc.is_valid(report["error"])).sort_by([("error", "descending")])
    data = alt.Data(values=checked.slice(0, _BARS).to_pylist())
    place = alt.Y("columns:N", sort=None, title=None)
    bars = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X("error:Q", title="total variation distance to the data"),
            y=place,
            color=alt.Color("measured:N", title="measured"),
        )
    )
    ends = alt.Chart(data).mark_rule().encode(x="error_low:Q", x2="error_high:Q", y=place)
    return (bars + ends).properties(title="Error of the model, with its 95 % interval")
