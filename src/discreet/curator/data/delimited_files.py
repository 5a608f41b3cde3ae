"""Delimited text: its encoding, its separator, and its fields as batches of texts."""

import codecs
import csv
import io
import re
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from discreet.curator.progress import open_watched
from discreet.engines.default import sniff_delimiter
from discreet.engines.reading import Reading
from discreet.errors import InputError

_SAMPLE: Final = 1 << 20
_LONGEST_RECORD: Final = 1 << 23


def encoding_of(parts: Iterable[bytes]) -> str:
    r"""The encoding of a file: as its first bytes say, else UTF-8 if it can be, else Windows'.

    A mark of UTF-8 is not believed where the rest is something else.

    Example:
        >>> encoding_of([b"caf\xc3\xa9"]), encoding_of([b"caf\xe9"]), encoding_of([b"a\0b\0"])
        ('utf-8', 'cp1252', 'utf-16-le')
    """
    rest = iter(parts)
    first = next(rest, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if (zeros := first[:1000].count(0)) and zeros * 4 >= len(first[:1000]):
        return "utf-16-le" if first[1::2][:500].count(0) >= zeros / 2 else "utf-16-be"
    decoder, is_utf8, windows = codecs.getincrementaldecoder("utf-8")(), True, True
    for part in chain((first,), rest, (b"",)):
        if is_utf8:
            try:
                decoder.decode(part, final=not part)
            except UnicodeDecodeError:
                is_utf8 = False
        windows = windows and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", part)
    if is_utf8:
        return "utf-8-sig" if first.startswith(codecs.BOM_UTF8) else "utf-8"
    return "cp1252" if windows else "latin-1"


def check_title(name: str, lines: Sequence[Sequence[str]], said: Reading) -> None:
    """Refuse lines above the names of columns: they look like one text above a table."""
    filled = [sum(map(bool, line)) for line in lines[:20]]
    above = next((at for at, fields in enumerate(filled) if fields > 1), 0)
    if any(filled[:above]):
        lines_above = said.skip_lines + above
        raise InputError(
            f"the first line of {name} looks like a title",
            why="it holds one text, and the lines below hold several; a title names no columns",
            fix=f"pass reading={{'skip_lines': {lines_above}}} (--skip-lines {lines_above}); if it "
            "names the columns, --header; if it is a record, --no-header",
        )


def check_quotes(path: Path, said: Reading) -> None:
    """Refuse a quote that is not closed, or that text follows: lines would become one value."""
    if not any(said.quote.encode() in part for part in parts_of(path)):
        return
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_RECORD))
    with pa.input_stream(str(path), compression="detect") as stream:
        text = io.TextIOWrapper(stream, encoding=said.encoding, newline="")
        deque(islice(text, said.skip_lines), maxlen=0)
        mark = said.delimiter or ","
        try:
            deque(csv.reader(text, delimiter=mark, quotechar=said.quote, strict=True), maxlen=0)
        except csv.Error:
            raise InputError(
                f"{path.name} has a quote that is not closed, or that other text follows",
                why="lines after it would become part of one value",
                fix="write quotes inside of quotes twice, or pass another mark: Reading(quote=...)",
            ) from None


def parts_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked, part by part."""
    with pa.input_stream(str(path), compression="detect") as stream:
        while part := stream.read(_SAMPLE):
            yield part


def head_of(path: Path, encoding: str) -> str:
    """The first characters of a file, without a mark of its encoding."""
    with pa.input_stream(str(path), compression="detect") as stream:
        text = io.TextIOWrapper(stream, encoding=encoding, newline="").read(_SAMPLE)
    return text.removeprefix("\ufeff").removeprefix(codecs.BOM_UTF8.decode("cp1252"))


def delimiter_of(head: str, path: Path) -> str:
    """The field separator; a comma if the first line that has one does not show it."""
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as sample:
        sample.write(head)
        sample.flush()
        found = sniff_delimiter(Path(sample.name))
    lines = (line for line in head.splitlines() if not _MARKS.isdisjoint(line))
    first = next(lines, "")  # a title above it has none
    return found if found in _MARKS.intersection(first) else max(",;\t|", key=first.count)


_MARKS: Final = frozenset(",;\t|")


def text_batches(
    path: Path, exact: str | None, blank: int, names: list[str], reading: Reading, lost: list[int]
) -> pa.RecordBatchReader:
    """All fields as texts, trimmed unless blanks are kept; empty ones without quotes are NULL.

    Why: where fields are parted by a comma and a blank, ' Male' would be another key than 'Male'.
    """
    from pyarrow import csv as arrow  # noqa: PLC0415 - for those who have such files

    lost[0] = 0

    def skip(_: Any) -> str:
        lost[0] += 1
        return "skip"

    parse = arrow.ParseOptions(
        delimiter=reading.delimiter or ",",
        quote_char=reading.quote,
        newlines_in_values=True,
        invalid_row_handler=skip,
        ignore_empty_lines=len(names) > 1,  # else they are values: NULL
    )
    codec = reading.encoding or "utf-8"
    read = arrow.ReadOptions(
        encoding="utf8" if codec.startswith("utf-8") else codec,
        column_names=names,
        skip_rows=reading.skip_lines,
        skip_rows_after_names=blank + bool(reading.header),
        block_size=_LONGEST_RECORD,
    )
    turned = arrow.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    packed = "gzip" if path.suffix.lower() == ".gz" else None
    schema = pa.schema([(name, pa.string()) for name in names])

    def batches() -> Iterator[pa.RecordBatch]:
        with open_watched(path, f"reading {path.name}") as file:
            if path.stat().st_size:
                for batch in arrow.open_csv(pa.input_stream(file, packed), read, parse, turned):
                    texts = without_blanks(names, batch.columns, reading, exact)
                    yield pa.record_batch(texts, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def without_blanks(
    names: Sequence[str], columns: Sequence[pa.Array], reading: Reading, exact: str | None
) -> list[pa.Array]:
    """Columns as they are read: trimmed, but for `exact` and where blanks are kept."""
    kept = set(names) if reading.blanks == "keep" else {exact}
    both = zip(names, columns, strict=True)
    return [one if name in kept else _trimmed(one) for name, one in both]


def _trimmed(texts: pa.Array) -> pa.Array:
    """Texts without blanks around them; NULL where blanks are all."""
    from pyarrow import compute  # noqa: PLC0415 - for those who have such files

    trimmed = compute.utf8_trim_whitespace(texts)
    blank = compute.and_(compute.equal(trimmed, ""), compute.not_equal(texts, ""))
    return compute.if_else(blank, pa.scalar(None, pa.string()), trimmed)
