"""Runs the suite as other machines would: `make portable`.

`python tests/support/portable.py baseline` runs one setting, `... one-core 2/8` the second eighth
of its files: a whole run on one core is long, and a part that passed need not be repeated.

Each setting is a run of pytest in an environment of its own. What a test or a documented digit may
not depend on: vector units (numpy chooses its functions by them, OpenBLAS its kernels, the C
library its logarithm), how many cores there are, time zone, locale, and the order of sets.
"""

import locale
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ELSEWHERE = ("--ignore=tests/browser", "--ignore=tests/crash")
"""Tests that compute nothing which a processor could change."""

UNITS = """
from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__, __cpu_features__
print("vector units:", *__cpu_baseline__, *(u for u in __cpu_dispatch__ if __cpu_features__[u]))
"""

LIBC = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4"


@dataclass(frozen=True)
class Setting:
    """An environment, how many workers, which tests are left out, and on how many cores."""

    environment: dict[str, str]
    workers: int = 3
    left_out: tuple[str, ...] = ()
    cores: int | None = None


def baseline() -> dict[str, str]:
    """No vector unit beyond the oldest processor that numpy's build runs on.

    Only units that are here are named: numpy complains about others.
    """
    here = [unit for unit in __cpu_dispatch__ if __cpu_features__.get(unit)]
    found = {"NPY_DISABLE_CPU_FEATURES": " ".join(here), "OPENBLAS_NUM_THREADS": "1"}
    if platform.machine().lower() in {"x86_64", "amd64"}:
        found |= {"OPENBLAS_CORETYPE": "Nehalem", "GLIBC_TUNABLES": LIBC}
    return found


def foreign() -> str:
    """A locale in which numbers and months are written otherwise, or the plainest there is."""
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "ar_EG.UTF-8", "hi_IN.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        locale.setlocale(locale.LC_ALL, "C")
        return name
    return "C"


def settings() -> dict[str, Setting]:
    """The machines that are stood in for."""
    abroad = {"TZ": "Pacific/Apia", "LC_ALL": foreign(), "PYTHONHASHSEED": "4242"}
    return {
        "all": Setting({"PYTHONHASHSEED": "1"}),
        "baseline": Setting({**baseline(), "PYTHONHASHSEED": "2"}, left_out=ELSEWHERE),
        "one-core": Setting(abroad, workers=1, cores=1),
    }


def files(part: str, left_out: tuple[str, ...]) -> list[str]:
    """Every n-th file of tests from the k-th on, for k/n; the last part has the examples too."""
    which, parts = map(int, part.split("/"))
    away = tuple(f"{one.partition('=')[2]}/" for one in left_out)
    tests = [path.as_posix() for path in sorted(Path("tests").rglob("test_*.py"))]
    found = [path for path in tests if not path.startswith(away)][which - 1 :: parts]
    return found + ["src", "docs", "README.md"] * (which == parts)


def run(name: str, setting: Setting, more: list[str]) -> int:
    """Run pytest under a setting; its status."""
    told = " ".join(f"{key}={value!r}" for key, value in setting.environment.items())
    print(f"== {name}: {told}", flush=True)  # noqa: T201 - a script
    environment = {**os.environ, **setting.environment}
    if hasattr(os, "sched_setaffinity"):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, sorted(before)[: setting.cores])
    else:
        before = set()
    try:
        subprocess.run([sys.executable, "-c", UNITS], env=environment, check=True)
        pytest = [sys.executable, "-m", "pytest", "-q", f"-n{setting.workers}"]
        command = [*pytest, "--dist=worksteal", *setting.left_out, *more]
        return subprocess.run(command, env=environment, check=False).returncode
    finally:
        if before:
            os.sched_setaffinity(0, before)


def main() -> int:
    """Run the settings that are named, or all; what follows `--` goes to pytest."""
    words, _, more = " ".join(sys.argv[1:]).partition("--")
    known, parts = settings(), [word for word in words.split() if "/" in word]
    wanted = [word for word in words.split() if "/" not in word] or list(known)
    found = {}
    for name in wanted:
        paths = [path for part in parts for path in files(part, known[name].left_out)]
        found[name] = run(name, known[name], [*paths, *more.split()])
    for name, status in found.items():
        print(f"{name}: {'passed' if status == 0 else 'FAILED'}")  # noqa: T201 - a script
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
