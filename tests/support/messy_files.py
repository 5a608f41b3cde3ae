"""Ten files as people have them, what they hold, and what has to be asked about them."""

import datetime as dt
import io
import zipfile
from dataclasses import dataclass, field
from typing import Any

ROWS = range(1, 13)
CITIES = ["Zürich" if i % 3 else "Malmö" for i in ROWS]
COSTS = [i * 1000 + 234.5 for i in ROWS]
AGES = [None if i % 5 == 0 else 20 + i for i in ROWS]
SMOKES = [bool(i % 3) for i in ROWS]
DAYS = [dt.date(2024, 3, 2 * i) for i in ROWS]


@dataclass(frozen=True)
class MessyFile:
    """A file: what is asked, and the reading and the options that answer it."""

    name: str
    content: bytes
    column: str
    kind: str
    holds: list[Any]
    asks: tuple[str, ...] = ()
    answers: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    unit: str = "patient"


def lines(head: str | None, texts: list[str], mark: str = ",") -> str:
    body = [f"{i}{mark}{text}" for i, text in zip(ROWS, texts, strict=True)]
    return "\n".join([*([f"patient{mark}{head}"] if head else []), *body]) + "\n"


def excel(rows: list[list[Any]]) -> bytes:
    """The smallest workbook: one sheet of numbers, texts and truth values."""

    def cell(value: Any) -> str:
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, dt.date):
            return f'<c s="1"><v>{(value - dt.date(1899, 12, 30)).days}</v></c>'
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    sheet = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/s.xml" ContentType="{types}.worksheet+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{types}.styles+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="visits" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/s.xml"/>'
        f'<Relationship Id="r2" Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
        "xl/worksheets/s.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData>'
        "</worksheet>",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return made.getvalue()


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def _csv(name: str, text: str, *rest: Any, encoding: str = "utf-8", **more: Any) -> MessyFile:
    return MessyFile(f"{name}.csv", text.encode(encoding), *rest, **more)


_JSON = "".join(
    f'{{"patient": {i}, "smoker": {str(smokes).lower()}}}\n'
    for i, smokes in zip(ROWS, SMOKES, strict=True)
)
MESSY = (
    _csv("semicolons", lines("cost", [german(c) for c in COSTS], ";"), "cost", "real", COSTS),
    _csv(
        "no_header",
        lines(None, [str(i + 20) for i in ROWS]),
        "age",
        "integer",
        [i + 20 for i in ROWS],
        ("header",),
        {"header": False, "names": ["patient", "age"]},
        ("--no-header", "--names", "patient,age"),
        unit="1",
    ),
    _csv("bom", lines("city", CITIES), "city", "text", CITIES, encoding="utf-8-sig"),
    _csv("day_first", lines("day", [f"{d:%d/%m/%Y}" for d in DAYS]), "day", "date", DAYS),
    _csv("thousands", lines("cost", [f'"{c:,.2f}"' for c in COSTS]), "cost", "real", COSTS),
    _csv("absent", lines("age", [str(a or "NA") for a in AGES]), "age", "integer", AGES),
    _csv(
        "words",
        lines("smoker", ["Yes" if s else "no" for s in SMOKES]),
        "smoker",
        "boolean",
        SMOKES,
    ),
    _csv(
        "latin",
        lines("city", CITIES),
        "city",
        "text",
        CITIES,
        ("encoding",),
        {"encoding": "cp1252"},
        ("--encoding", "cp1252"),
        encoding="latin-1",
    ),
    MessyFile(
        "workbook.xlsx",
        excel([["patient", "day"], *([i, d] for i, d in zip(ROWS, DAYS, strict=True))]),
        *("day", "date", DAYS),
    ),
    MessyFile("lines.jsonl", _JSON.encode(), "smoker", "boolean", SMOKES),
)
