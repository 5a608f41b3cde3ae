"""Run the benchmarks named on the command line, or all of them."""

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
    "server",
    "limits",
    "local",
    "synthesis",
    "release",
    "workload",
    "learning",
)

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        print(f"== {name}")
        importlib.import_module(f"benchmarks.{name}").main()
