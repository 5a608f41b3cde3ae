"""Run the benchmarks named, or all; `report` writes docs/reference/benchmarks.md."""

import importlib
import sys

ALL = (
    "noise",
    "accounting",
    "sampling",
    "accounts",
    "query",
    "path",
    "ledger",
    "living",
    "server",
    "limits",
    "local",
    "synthesis",
    "release",
    "workload",
    "learning",
    "people",
    "profile",
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["report"]:
        importlib.import_module("benchmarks.report").main(sys.argv[2:])
        sys.exit()
    for name in sys.argv[1:] or ALL:
        print(f"== {name}")
        importlib.import_module(f"benchmarks.{name}").main()
