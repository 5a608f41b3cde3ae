"""Charts: one Vega-Lite definition each, valid, drawn offline, honest about noise."""

import datetime as dt
import json
import math
import struct
import sys

import pyarrow as pa
import pytest

from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import Cost
from discreet.answer.present.chart import lay_out
from discreet.answer.present.release import Release
from discreet.errors import InputError
from discreet.plan.public_facts import PublicFacts
from discreet.privacy import Pure, compose

NOISE = "95 % noise interval"


def made(columns, widths, keys):
    guarantee = Pure(1)
    return Release(
        table=pa.table(columns),
        half_widths={name: pa.array(width, pa.float64()) for name, width in widths.items()},
        how=dict.fromkeys(widths, "exact"),
        price=Price(1, 1e-6),
        guarantee=compose([guarantee]),
        costs=(Cost("rows", "Laplace", guarantee),),
        facts=PublicFacts("one person", by_row=False, keys=keys),
    )


def cities(count=3):
    names = [f"city {i}" for i in range(count)]
    return made(
        {"city": names, "n": [100 + i for i in range(count)], "middle": [1.5] * count},
        {"n": [7.0] * count},
        ("city",),
    )


def months(series=("f",)):
    days = [dt.date(2024, month, 1) for month in range(1, 13) for _ in series]
    count = len(days)
    return made(
        {
            "month": days,
            "sex": list(series) * 12,
            "n": [900 + round(80 * math.sin(i)) for i in range(count)],
        },
        {"n": [30.0] * count},
        ("month", "sex") if len(series) > 1 else ("month",),
    )


def marks(spec):
    if isinstance(spec, dict):
        own = [spec["mark"]["type"]] if isinstance(spec.get("mark"), dict) else []
        return own + [mark for part in spec.values() for mark in marks(part)]
    return [mark for part in spec for mark in marks(part)] if isinstance(spec, list) else []


def size(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize(
    "release",
    [cities(), cities(100), months(), months(("f", "m")), made({"n": [12]}, {"n": [3.0]}, ())],
    ids=["bars", "many bars", "line", "two lines", "one number"],
)
def test_a_chart_is_drawn_to_png_and_svg_offline(release, tmp_path):
    chart = release.chart()
    chart.save(str(tmp_path / "chart.png"))
    chart.save(str(tmp_path / "chart.svg"))
    width, height = size((tmp_path / "chart.png").read_bytes())
    assert width > 150
    assert height > 80
    assert "n" in (tmp_path / "chart.svg").read_text()


def test_categories_are_bars_with_a_named_noise_interval(tmp_path):
    chart = cities().chart()
    assert marks(chart.to_dict()) == ["bar", "rule", "bar"]  # the median has no interval
    chart.save(str(tmp_path / "c.svg"))
    drawn = (tmp_path / "c.svg").read_text()
    for text in (NOISE, "city 2", "middle (no noise interval)", "Sampling error is not included"):
        assert text in drawn


def test_dates_are_lines(tmp_path):
    chart = months().chart()
    assert sorted(marks(chart.to_dict())) == ["line", "rule"]
    chart.save(str(tmp_path / "c.svg"))
    assert NOISE in (tmp_path / "c.svg").read_text()


def test_lines_of_several_series_have_shaded_bands(tmp_path):
    chart = months(("f", "m")).chart()
    assert sorted(marks(chart.to_dict())) == ["area", "line"]
    chart.save(str(tmp_path / "c.svg"))
    assert f"Shaded: {NOISE}" in (tmp_path / "c.svg").read_text()


def test_numbers_are_histograms_in_their_order_and_many_have_a_band(tmp_path):
    count = 200
    ages = [5 * (count - i) for i in range(count)]
    release = made({"age": ages, "n": [5] * count}, {"n": [1.0] * count}, ("age",))
    chart = release.chart()
    assert sorted(marks(chart.to_dict())) == ["area", "bar"]
    rows = chart.to_dict()["data"]["values"]
    assert [row["place"] for row in rows] == sorted(ages)
    assert (rows[0]["left"], rows[0]["right"]) == (2.5, 7.5)
    chart.save(str(tmp_path / "c.svg"))
    few = made({"age": [3, 1, 2], "n": [5] * 3}, {"n": [1.0] * 3}, ("age",))
    assert sorted(marks(few.chart().to_dict())) == ["bar", "rule"]


def test_numbers_of_several_series_are_lines():
    columns = {"age": [1, 1, 2, 2, 3, 3], "sex": ["f", "m"] * 3, "n": [5] * 6}
    release = made(columns, {"n": [1.0] * 6}, ("age", "sex"))
    assert sorted(marks(release.chart().to_dict())) == ["area", "line"]


def test_counts_over_numbers_are_a_histogram_and_means_over_them_a_line():
    ages = list(range(0, 120, 10))
    release = made(
        {"age": ages, "n": [50 + age for age in ages], "cost": [age / 7 for age in ages]},
        {"n": [5.0] * 12, "cost": [0.5] * 12},
        ("age",),
    )
    chart = release.chart().to_dict()
    assert marks(chart) == ["bar", "rule", "rule", "line"]
    row = chart["data"]["values"][3]
    assert (row["left"], row["place"], row["right"]) == (25, 30, 35)


def test_numbers_far_apart_beside_close_ones_are_no_histogram():
    release = made({"age": [1, 2, 9000], "n": [5] * 3}, {"n": [1.0] * 3}, ("age",))
    assert sorted(marks(release.chart().to_dict())) == ["line", "rule"]


def test_numbers_with_a_null_among_their_places_are_bars():
    release = made({"age": [1, 2, 3, None], "n": [1] * 4}, {"n": [1.0] * 4}, ("age",))
    assert "bar" in marks(release.chart().to_dict())


def test_the_interval_in_the_data_is_the_interval_of_the_release():
    release = cities()
    rows = release.chart().to_dict()["data"]["values"]
    for row, want in zip(rows, release.to_arrow().to_pylist(), strict=True):
        assert (row["y0_low"], row["y0"], row["y0_high"]) == (
            want["n_low"],
            want["n"],
            want["n_high"],
        )


def test_all_bars_are_drawn_as_they_were_released_up_to_what_a_picture_holds():
    chart = cities(300).chart().to_dict()
    assert [row["place"] for row in chart["data"]["values"]] == [f"city {i}" for i in range(300)]
    assert not any("first" in line for line in chart["title"]["subtitle"])
    assert lay_out(cities(5001)).rows == 5000


def test_keys_that_would_read_alike_stay_apart():
    release = made({"k": ["NULL", None, "a" * 300 + "b"], "n": [1, 2, 3]}, {}, ("k",))
    rows = release.chart().to_dict()["data"]["values"]
    assert len({row["place"] for row in rows}) == 3


def test_names_with_dots_and_brackets_are_names(tmp_path):
    release = made(
        {"a.b[0]": ["x", "y"], "AVG(c.d)": [1.5, 2.5]}, {"AVG(c.d)": [0.1, 0.1]}, ("a.b[0]",)
    )
    release.chart().save(str(tmp_path / "c.svg"))
    drawn = (tmp_path / "c.svg").read_text()
    assert "AVG(c.d)" in drawn
    assert "1.5" in drawn


def test_the_definition_is_the_same_every_time():
    first, second = (json.dumps(cities().chart().to_dict(), sort_keys=True) for _ in range(2))
    assert first == second


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        made({"k": ["a"]}, {}, ("k",)).chart()
    with pytest.raises(InputError, match="nothing to draw"):
        made({"n": pa.array([], pa.int64())}, {}, ()).chart()


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(InputError, match=r"discreet\[chart\]"):
        cities().chart()
