"""The way of one question: the files it runs through, changes of package, and CPU time.

`python -m benchmarks path` asks one new SQL count of a warm curator in memory, whose table has no
stated limits or one row a person; `python -m benchmarks.path calls` also lists the changes of
package and the files on the way.
"""

import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import discreet as dp

ROOT = Path(dp.__file__).parent
COUNT = "SELECT COUNT(*) FROM t"
EPSILON = 0.1
NEW = 60
"""New answers whose CPU time is taken."""

WALKS = 15
"""Curators that are followed: which limits are chosen, and so the way, depends on noise."""


def open_curator(limits: int | None) -> dp.Curator:
    """A curator that has answered before: what is loaded or built once is there."""
    curator = dp.Curator.in_memory()
    rows = pa.table({"id": range(1000), "x": [i % 100 for i in range(1000)]})
    stated = {} if limits is None else {"limits": dp.Limits(limits, limits)}
    budget, bounds = dp.Budget(epsilon=1000, delta=1e-6), {"x": dp.Bounds(0, 100)}
    curator.add("t", rows, unit="id", budget=budget, columns=bounds, **stated)
    for i in range(3):
        curator.sql(f"SELECT SUM(x) FROM t WHERE x < {i}", epsilon=EPSILON)
    return curator


class Walk:
    """The calls of functions of the package, in their order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def follow(self, frame: FrameType, event: str, _: Any) -> None:
        """Take down one call; for `sys.settrace`."""
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            file = Path(frame.f_code.co_filename).relative_to(ROOT).as_posix()
            self.calls.append((file, frame.f_code.co_qualname))

    @property
    def files(self) -> Counter[str]:
        """How often a function of each file is called."""
        return Counter(file for file, _ in self.calls)

    @property
    def changes(self) -> Counter[str]:
        """How often a call follows one of another package, by the two."""
        named = [(file.split("/")[0], f"{file}:{name}") for file, name in self.calls]
        return Counter(f"{a} -> {b}" for (p, a), (q, b) in pairwise(named) if p != q)


def walk(curator: dp.Curator) -> Walk:
    """Follow one new count."""
    found = Walk()
    sys.settrace(found.follow)
    try:
        curator.sql(COUNT, epsilon=EPSILON)
    finally:
        sys.settrace(None)
    return found


def milliseconds(curator: dp.Curator) -> float:
    """CPU time of a new answer, all threads together: the least, since a busy machine adds."""
    times = []
    for i in range(NEW):
        before = time.process_time()
        curator.sql(f"SELECT COUNT(*) FROM t WHERE x < {i + 10}", epsilon=EPSILON)
        times.append(time.process_time() - before)
    return 1000 * min(times)


def main() -> None:
    for limits, words in ((None, "no stated limits"), (1, "limits of 1")):
        walks = sorted(
            (walk(open_curator(limits)) for _ in range(WALKS)), key=lambda one: one.changes.total()
        )
        found, spent = walks[WALKS // 2], milliseconds(open_curator(limits))
        changes = (
            f"{found.changes.total()} changes of package (at most {walks[-1].changes.total()})"
        )
        print(f"{words}: {len(found.files)} files, {changes}, ", end="")
        print(f"{len(found.calls)} calls; {spent:.1f} ms CPU for a new answer")
        if "calls" in sys.argv:
            for pair, times in found.changes.most_common(80):
                print(f"{times:>5}  {pair}")
            for file, times in sorted(found.files.items()):
                print(f"{times:>5}  {file}")


if __name__ == "__main__":
    main()
