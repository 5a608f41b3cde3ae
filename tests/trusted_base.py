"""Branch coverage of the trusted base, part by part: `make coverage`.

    python tests/trusted_base.py            parts of trusted-base.toml that are judged
    python tests/trusted_base.py --core     the core alone, each module by its own tests
    python tests/trusted_base.py noise/     parts with a module that starts so, judged or not

Fails where tests reach fewer branches and lines than a part asks for, and says which are missing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "discreet"


@dataclass(frozen=True)
class Part:
    """Some modules, named from src/discreet; the tests that reach them, and how much of them."""

    job: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    branches: float | None = 100
    """In per cent; None is told and not judged."""

    @property
    def files(self) -> list[str]:
        """Their paths from the root of the repository."""
        found = [path for name in self.modules for path in sorted(SOURCE.glob(name))]
        return [str(path.relative_to(ROOT)) for path in found]


def facts() -> dict:
    """What trusted-base.toml says."""
    return tomllib.loads((ROOT / "trusted-base.toml").read_text())


def parts() -> list[Part]:
    """Every part of the trusted base."""
    return [
        Part(one["job"], tuple(one["modules"]), tuple(one["tests"]), one.get("branches"))
        for one in facts()["part"]
    ]


def own_tests(module: str) -> str:
    """The tests of a module, by the mirror of src in tests/unit."""
    path = Path("tests/unit") / module
    return str(path.with_name(f"test_{path.name}"))


def core() -> Part:
    """The modules whose own tests reach and guard everything."""
    modules = facts()["core"]["modules"]
    return Part("the core", tuple(modules), tuple(own_tests(one) for one in modules))


def reached(tests: Iterable[str], files: Iterable[str]) -> tuple[int, dict]:
    """The exit status of tests, and what they reach of each file."""
    with tempfile.TemporaryDirectory() as folder:
        data, report = Path(folder) / "data", Path(folder) / "report.json"
        run = [sys.executable, "-m", "coverage"]
        quiet = ["-q", "-p", "no:cacheprovider", "--tb=short"]
        status, env = 0, {**os.environ, "COVERAGE_FILE": str(data)}
        about = ["-q", "-o", str(report), "--include=" + ",".join(files)]
        for step in (["run", "-m", "pytest", *quiet, *tests], ["combine", "-q"], ["json", *about]):
            done = subprocess.run([*run, *step], cwd=ROOT, env=env, check=step[0] == "json")
            status = done.returncode if step[0] == "run" else status
        return status, json.loads(report.read_text())["files"]


def told(part: Part, found: dict) -> float:
    """Print what tests miss of a part; how much of it they reach, in per cent."""
    summed = dict.fromkeys(("num_statements", "covered_lines", "num_branches"), 0)
    summed["covered_branches"] = 0
    for name in part.files:
        one = found.get(name) or {"summary": {}, "missing_lines": ["all"], "missing_branches": []}
        for what in summed:
            summed[what] += one["summary"].get(what, 0)
        missing = [*one["missing_lines"], *(f"{a}->{b}" for a, b in one["missing_branches"])]
        if missing:
            print(f"  {name}: {', '.join(map(str, missing))}")
    there = summed["num_statements"] + summed["num_branches"]
    share = 100 * (summed["covered_lines"] + summed["covered_branches"]) / max(there, 1)
    asked = "not judged yet" if part.branches is None else f"at least {part.branches:g} %"
    print(f"{share:6.2f} % of {part.job} ({asked})", flush=True)
    return share


def main() -> int:
    """Run tests and judge the parts; 1 if a test fails or a part is not reached as it should be."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("modules", nargs="*", help="parts with a module that starts so")
    reader.add_argument("--core", action="store_true", help="the core alone, by its own tests")
    asked = reader.parse_args()
    starts = tuple(asked.modules) or ("",)
    chosen = [core()] if asked.core else parts()
    chosen = [part for part in chosen if any(name.startswith(starts) for name in part.modules)]
    if not asked.modules:
        chosen = [part for part in chosen if part.branches is not None]
    tests = dict.fromkeys(test for part in chosen for test in part.tests)
    status, found = reached(tests, [name for part in chosen for name in part.files])
    below = [part for part in chosen if told(part, found) < (part.branches or 0)]
    return int(bool(status or below))


if __name__ == "__main__":
    sys.exit(main())
