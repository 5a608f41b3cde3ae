"""The release of a synthesis: synthetic rows, their model, and a report."""

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease, Cost, reading_stored
from discreet.answer.present.number_text import cost
from discreet.answer.present.release_json import plain
from discreet.privacy import Guarantee, Neighbours
from discreet.privacy.guarantees.interpretation import read
from discreet.workload.synthesis import Condition, Synthesis

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

import pyarrow.compute as pc

from discreet.answer.present.chart import altair

_CHANGE = {
    Neighbours.ADD_REMOVE: "adding or removing that one",
    Neighbours.CHANGE_ONE: "replacing that one by any other",
}


@dataclass(frozen=True, repr=False, eq=False)
class SynthesisRelease(BaseRelease):
    """A synthetic table; reading it again, or drawing more rows, costs nothing.

    `synthesis` has the model, its report and its intervals. `unit` says who is protected.
    """

    synthesis: Synthesis
    price: Price
    unit: str
    notes: tuple[str, ...] = ()

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """Gaussian differential privacy of everything that was measured."""
        return self.synthesis.guarantee

    @property
    def costs(self) -> tuple[Cost, ...]:  # type: ignore[override]
        """One guarantee for all marginals and scores."""
        return (Cost("marginals and scores of a synthesis", "Gaussian", self.guarantee),)

    @cached_property
    def table(self) -> pa.Table:
        """Synthetic rows, as many as the estimated number; always the same ones."""
        return self.synthesis.table()

    def rows(
        self, count: int | None = None, *, given: Mapping[str, Condition] | None = None
    ) -> pa.Table:
        """Any number of synthetic rows, held to conditions where some are given."""
        return self.synthesis.table(count, given=given)

    def to_arrow(self) -> pa.Table:
        """The synthetic rows."""
        return self.table

    def to_pandas(self) -> "pd.DataFrame":
        """The synthetic rows, for pandas."""
        return self.table.to_pandas()

    def report(self) -> pa.Table:
        """Measured marginals, and the model's error on each pair of columns."""
        return self.synthesis.report()

    def chart(self) -> "alt.TopLevelMixin":
        """The estimated error of each pair of columns, with its 95 % interval."""
        chart: alt.TopLevelMixin = draw_errors(self.synthesis)
        return chart

    # --- in words -------------------------------------------------------------------------------

    def statement(self) -> str:
        """The privacy statement, with what the rows do not say."""
        change, price = _CHANGE[self.guarantee.neighbours], self.price
        parts = [
            "These rows are synthetic: they were drawn from a model of marginals that were",
            f"measured with differential privacy. What is protected is {self.unit}: {change}",
            "changes the probability of anything that can be seen here only within the stated",
            f"limits. The price was epsilon = {cost(price.epsilon)} and",
            f"delta = {cost(price.delta)}.",
            f"In odds: {read(self.guarantee, delta=price.delta)}",
            *(f"{note[:1].upper()}{note[1:]}." for note in self.notes),
            f"On pairs of columns the model differs from the data by {self._error()} on average;",
            "combinations of more columns differ more, and what was not measured may be lost.",
            "No row is anybody's.",
        ]
        return textwrap.fill(" ".join(parts), 100, break_long_words=False)

    def _error(self) -> str:
        found, low, high = self.synthesis.mean_error_interval()
        if isnan(found):
            return "a distance that was not measured"
        return f"a total variation distance of {found:.3f} ({low:.3f} to {high:.3f})"

    def __repr__(self) -> str:
        measured = len(self.synthesis.result.measured)
        return (
            f"synthetic table: about {self.synthesis.rows:,} rows, "
            f"{len(self.synthesis.domain)} columns, {measured} marginals measured\n"
            f"mean error over pairs of columns: {self._error()}\n{self.table.slice(0, 5)}"
        )

    def json_facts(self) -> dict[str, Any]:
        """The report and a few rows as plain JSON."""
        few, error = self.table.slice(0, 5).to_pylist(), self.synthesis.mean_error()
        return {
            "rows": self.synthesis.rows,
            "columns": list(self.synthesis.domain.names),
            "mean_error": None if isnan(error) else round(error, 4),
            "report": [
                {name: round(v, 4) if isinstance(v, float) else v for name, v in one.items()}
                for one in self.report().to_pylist()
            ],
            "first_rows": [{n: plain(v) for n, v in row.items()} for row in few],
        }

    # --- storage --------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The stored form."""
        about = {
            "synthesis": 1,
            "price": [str(self.price.epsilon), str(self.price.delta)],
            "unit": self.unit,
            "notes": list(self.notes),
        }
        return json.dumps(about, sort_keys=True).encode() + b"\n" + self.synthesis.to_bytes()

    @staticmethod
    def from_bytes(stored: bytes) -> "SynthesisRelease":
        """The release that `to_bytes` wrote."""
        head, _, rest = stored.partition(b"\n")
        with reading_stored("a synthesis"):
            about = json.loads(head)
            price = Price(*(Fraction(part) for part in about["price"]))
            unit, notes = str(about["unit"]), tuple(about["notes"])
        return SynthesisRelease(Synthesis.from_bytes(rest), price, unit, notes)


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
