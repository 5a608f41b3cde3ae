"""A profile of 300 columns and a million rows: CPU time beside a plain scan, and memory."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp

ROWS, COLUMNS, GROUPS = 1_000_000, 300, 10
_KINDS = (pa.float64(), pa.int64(), pa.float64(), pa.int64(), pa.string(), pa.date32())


def values(place: int, rows: int, random: np.random.Generator) -> pa.Array:
    """Numbers of several shapes, texts of few and of many values, and dates."""
    match place % len(_KINDS):
        case 0:
            return pa.array(random.lognormal(3, 1, rows))
        case 1:
            return pa.array(random.integers(0, 100, rows))
        case 2:
            return pa.array(random.normal(0, 1, rows))
        case 3:
            return pa.array(random.integers(0, 10**9, rows))
        case 4:
            several = 50 if place % 12 == 4 else 100_000
            words = pa.array([f"value {i}" for i in range(several)])
            return words.take(pa.array(random.integers(0, several, rows)))
    return pa.array((random.integers(0, 3000, rows) + 15_000).astype("int32"), pa.date32())


def write(path: Path, rows: int = ROWS, columns: int = COLUMNS) -> None:
    """A file of people with two rows each."""
    random = np.random.default_rng(0)
    fields = [(f"c{i}", _KINDS[i % len(_KINDS)]) for i in range(columns)]
    with pq.ParquetWriter(path, pa.schema([("id", pa.int64()), *fields])) as file:
        for group in range(GROUPS):
            each = rows // GROUPS
            table = {"id": (np.arange(each) + group * each) // 2}
            table |= {name: values(i, each, random) for i, (name, _) in enumerate(fields)}
            file.write_table(pa.table(table, schema=file.schema))


def scan(path: Path) -> None:
    """All values of all columns, as Arrow batches."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        for _ in connection.sql(f"SELECT * FROM '{path}'").to_arrow_reader(1 << 14):
            pass


def add(path: Path) -> None:
    """Into a curator beside the file."""
    with dp.Curator(path.with_suffix(".discreet")) as curator:
        curator.add("t", path, unit="id", budget=dp.Budget(epsilon=10, delta=1e-6))


def profile(path: Path) -> None:
    """Of every column."""
    with dp.Curator(path.with_suffix(".discreet")) as curator:
        curator.profile("t", epsilon=1)


def measured(step: str, path: Path) -> dict[str, float]:
    """CPU seconds and megabytes of a step, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.profile", step, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print both, and how many times a scan a profile takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        write(path)
        found = {step: measured(step, path) for step in ("scan", "add", "profile")}
    for step, one in found.items():
        print(f"{step:8} {one['seconds']:6.1f} s CPU, {one['megabytes']:6.0f} MB")
    print(f"a profile takes {found['profile']['seconds'] / found['scan']['seconds']:.1f} scans")


if __name__ == "__main__":
    _, name, place = sys.argv
    begun = time.process_time()
    {"scan": scan, "add": add, "profile": profile}[name](Path(place))
    spent = time.process_time() - begun
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": spent, "megabytes": most}))
