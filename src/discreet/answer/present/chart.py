"""Released numbers as one Vega-Lite chart: noise intervals drawn and named as such."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from discreet.answer.present.number_text import cost, plain, printable
from discreet.answer.present.release_text import is_key, is_number
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.answer.present.release import Release

_ROWS, _WHISKERS, _BARS = 5_000, 60, 250
_NOISE = "95 % noise interval"
_ORANGE = "#d97706"
_COLOURS = ["#3b6ea8", "#2a9d8f", "#8e6bbf", "#c2557a", "#6b7d3c", "#7a6a58", "#4ba3c7", "#94784a"]

Panel: TypeAlias = tuple[str, str]
"""A released column, or the title of its axis, and the field of the data that holds it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The x axis of a chart and the column that tells series apart.

    `kind` is Vega-Lite's: nominal makes bars, temporal makes lines, quantitative a histogram, or
    lines where several would stand at one place. `order` has the rows as they are drawn: by date or
    number, else as they were released. `step` is how wide a bar of a histogram is, None for lines.
    """

    place: str
    kind: str
    series: tuple[str, ...]
    order: tuple[int, ...]
    step: float | None = None

    @property
    def rows(self) -> int:
        """How many rows are drawn."""
        return len(self.order)

    @property
    def is_line(self) -> bool:
        """Whether neighbouring points belong together."""
        return self.is_upright and self.step is None

    @property
    def is_upright(self) -> bool:
        """Whether places go across, and not down."""
        return self.kind != "nominal"


def draw(release: "Release") -> Any:
    """A panel for each released number."""
    alt = altair()
    shown = (f.name for f in release.table.schema if is_number(f.type))
    numbers = [name for name in shown if not is_key(release, name)]
    if not numbers or not release.table.num_rows:
        raise InputError(
            "there is nothing to draw",
            why="the released table has no rows or no numbers",
            fix="ask for an aggregate of groups that exist",
        )
    layout = lay_out(release)
    panels = [(number, f"y{i}") for i, number in enumerate(numbers)]
    data = alt.Data(values=records(release, layout, panels))
    charts = [_panel(release, layout, one, first=i == 0) for i, one in enumerate(panels)]
    title = _title(release, layout, numbers)
    return _together(charts, layout).properties(data=data, title=title)


def altair() -> Any:
    """Altair, which is an extra; InputError where it is not installed."""
    try:
        import altair as alt  # noqa: PLC0415 - an extra
    except ImportError as missing:
        raise InputError(
            "charts need Altair",
            why="it is an extra and is not installed",
            fix="install discreet[chart]",
        ) from missing
    return alt


# --- data ---------------------------------------------------------------------------------------


def lay_out(release: "Release") -> Layout:
    """The first key with an order makes lines or a histogram; else the first key makes bars."""
    keys = [f for f in release.table.schema if is_key(release, f.name)]
    ordered = [f for f in keys if _is_ordered(release, f)]
    first = (ordered or keys or [pa.field("", pa.string())])[0]
    kind = "nominal"
    if ordered:
        kind = "temporal" if pa.types.is_temporal(first.type) else "quantitative"
    order, step = list(range(release.table.num_rows)), None
    series = tuple(f.name for f in keys if f.name != first.name)
    if ordered:
        places = release.table.column(first.name).to_pylist()
        order.sort(key=places.__getitem__)
        step = _width(places) if kind == "quantitative" and not series else None
    return Layout(first.name, kind, series, tuple(order[:_ROWS]), step)


def _width(places: Sequence[float]) -> float | None:
    """The least distance of two places; None where bars as wide as it would be hairs."""
    ordered = sorted(set(places))
    least = min(high - low for low, high in pairwise(ordered))
    return least if ordered[-1] - ordered[0] < _BARS * least else None


def _is_ordered(release: "Release", field: pa.Field) -> bool:
    """Dates and numbers, where there are places enough for a line and all have one."""
    column = release.table.column(field.name)
    ordered = is_number(field.type) or pa.types.is_temporal(field.type)
    return bool(ordered and not column.null_count and len(column.unique()) > 2)


def records(release: "Release", layout: Layout, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """The data of a chart, under names of its own: a dot or a bracket means a path to Vega."""
    shown = release.table.take(pa.array(layout.order, pa.int64()))
    columns: dict[str, list[Any]] = {
        "place": _places(shown, layout),
        "noise": [_NOISE] * layout.rows,
    }
    if layout.step:
        half = layout.step / 2
        columns["left"] = [place - half for place in columns["place"]]
        columns["right"] = [place + half for place in columns["place"]]
    if layout.series:
        parts = [_labels(shown.column(name).to_pylist()) for name in layout.series]
        columns["series"] = [" / ".join(one) for one in zip(*parts, strict=True)]
    for number, field in panels:
        columns[field] = shown.column(number).to_pylist()
        if number in release.half_widths:
            widths = (
                release.half_widths[number].take(pa.array(layout.order, pa.int64())).to_pylist()
            )
            pairs = list(zip(columns[field], widths, strict=True))
            columns[f"{field}_half"] = widths
            columns[f"{field}_low"] = [_end(value, width, -1) for value, width in pairs]
            columns[f"{field}_high"] = [_end(value, width, 1) for value, width in pairs]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _places(shown: pa.Table, layout: Layout) -> list[Any]:
    if not layout.place:
        return [""] * shown.num_rows
    values = shown.column(layout.place).to_pylist()
    match layout.kind:
        case "temporal":
            return [value.isoformat() for value in values]
        case "quantitative":
            return list(values)
    return _labels(values)


def _labels(values: Sequence[Any]) -> list[str]:
    """Keys as texts that differ where the keys do."""
    names: dict[Any, str] = {}
    for value in values:
        label = printable(value)
        while value not in names and label in names.values():
            label += "'"
        names.setdefault(value, label)
    return [names[value] for value in values]


def _end(value: Any, width: float | None, side: int) -> float | None:
    return None if value is None or width is None else float(value) + side * width


# --- marks --------------------------------------------------------------------------------------


def _panel(release: "Release", layout: Layout, panel: Panel, *, first: bool) -> Any:
    alt = altair()
    base = alt.Chart().encode(**_where(layout, first=first), **_series(layout))
    base = base.encode(tooltip=_tooltip(release, layout, panel))
    title = axis_title(release, panel[0])
    if not pa.types.is_integer(release.table.schema.field(panel[0]).type):
        layout = replace(layout, step=None)  # means begin at no 0: a line, not a histogram
    layers = [_numbers(base, layout, (title, panel[1]), large=_is_large(release, panel[0]))]
    if panel[0] in release.half_widths:
        layers.insert(0 if layout.is_line else 1, _interval(base, layout, (title, panel[1])))
    size: dict[str, Any] = {"width": 560, "height": 200}
    if not layout.is_upright:
        size = {"width": 260, "height": {"step": _step(layout)}}
    return alt.layer(*layers).properties(**size)


def _step(layout: Layout) -> float:
    """The height of a bar: all are drawn, thinner where they are many."""
    return max(1, min(9 if layout.series else 20, 12_000 // layout.rows))


def axis_title(release: "Release", number: str) -> str:
    """The name of a number; one that has no interval says so."""
    return (
        plain(number) if number in release.half_widths else f"{plain(number)} (no noise interval)"
    )


def _is_large(release: "Release", number: str) -> bool:
    """Whether the numbers need k and M to be short."""
    values = release.table.column(number).to_pylist()
    return any(value is not None and abs(value) >= 100_000 for value in values)


def _where(layout: Layout, *, first: bool) -> dict[str, Any]:
    """The channel of the places: across for lines, down for bars, whose names are read easily."""
    alt = altair()
    title = plain(layout.place) or None
    if layout.is_upright:
        format_ = {"format": "~r"} if layout.kind == "quantitative" else {}
        scale = alt.Scale(padding=8, nice=False, **({"zero": False} if format_ else {}))
        axis = alt.Axis(grid=False, **format_)
        return {"x": alt.X("place", type=layout.kind, title=title, axis=axis, scale=scale)}
    many = {"labelOverlap": "greedy"} if _step(layout) < 9 else {}
    axis = alt.Axis(labelLimit=220, ticks=False, domain=False, **many) if first else None
    found = {"y": alt.Y("place", type="nominal", sort=None, title=title, axis=axis)}
    if layout.series:
        found["yOffset"] = alt.YOffset("series", type="nominal", sort=None)
    return found


def _series(layout: Layout) -> dict[str, Any]:
    alt = altair()
    if not layout.series:
        return {"color": alt.value(_COLOURS[0])}
    title = " / ".join(plain(name) for name in layout.series)
    scale, legend = (
        alt.Scale(range=_COLOURS),
        alt.Legend(title=title, symbolLimit=24, symbolOpacity=1),
    )
    return {"color": alt.Color("series", type="nominal", sort=None, scale=scale, legend=legend)}


def _numbers(base: Any, layout: Layout, panel: Panel, *, large: bool) -> Any:
    alt = altair()
    title, field = panel
    axis = alt.Axis(tickCount=5, gridOpacity=0.6, **({"format": "~s"} if large else {}))
    if layout.is_line:
        scale = alt.Scale(zero=False)
        up = alt.Y(field, type="quantitative", title=title, axis=axis, scale=scale)
        return base.mark_line(strokeWidth=2, point=layout.rows <= _WHISKERS).encode(y=up)
    if layout.is_upright:
        up = alt.Y(field, type="quantitative", title=title, axis=axis, stack=None)
        sides = {"x": alt.X("left", type="quantitative", bin="binned"), "x2": "right"}
        return base.mark_bar(opacity=0.6, binSpacing=1).encode(y=up, **sides)
    along = alt.X(field, type="quantitative", title=title, axis=axis, stack=None)
    return base.mark_bar(cornerRadiusEnd=2, opacity=0.6).encode(x=along)


def _interval(base: Any, layout: Layout, panel: Panel) -> Any:
    """The noise interval: a whisker at each number, or a band where they would run together."""
    alt = altair()
    title, field = panel
    low, high = (
        {"shorthand": f"{field}_low", "type": "quantitative", "title": title},
        f"{field}_high",
    )
    if not layout.is_upright:
        whisker = base.encode(stroke=_noise(alt.Stroke)).mark_rule(strokeWidth=2)
        return whisker.encode(x=alt.X(**low), x2=high)
    if layout.series:
        marks = base.mark_area(opacity=0.22)
    elif layout.rows > _WHISKERS:
        marks = base.encode(fill=_noise(alt.Fill)).mark_area(opacity=0.35)
    else:
        marks = base.encode(stroke=_noise(alt.Stroke)).mark_rule(strokeWidth=2)
    return marks.encode(y=alt.Y(**low), y2=high)


def _noise(channel: Any) -> Any:
    """One colour for noise, and a legend that names it."""
    alt = altair()
    scale = alt.Scale(domain=[_NOISE], range=[_ORANGE])
    symbol = "stroke" if channel is alt.Stroke else "square"
    legend = alt.Legend(title=None, orient="top", symbolType=symbol, symbolStrokeWidth=3)
    return channel("noise", type="nominal", scale=scale, legend=legend)


def _tooltip(release: "Release", layout: Layout, panel: Panel) -> list[Any]:
    alt = altair()
    name, field = panel
    tips = []
    if layout.place:
        tips.append(alt.Tooltip("place", type=layout.kind, title=plain(layout.place)))
    if layout.series:
        title = " / ".join(plain(one) for one in layout.series)
        tips.append(alt.Tooltip("series", type="nominal", title=title))
    numbers = {field: plain(name)}
    if name in release.half_widths:
        numbers |= {f"{field}_low": f"{_NOISE}, from", f"{field}_high": "to"}
    return tips + [
        alt.Tooltip(column, type="quantitative", title=title, format=",.6~g")
        for column, title in numbers.items()
    ]


def _together(charts: list[Any], layout: Layout) -> Any:
    alt = altair()
    if len(charts) == 1:
        whole = charts[0]
    elif layout.is_upright:
        whole = alt.vconcat(*charts, spacing=18).resolve_scale(x="shared")
    else:
        whole = alt.hconcat(*charts, spacing=14)
    return (
        whole.configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=12, titleFontWeight="normal")
        .configure_legend(labelFontSize=11, titleFontSize=12, titleFontWeight="normal")
    )


def _title(release: "Release", layout: Layout, numbers: Sequence[str]) -> Any:
    alt = altair()
    asked = ", ".join(plain(name) for name in numbers)
    keys = [layout.place, *layout.series] if layout.place else []
    by = f" by {', '.join(plain(name) for name in keys)}" if keys else ""
    price = f"epsilon {cost(release.price.epsilon)}"
    if release.price.delta:
        price += f", delta {cost(release.price.delta)}"
    lines = [f"Released with differential privacy, {price}."]
    if any(number in release.half_widths for number in numbers):
        drawn = f"Shaded: {_NOISE}. S" if layout.is_line and layout.series else "S"
        lines.append(f"{drawn}ampling error is not included.")
    if layout.rows < release.table.num_rows:
        lines.append(f"The first {layout.rows} of {release.table.num_rows:,} rows.")
    return alt.TitleParams(
        f"{asked}{by}", subtitle=lines, anchor="start", fontSize=15, subtitleColor="#666", offset=12
    )
