"""Writes docs/reference/benchmarks.md: every topic beside its peers in one run, ratios first.

python -m benchmarks report [--quick]; the quick form takes less than three minutes once the peers
are installed into .bench/, and asks the slowest peers nothing.
"""

import contextlib
import importlib.metadata
import io
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import learning, local, noise, query, release, synthesis
from benchmarks.clock import cpu_seconds
from benchmarks.learning_data import sets
from benchmarks.peer_query import PACKAGES
from benchmarks.peer_query import ask as ask_about_visits
from benchmarks.peers import LOCAL_PEERS, ask_peers
from discreet.privacy import GaussianNoise, LaplaceNoise, Subsampled, compose

PAGE = Path(__file__).parents[1] / "docs/reference/benchmarks.md"
OPENDP, ACCOUNTING = "opendp==0.16.0", "dp-accounting==0.6.0"
PRV = "prv-accountant==0.2.0"
DIFFPRIVLIB = "diffprivlib==0.6.6"
DPMM = "dpmm==0.1.9"
VISITS = "1M rows, five aggregates, by user"


@dataclass(frozen=True)
class Line:
    """One comparison: how many times better ours is; `why` says what is missing."""

    what: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    more_is_better: bool = False
    why: str = ""

    def __str__(self) -> str:
        ratio, beside = "", self.why or "-"
        if self.theirs is not None:
            better = self.ours / self.theirs if self.more_is_better else self.theirs / self.ours
            ratio, beside = f"**{better:.3g}x**", f"{self.theirs:.4g}"
        return f"| {ratio} | {self.what} | {self.ours:.4g} | {beside} | {self.peer} |"


def ask(script: str, room: str, peers: Sequence[str]) -> dict[str, float]:
    """A peer's figures; none, with the reason, where it does not install or run."""
    try:
        return ask_peers(script, room, tuple(peers))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as wrong:
        told = f"{getattr(wrong, 'cmd', None)}"
        raise PeerMissingError("does not install" if "pip" in told else "does not run") from None


class PeerMissingError(Exception):
    """A peer that there is nothing to show of."""


def beside(
    script: str, room: str, peers: Sequence[str], names: dict[str, str], mine: dict[str, float],
    *, more_is_better: bool = False,
) -> Iterator[Line]:  # fmt: skip
    """Our figures next to a peer's; `names` says what a peer calls each."""
    try:
        found = ask(script, room, peers)
    except PeerMissingError as missing:
        for name, value in mine.items():
            yield Line(name, value, peers[0], why=str(missing))
        return
    for name, value in mine.items():
        yield Line(name, value, peers[0], found.get(names.get(name, name)), more_is_better)


# --- topics ---------------------------------------------------------------------------------------


def of_noise() -> Iterator[Line]:
    """Nanoseconds of CPU per draw, one thread, batches of a million."""
    mine = noise.ours()
    yield from beside("peer_noise.py", "noise", (OPENDP, "numpy"), {}, mine)


def of_accounting() -> Iterator[Line]:
    """Milliseconds of CPU to compute an epsilon from nothing, and its distance from the truth."""
    jobs = {
        "1000 x Laplace(0.01)": ([(LaplaceNoise(0.01), 1000)], 1.3629245),
        "Poisson Gaussian": ([(Subsampled(GaussianNoise(1), 0.01), 10**4)], 6.9073845),
    }
    times, excess = {}, {}
    for name, (parts, truth) in jobs.items():
        excess[name] = max(compose(parts).epsilon(1e-6).upper - truth, 1e-7)
        times[name] = cpu_seconds(lambda p=parts: compose(p).epsilon(1e-6), 5) * 1e3
    try:
        found = ask("peer_accounting.py", "accounting", (OPENDP, ACCOUNTING, PRV))
    except PeerMissingError as missing:
        for package in (ACCOUNTING, PRV):
            yield from (Line(f"{n}, ms", v, package, why=str(missing)) for n, v in times.items())
        return
    for name, (_, truth) in jobs.items():
        for package in (ACCOUNTING, PRV):
            told = f"{package.partition('==')[0]} {name}"
            above = abs(found[f"{told}: epsilon"] - truth)
            yield Line(f"{name}, ms", times[name], package, found[f"{told}: ms"])
            yield Line(f"{name}, distance from the truth", excess[name], package, above)


def of_questions(peers: Sequence[str] = query.BESIDE[VISITS]) -> Iterator[Line]:
    """A question with five aggregates, a million rows, 100 groups; imports of peers included."""
    mine = query.run(VISITS)
    plain = query.run("1M rows, plain DuckDB")
    yield Line("over plain DuckDB, which is not private", mine["cpu"], "duckdb", plain["cpu"])
    for peer in peers:
        theirs = ask_about_visits(peer)
        package = PACKAGES[peer][0]
        if "why" in theirs:
            yield Line("CPU seconds", mine["cpu"], package, why=theirs["why"])
            continue
        yield Line("CPU seconds", mine["cpu"], package, theirs["cpu"])
        for column, error in theirs["errors"].items():
            yield Line(f"median error of {column}, %", mine["errors"][column], package, error)


def of_synthesis(peers: Sequence[str] = (DPMM,)) -> Iterator[Line]:
    """Total variation distance on triples of 12 columns, epsilon 1; the peer runs MST."""
    rows = synthesis.clusters()
    begun = time.process_time()
    made = synthesis.make(rows)
    error = synthesis.row_error(rows, made)
    mine = {"error of rows": error, "CPU seconds": time.process_time() - begun}
    alone = synthesis.independent_error(rows)
    yield Line("error of rows, over columns drawn apart", error, "columns apart", alone)
    if peers:
        yield from beside("peer_synthesis.py", "synthesis", peers, {}, mine)
    else:
        why = "not asked in the quick form"
        yield from (Line(name, value, DPMM, why=why) for name, value in mine.items())


def of_local() -> Iterator[Line]:
    """Reports a second of CPU, 10,000 values, epsilon 1."""
    mine, _whole = local.speeds()
    wanted = {n: v for n, v in mine.items() if n.split()[0] in {"hadamard", "hashing", "unary"}}
    wanted = {n: v for n, v in wanted.items() if "sketch" not in n}
    yield from beside("peer_local.py", "local", LOCAL_PEERS, {}, wanted, more_is_better=True)


def of_learning() -> Iterator[Line]:
    """Accuracy (more is better) and cost over the lowest (less is better), epsilon 1."""
    small, peers = sets(), (DIFFPRIVLIB, "scikit-learn==1.7.2")
    found = {name: value for name, value, _ in learning._classifiers(small)}  # noqa: SLF001
    found = {name: value for name, value in found.items() if "LinearSVC" not in name}
    costs = {name: value for name, value, _ in learning._clusters(small)}  # noqa: SLF001
    script, room = "peer_learning.py", "learning"
    yield from beside(script, room, peers, {}, found, more_is_better=True)
    yield from beside(script, room, peers, {}, costs)


def of_releases() -> Iterator[Line]:
    """1.3 million counts at four levels, with the noise of each level and sums of blocks."""
    found = release.measure(10**6, 10)
    yield Line("CPU seconds", found["cpu_seconds"])
    for level, facts in found["levels"].items():
        yield Line(f"error by {level}, rows", facts["error"], "noise alone", facts["alone"])
        summed = facts["leaves_added_up"]
        yield Line(f"error by {level}, rows", facts["error"], "blocks added up", summed)


TOPICS: dict[str, Callable[[], Iterator[Line]]] = {
    "Noise": of_noise,
    "Accounting": of_accounting,
    "Questions": of_questions,
    "Synthesis": of_synthesis,
    "Local protocols": of_local,
    "Learning": of_learning,
    "Releases": of_releases,
}

QUICK: dict[str, Callable[[], Iterator[Line]]] = {
    **TOPICS,
    "Questions": lambda: of_questions(("diffprivlib",)),
    "Synthesis": lambda: of_synthesis(()),
}
"""The same without the peers that take minutes."""


# --- the page -------------------------------------------------------------------------------------


def page(*, quick: bool) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "duckdb", "pyarrow")
    )
    form = "python -m benchmarks report" + (" --quick" if quick else "")
    yield (
        "# Benchmarks\n\nWritten by `make bench`; do not edit. Ratios say how many times better "
        "discreet is: below 1 the peer is better. CPU time of one thread, unless said otherwise."
    )
    yield (
        f"`{form}` on Python {platform.python_version()}, {platform.machine()}, {versions}; each "
        "peer has its own environment, in the version named."
    )
    for title, topic in TOPICS.items():
        begun, used = time.perf_counter(), cpu_of_all()
        with contextlib.redirect_stdout(io.StringIO()):
            rows = "\n".join(map(str, (QUICK if quick else TOPICS)[title]()))
        took, used = time.perf_counter() - begun, cpu_of_all() - used
        print(f"{title}: {took:.0f} s, {used:.0f} s of CPU", file=sys.stderr, flush=True)
        head = "| ratio | what | discreet | peer | which |\n|---|---|---|---|---|"
        about = f"{(topic.__doc__ or '').strip()} Took {used:.0f} s of CPU, peers included."
        yield f"## {title}\n\n{about}\n\n{head}\n{rows}"


def cpu_of_all() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def main(words: Sequence[str] = ()) -> None:
    """Write the page."""
    PAGE.write_text("\n\n".join(page(quick="--quick" in words)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
